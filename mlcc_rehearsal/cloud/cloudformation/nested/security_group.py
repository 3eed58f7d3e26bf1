"""security-group-template.yaml: a group for nodes and control plane, or rules for one that was brought."""

from __future__ import annotations

from mlcc_rehearsal.cloud.cloudformation.nested.network import TAG, prefix_of, retag
from mlcc_rehearsal.cloud.cloudformation.parts import Action, Part, Run, Template, at_once, retrying
from mlcc_rehearsal.cloud.cloudformation.stacks import Stack
from mlcc_rehearsal.cloud.cloudformation.tasks import Work


def _create_group(run: Run) -> Work:
    name = f"{prefix_of(run.stack)}-sg"
    group = run.ec2.create_security_group(
        name, "Security group with no ingress rule", run.stack.parameters["VpcId"], run.tags(**{TAG: name})
    )
    run.made(group.id, GroupId=group.id)
    yield 10.0


def _delete_group(run: Run) -> Work:
    group_id = run.resource.physical_id
    if run.ec2.get_security_group_from_id(group_id) is not None:
        yield from retrying(lambda: run.ec2.delete_security_group(group_id=group_id))
    yield 2.0


def _group(stack: Stack) -> str:
    return stack.parameters["SecurityGroupId"] or str(stack.resources["NoIngressSecurityGroup"].physical_id)


def _rule(
    ports: tuple[int, int] | None, *, egress: bool = False, everywhere: bool = False
) -> tuple[Action, Action]:
    protocol, low, high = ("tcp", *ports) if ports else ("-1", None, None)

    def call(run: Run, verb: str) -> None:
        group = _group(run.stack)
        direction = "egress" if egress else "ingress"
        ranges = [{"CidrIp": "0.0.0.0/0"}] if everywhere else []
        sources = [] if everywhere else [{"GroupId": group}]
        getattr(run.ec2, f"{verb}_security_group_{direction}")(
            group, protocol, low, high, ranges, source_groups=sources
        )

    def create(run: Run) -> None:
        if not (egress and everywhere):  # every group has that rule from the start
            call(run, "authorize")
        run.made(f"sgr-{run.resource.logical_id.lower()}")

    def delete(run: Run) -> None:
        if not (egress and everywhere) and run.ec2.get_security_group_from_id(_group(run.stack)) is not None:
            call(run, "revoke")

    return at_once(create), at_once(delete)


def _group_parts(stack: Stack) -> list[Part]:
    own = not stack.parameters["SecurityGroupId"]
    depends = ("NoIngressSecurityGroup",) if own else ()
    parts: list[Part] = []
    if own:
        properties = {"GroupName": f"{prefix_of(stack)}-sg", "VpcId": stack.parameters["VpcId"]}
        parts.append(
            Part(
                "NoIngressSecurityGroup",
                "AWS::EC2::SecurityGroup",
                _create_group,
                _delete_group,
                properties=properties,
                update=retag,
                create_only=("GroupName", "VpcId"),
                tagged=True,
            )
        )
    rules: dict[str, tuple[Action, Action]] = {
        "IntraSGCommunicationRule": _rule(None),
        "FSxForLustreRule1": _rule((988, 988)),
        "FSxForLustreRule2": _rule((1018, 1023)),
        "IntraSGCommunicationRuleEgress": _rule(None, egress=True),
        "InternetCommunicationRuleEgress": _rule(None, egress=True, everywhere=True),
    }
    for logical_id, (create, delete) in rules.items():
        kind = "AWS::EC2::SecurityGroupEgress" if "Egress" in logical_id else "AWS::EC2::SecurityGroupIngress"
        parts.append(Part(logical_id, kind, create, delete, depends))
    return parts


SECURITY_GROUP = Template(
    "security-group-template.yaml",
    "Security Group Stack",
    _group_parts,
    lambda stack: {"SecurityGroupId": _group(stack)},
)
