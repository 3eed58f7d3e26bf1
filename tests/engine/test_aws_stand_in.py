"""The aws stand-in under the real engine, against the rehearsal cloud. Inline programs: no language host."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import boto3
import grpc
import pulumi
import pulumi_aws as aws
import pytest
from google.protobuf import empty_pb2
from pulumi import automation as auto
from pulumi.runtime.proto import plugin_pb2, provider_pb2, provider_pb2_grpc

from mlcc_infra.engine import Engine
from mlcc_rehearsal.cloud import Cloud, CloudOptions
from mlcc_rehearsal.plugins.values import to_struct

SPEED = 600.0
ACCOUNT = "123456789012"
REGION = "us-west-2"
EKS_WORKER = "arn:aws:iam::aws:policy/AmazonEKSWorkerNodePolicy"
READ_ONLY = "arn:aws:iam::aws:policy/ReadOnlyAccess"

pytestmark = pytest.mark.filterwarnings(
    "ignore:.*deprecated:DeprecationWarning", "ignore:.*deprecated:UserWarning"
)


def trust(service: str) -> str:
    statement = {"Effect": "Allow", "Principal": {"Service": service}, "Action": "sts:AssumeRole"}
    return json.dumps({"Version": "2012-10-17", "Statement": [statement]})


def provider(
    name: str = "aws",
    region: str = REGION,
    account: str = ACCOUNT,
    tags: dict[str, str] | None = None,
) -> aws.Provider:
    default = aws.ProviderDefaultTagsArgs(tags=tags) if tags else None
    return aws.Provider(name, region=region, allowed_account_ids=[account], default_tags=default)


class Rehearsed:
    """A cloud, a stand-in attached to it, and stacks of inline programs."""

    def __init__(
        self, cloud: Cloud, plugin: subprocess.Popen[str], port: int, environment: dict[str, str]
    ) -> None:
        self.cloud = cloud
        self.plugin = plugin
        self.port = port
        self.environment = environment

    def stack(self, name: str, program: Callable[[], None]) -> auto.Stack:
        """A stack of `program`; give the same name to go on with another program."""
        return auto.create_or_select_stack(
            name,
            "standin",
            program,
            opts=auto.LocalWorkspaceOptions(
                env_vars=self.environment,
                project_settings=auto.ProjectSettings("standin", "python"),
            ),
        )

    @contextlib.contextmanager
    def faults(self, *faults: dict[str, Any]) -> Iterator[None]:
        """Let things go wrong in the cloud for a while."""
        for wanted in (list(faults), {"clear": True}):
            body = json.dumps(wanted).encode()
            request = urllib.request.Request(
                f"{self.cloud.endpoint}/_rehearsal/faults", data=body, method="POST"
            )
            request.add_header("Content-Type", "application/json")
            with urllib.request.urlopen(request):
                pass
            if isinstance(wanted, list):
                yield

    def client(self, service: str) -> Any:
        """boto3 beside the engine: somebody who changes things out of band."""
        return boto3.client(
            service,
            region_name=REGION,
            endpoint_url=self.cloud.endpoint,
            aws_access_key_id=self.cloud.access_key_id,
            aws_secret_access_key=self.cloud.secret_access_key,
        )


@pytest.fixture(scope="module")
def rehearsed(engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rehearsed]:
    home = tmp_path_factory.mktemp("home")
    (home / "state").mkdir()
    cloud = Cloud.start(CloudOptions(account_id=ACCOUNT, region=REGION, speed=SPEED, kubernetes=False))
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "PULUMI_"))}
    credentials = {
        "AWS_ENDPOINT_URL": cloud.endpoint,
        "AWS_REGION": REGION,
        "AWS_ACCESS_KEY_ID": cloud.access_key_id,
        "AWS_SECRET_ACCESS_KEY": cloud.secret_access_key,
        "AWS_EC2_METADATA_DISABLED": "true",
        "HOME": str(home),
    }
    plugin = subprocess.Popen(
        [sys.executable, "-m", "mlcc_rehearsal.plugins", "aws"],
        env={
            **kept,
            **credentials,
            "MLCC_CLOCK_SPEED": str(SPEED),
            "PYTHONPATH": str(Path(__file__).parents[2]),
        },
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert plugin.stdout is not None
        port = json.loads(plugin.stdout.readline())["aws"]
        environment = engine.environment(os.environ) | {
            **credentials,
            "PULUMI_HOME": str(home / ".pulumi"),
            "PULUMI_BACKEND_URL": f"file://{home / 'state'}",
            "PULUMI_CONFIG_PASSPHRASE": "test",
            "PULUMI_SKIP_UPDATE_CHECK": "true",
            "PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION": "true",
            "PULUMI_DEBUG_PROVIDERS": f"aws:{port}",
        }
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("PATH", environment["PATH"])  # the Automation API looks for the CLI there
            yield Rehearsed(cloud, plugin, port, environment)
    finally:
        plugin.terminate()
        plugin.wait(timeout=10)
        cloud.stop()


def counts(result: auto.UpResult | auto.DestroyResult) -> dict[str, int]:
    return {str(kind): number for kind, number in (result.summary.resource_changes or {}).items()}


def refused(action: Callable[[], Any]) -> str:
    with pytest.raises(auto.errors.CommandError) as caught:
        action()
    return str(caught.value)


def network(options: pulumi.ResourceOptions) -> tuple[aws.ec2.Vpc, list[aws.ec2.Subnet]]:
    vpc = aws.ec2.Vpc(
        "vpc", cidr_block="10.0.0.0/16", enable_dns_hostnames=True, tags={"Name": "vpc"}, opts=options
    )
    gateway = aws.ec2.InternetGateway("igw", vpc_id=vpc.id, opts=options)
    subnets = [
        aws.ec2.Subnet(
            f"subnet-{zone}",
            vpc_id=vpc.id,
            cidr_block=f"10.0.{number}.0/24",
            availability_zone=f"{REGION}{zone}",
            map_public_ip_on_launch=True,
            tags={"kubernetes.io/role/elb": "1"},
            opts=options,
        )
        for number, zone in enumerate("ab")
    ]
    address = aws.ec2.Eip("eip", domain="vpc", opts=options)
    nat = aws.ec2.NatGateway(
        "nat",
        allocation_id=address.allocation_id,
        subnet_id=subnets[0].id,
        opts=pulumi.ResourceOptions.merge(options, pulumi.ResourceOptions(depends_on=[gateway])),
    )
    table = aws.ec2.RouteTable("public", vpc_id=vpc.id, opts=options)
    aws.ec2.Route(
        "out",
        route_table_id=table.id,
        destination_cidr_block="0.0.0.0/0",
        gateway_id=gateway.id,
        opts=options,
    )
    private = aws.ec2.RouteTable(
        "private",
        vpc_id=vpc.id,
        routes=[aws.ec2.RouteTableRouteArgs(cidr_block="0.0.0.0/0", nat_gateway_id=nat.id)],
        opts=options,
    )
    for subnet, name in zip(subnets, "ab", strict=True):
        aws.ec2.RouteTableAssociation(name, subnet_id=subnet.id, route_table_id=table.id, opts=options)
    aws.ec2.VpcEndpoint(
        "s3",
        vpc_id=vpc.id,
        service_name=f"com.amazonaws.{REGION}.s3",
        route_table_ids=[table.id, private.id],
        opts=options,
    )
    group = aws.ec2.SecurityGroup(
        "group",
        vpc_id=vpc.id,
        ingress=[
            aws.ec2.SecurityGroupIngressArgs(
                protocol="tcp", from_port=443, to_port=443, cidr_blocks=["10.0.0.0/16"], description="https"
            )
        ],
        opts=options,
    )
    aws.ec2.SecurityGroupRule(
        "egress",
        type="egress",
        protocol="-1",
        from_port=0,
        to_port=0,
        cidr_blocks=["0.0.0.0/0"],
        security_group_id=group.id,
        opts=options,
    )
    return vpc, subnets


def test_a_network_roles_and_parameters_are_made_kept_repaired_and_unmade(rehearsed: Rehearsed) -> None:
    def program() -> None:
        options = pulumi.ResourceOptions(provider=provider(tags={"team": "ml"}))
        vpc, subnets = network(options)
        role = aws.iam.Role(
            "role",
            name="life-role",
            assume_role_policy=trust("ec2.amazonaws.com"),
            tags={"a": "b"},
            opts=options,
        )
        aws.iam.RolePolicyAttachment("worker", role=role.name, policy_arn=EKS_WORKER, opts=options)
        grant = {"Effect": "Allow", "Action": ["s3:*"], "Resource": "*"}
        aws.iam.RolePolicy(
            "inline",
            role=role.name,
            policy=json.dumps({"Version": "2012-10-17", "Statement": [grant]}, indent=2),
            opts=options,
        )
        aws.iam.InstanceProfile("profile", role=role.name, opts=options)
        aws.ssm.Parameter("vpc", name="/life/vpc", type="String", value=vpc.id, opts=options)
        aws.cloudwatch.LogGroup("logs", name="/life/logs", retention_in_days=7, opts=options)
        pulumi.export("zone", subnets[0].availability_zone)
        pulumi.export(
            "parameter", aws.ssm.get_parameter_output(name="/aws/service/x") if False else vpc.cidr_block
        )

    stack = rehearsed.stack("life", program)
    made = stack.preview().change_summary[auto.OpType.CREATE]
    assert counts(stack.up())["create"] == made
    assert counts(stack.up(refresh=True)) == {"same": made}, "nothing was changed, so nothing is"

    iam, ec2 = rehearsed.client("iam"), rehearsed.client("ec2")
    assert {tag["Key"] for tag in iam.list_role_tags(RoleName="life-role")["Tags"]} == {"a", "team"}
    subnet = ec2.describe_subnets(Filters=[{"Name": "cidr-block", "Values": ["10.0.1.0/24"]}])["Subnets"][0]
    iam.update_assume_role_policy(RoleName="life-role", PolicyDocument=trust("eks.amazonaws.com"))
    iam.detach_role_policy(RoleName="life-role", PolicyArn=EKS_WORKER)
    iam.attach_role_policy(RoleName="life-role", PolicyArn=READ_ONLY)
    iam.untag_role(RoleName="life-role", TagKeys=["a"])
    ec2.delete_tags(Resources=[subnet["SubnetId"]], Tags=[{"Key": "kubernetes.io/role/elb"}])
    rehearsed.client("ssm").delete_parameter(Name="/life/vpc")
    repaired = counts(stack.up(refresh=True))
    assert repaired == {"same": made - 4, "update": 2, "create": 2}
    role = iam.get_role(RoleName="life-role")["Role"]
    assert "ec2.amazonaws.com" in json.dumps(role["AssumeRolePolicyDocument"])
    attached = {
        policy["PolicyArn"]
        for policy in iam.list_attached_role_policies(RoleName="life-role")["AttachedPolicies"]
    }
    assert attached == {EKS_WORKER, READ_ONLY}, "attachments are additive: the foreign one stays"
    assert counts(stack.up(refresh=True)) == {"same": made}

    iam.detach_role_policy(RoleName="life-role", PolicyArn=READ_ONLY)
    assert counts(stack.destroy())["delete"] == made
    left = [vpc["VpcId"] for vpc in ec2.describe_vpcs()["Vpcs"] if not vpc["IsDefault"]]
    assert left == []


def test_an_existing_role_with_another_trust_is_taken_over_retained_and_taken_over_again(
    rehearsed: Rehearsed,
) -> None:
    iam = rehearsed.client("iam")
    iam.create_role(
        RoleName="adopted", AssumeRolePolicyDocument=trust("lambda.amazonaws.com"), Description="theirs"
    )
    importing = True

    def program() -> None:
        options = pulumi.ResourceOptions(
            provider=provider(), import_="adopted" if importing else None, retain_on_delete=True
        )
        aws.iam.Role(
            "role",
            name="adopted",
            assume_role_policy=trust("eks.amazonaws.com"),
            tags={"o": "adopted"},
            opts=options,
        )

    stack = rehearsed.stack("adopt", program)
    assert counts(stack.up()).get("import") == 1
    role = iam.get_role(RoleName="adopted")["Role"]
    assert "eks.amazonaws.com" in json.dumps(role["AssumeRolePolicyDocument"])
    assert "Description" not in role or not role["Description"], "what the program does not say is taken away"
    assert counts(stack.up(refresh=True)) == {"same": 3}, "import_ left in place asks for nothing more"
    importing = False
    assert counts(stack.up()) == {"same": 3}
    stack.destroy()
    assert iam.get_role(RoleName="adopted"), "a retained role stays"
    importing = True
    assert counts(stack.up()).get("import") == 1
    stack.destroy()
    iam.delete_role(RoleName="adopted")


def test_an_import_of_what_is_not_there_fails_and_makes_nothing(rehearsed: Rehearsed) -> None:
    def program() -> None:
        aws.iam.Role(
            "role",
            name="nobody",
            assume_role_policy=trust("eks.amazonaws.com"),
            opts=pulumi.ResourceOptions(provider=provider(), import_="nobody"),
        )

    words = refused(rehearsed.stack("import-nothing", program).up)
    assert "does not exist" in words
    assert not [r for r in rehearsed.client("iam").list_roles()["Roles"] if r["RoleName"] == "nobody"]


def test_unknown_properties_and_types_are_refused_before_anything_is_made(rehearsed: Rehearsed) -> None:
    def unknown_property() -> None:
        role = {"assumeRolePolicy": trust("ec2.amazonaws.com"), "maxSessionDurations": 7200}
        pulumi.CustomResource("aws:iam/role:Role", "role", role, pulumi.ResourceOptions(provider=provider()))

    words = refused(rehearsed.stack("unknown-property", unknown_property).preview)
    assert "maxSessionDurations" in words
    assert "Did you mean 'maxSessionDuration'" in words

    def unmodelled_type() -> None:
        aws.sqs.Queue("queue", opts=pulumi.ResourceOptions(provider=provider()))

    words = refused(rehearsed.stack("unmodelled", unmodelled_type).preview)
    assert "does not model aws:sqs/queue:Queue yet" in words
    assert "mlcc_rehearsal/plugins/aws/resources" in words


def test_another_account_is_refused_in_the_providers_words(rehearsed: Rehearsed) -> None:
    def program() -> None:
        guarded = provider(account="210987654321")
        aws.ssm.Parameter(
            "p", name="/never", type="String", value="x", opts=pulumi.ResourceOptions(provider=guarded)
        )

    words = refused(rehearsed.stack("account", program).up)
    assert f"AWS account ID not allowed: {ACCOUNT}" in words
    assert rehearsed.client("ssm").describe_parameters()["Parameters"] == []


def test_errors_are_awss_own_words(rehearsed: Rehearsed) -> None:
    iam = rehearsed.client("iam")
    iam.create_role(RoleName="taken", AssumeRolePolicyDocument=trust("ec2.amazonaws.com"))

    def program() -> None:
        aws.iam.Role(
            "role",
            name="taken",
            assume_role_policy=trust("ec2.amazonaws.com"),
            opts=pulumi.ResourceOptions(provider=provider()),
        )

    words = refused(rehearsed.stack("taken", program).up)
    assert (
        "creating IAM Role (taken): operation error IAM: CreateRole, https response error StatusCode: 409"
        in words
    )
    assert "EntityAlreadyExists: Role with name taken already exists" in words
    iam.delete_role(RoleName="taken")


def test_a_fixed_name_is_deleted_before_it_is_replaced_and_a_secret_stays_one(rehearsed: Rehearsed) -> None:
    path = "/"

    def program() -> None:
        options = pulumi.ResourceOptions(provider=provider())
        aws.iam.Role(
            "role", name="moving", path=path, assume_role_policy=trust("ec2.amazonaws.com"), opts=options
        )
        secret = aws.ssm.Parameter("secret", name="/s", type="SecureString", value="hush", opts=options)
        pulumi.export("value", secret.value)

    stack = rehearsed.stack("replace", program)
    result = stack.up()
    assert result.outputs["value"].secret
    folder = Path(rehearsed.environment["PULUMI_BACKEND_URL"].removeprefix("file://"))
    (saved,) = folder.glob(".pulumi/stacks/standin/replace.json")
    assert '"/s"' in saved.read_text()
    assert "hush" not in saved.read_text(), "the state keeps it encrypted"
    path = "/moved/"
    assert counts(stack.up())["replace"] == 1
    assert rehearsed.client("iam").get_role(RoleName="moving")["Role"]["Path"] == "/moved/"
    stack.destroy()


def eks_program(settings: dict[str, Any]) -> Callable[[], None]:
    def program() -> None:
        chosen = provider()
        options = pulumi.ResourceOptions(provider=chosen)
        _, subnets = network(options)
        ids = [subnet.id for subnet in subnets]
        control = aws.iam.Role(
            "control", name="eks-control", assume_role_policy=trust("eks.amazonaws.com"), opts=options
        )
        managed = aws.iam.RolePolicyAttachment(
            "control",
            role=control.name,
            policy_arn="arn:aws:iam::aws:policy/AmazonEKSClusterPolicy",
            opts=options,
        )
        nodes = aws.iam.Role(
            "nodes", name="eks-nodes", assume_role_policy=trust("ec2.amazonaws.com"), opts=options
        )
        grants = [
            aws.iam.RolePolicyAttachment(
                name, role=nodes.name, policy_arn=f"arn:aws:iam::aws:policy/{name}", opts=options
            )
            for name in (
                "AmazonEKSWorkerNodePolicy",
                "AmazonEC2ContainerRegistryPullOnly",
                "AmazonEKS_CNI_Policy",
            )
        ]
        cluster = aws.eks.Cluster(
            "cluster",
            name="stand-in",
            role_arn=control.arn,
            version=settings["version"],
            access_config=aws.eks.ClusterAccessConfigArgs(authentication_mode="API"),
            vpc_config=aws.eks.ClusterVpcConfigArgs(subnet_ids=ids),
            opts=pulumi.ResourceOptions(provider=chosen, depends_on=[managed]),
        )
        group = aws.eks.NodeGroup(
            "group",
            cluster_name=cluster.name,
            node_group_name="cpu",
            node_role_arn=nodes.arn,
            subnet_ids=ids,
            scaling_config=aws.eks.NodeGroupScalingConfigArgs(
                desired_size=settings["size"], min_size=0, max_size=4
            ),
            labels=settings["labels"],
            opts=pulumi.ResourceOptions(provider=chosen, depends_on=grants),
        )
        offered = aws.eks.get_addon_version_output(
            addon_name="coredns",
            kubernetes_version=cluster.version,
            most_recent=True,
            opts=pulumi.InvokeOutputOptions(provider=chosen),
        )
        aws.eks.Addon(
            "coredns",
            cluster_name=cluster.name,
            addon_name="coredns",
            addon_version=offered.version,
            resolve_conflicts_on_create="OVERWRITE",
            resolve_conflicts_on_update="OVERWRITE",
            opts=pulumi.ResourceOptions(provider=chosen, depends_on=[group]),
        )
        aws.iam.OpenIdConnectProvider(
            "issuer",
            url=cluster.identities[0].oidcs[0].issuer,
            client_id_lists=["sts.amazonaws.com"],
            opts=options,
        )
        admin = aws.iam.Role(
            "admin", name="eks-admin", assume_role_policy=trust("ec2.amazonaws.com"), opts=options
        )
        entry = aws.eks.AccessEntry("admin", cluster_name=cluster.name, principal_arn=admin.arn, opts=options)
        aws.eks.AccessPolicyAssociation(
            "admin",
            cluster_name=cluster.name,
            principal_arn=entry.principal_arn,
            policy_arn="arn:aws:eks::aws:cluster-access-policy/AmazonEKSClusterAdminPolicy",
            access_scope=aws.eks.AccessPolicyAssociationAccessScopeArgs(type="cluster"),
            opts=options,
        )
        pulumi.export("endpoint", cluster.endpoint)

    return program


def test_a_cluster_with_nodes_add_ons_and_access_is_made_upgraded_repaired_and_unmade(
    rehearsed: Rehearsed,
) -> None:
    settings: dict[str, Any] = {"version": "1.34", "size": 1, "labels": {"a": "b"}}
    stack = rehearsed.stack("eks", eks_program(settings))
    made = counts(stack.up())["create"]
    assert counts(stack.up(refresh=True)) == {"same": made}

    settings.update(version="1.35", size=2, labels={"c": "d"})
    changed = counts(stack.up())
    assert changed["update"] >= 2
    eks = rehearsed.client("eks")
    assert eks.describe_cluster(name="stand-in")["cluster"]["version"] == "1.35"
    group = eks.describe_nodegroup(clusterName="stand-in", nodegroupName="cpu")["nodegroup"]
    assert (group["scalingConfig"]["desiredSize"], group["labels"]) == (2, {"c": "d"})

    eks.delete_addon(clusterName="stand-in", addonName="coredns")
    time.sleep(60 / SPEED)
    assert counts(stack.up(refresh=True)).get("create") == 1, "an add-on deleted out of band comes back"
    assert counts(stack.destroy())["delete"] == made
    assert eks.list_clusters()["clusters"] == []


def test_an_add_on_that_never_gets_healthy_stays_in_the_state_with_its_reason(rehearsed: Rehearsed) -> None:
    settings: dict[str, Any] = {"version": "1.35", "size": 0, "labels": {}}
    stack = rehearsed.stack("degraded", eks_program(settings))
    words = refused(stack.up)
    assert (
        "waiting for EKS Add-On (stand-in:coredns) create: timeout while waiting for state to become" in words
    )
    assert "(last state: 'DEGRADED', timeout: 20m0s)" in words
    kept = [
        resource
        for resource in (stack.export_stack().deployment or {})["resources"]
        if resource["type"] == "aws:eks/addon:Addon"
    ]
    assert [resource["id"] for resource in kept] == ["stand-in:coredns"]
    assert kept[0]["initErrors"]

    settings["size"] = 1
    again = counts(stack.up(refresh=True))
    assert again.get("create", 0) == 0, "what exists is not made twice"
    assert rehearsed.client("eks").describe_addon(clusterName="stand-in", addonName="coredns")
    stack.destroy()


def test_throttled_calls_are_tried_again(rehearsed: Rehearsed) -> None:
    def program() -> None:
        options = pulumi.ResourceOptions(provider=provider())
        for number in range(4):
            aws.ssm.Parameter(f"p{number}", name=f"/t/{number}", type="String", value="x", opts=options)

    stack = rehearsed.stack("throttled", program)
    with rehearsed.faults({"service": "ssm", "operation": "*", "share": 0.5, "effect": "throttle"}):
        assert counts(stack.up())["create"] == 6
        stack.destroy()


@contextlib.contextmanager
def slow_plugin(rehearsed: Rehearsed) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """A second stand-in whose waits take as long as in life."""
    environment = {
        **rehearsed.environment,
        "PYTHONPATH": str(Path(__file__).parents[2]),
        "MLCC_CLOCK_SPEED": "1",
    }
    plugin = subprocess.Popen(
        [sys.executable, "-m", "mlcc_rehearsal.plugins", "aws"],
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert plugin.stdout is not None
        yield plugin, json.loads(plugin.stdout.readline())["aws"]
    finally:
        plugin.terminate()
        plugin.wait(timeout=5)


def attach(port: int) -> provider_pb2_grpc.ResourceProviderStub:
    """What an engine does first, by a connection of its own."""
    options = [("grpc.use_local_subchannel_pool", 1)]
    stub = provider_pb2_grpc.ResourceProviderStub(grpc.insecure_channel(f"127.0.0.1:{port}", options))
    stub.Attach(plugin_pb2.PluginAttach(address="nowhere"))
    stub.Configure(provider_pb2.ConfigureRequest(args=to_struct({"region": REGION})))
    return stub


def test_cancel_ends_the_waits_of_its_own_engine_and_sigterm_the_plugin(rehearsed: Rehearsed) -> None:
    ec2 = rehearsed.client("ec2")
    vpc = ec2.create_vpc(CidrBlock="10.8.0.0/16")["Vpc"]["VpcId"]
    subnet = ec2.create_subnet(VpcId=vpc, CidrBlock="10.8.0.0/24")["Subnet"]["SubnetId"]
    group = ec2.create_security_group(VpcId=vpc, GroupName="held", Description="held")["GroupId"]
    interface = ec2.create_network_interface(SubnetId=subnet, Groups=[group])["NetworkInterface"]
    with slow_plugin(rehearsed) as (plugin, port):
        first, second = attach(port), attach(port)
        urn = "urn:pulumi:dev::p::aws:ec2/securityGroup:SecurityGroup::held"
        request = provider_pb2.DeleteRequest(id=group, urn=urn, properties=to_struct({"vpcId": vpc}))
        waits = [stub.Delete.future(request) for stub in (first, second)]
        time.sleep(1)
        assert not any(wait.done() for wait in waits), "an interface holds the group: deletion is tried again"
        first.Cancel(empty_pb2.Empty())
        error: Any = waits[0].exception(timeout=3)
        assert error.code() == grpc.StatusCode.CANCELLED
        assert not waits[1].done(), "the other engine's wait goes on"
        plugin.send_signal(signal.SIGTERM)
        assert plugin.wait(timeout=5) == 0
    ec2.delete_network_interface(NetworkInterfaceId=interface["NetworkInterfaceId"])
    ec2.delete_security_group(GroupId=group)
    ec2.delete_subnet(SubnetId=subnet)
    ec2.delete_vpc(VpcId=vpc)


def test_a_plugin_ends_with_the_process_that_started_it(rehearsed: Rehearsed) -> None:
    script = (
        "import subprocess, sys\n"
        "plugin = [sys.executable, '-m', 'mlcc_rehearsal.plugins', 'aws']\n"
        "started = subprocess.Popen(plugin, stdout=subprocess.PIPE, text=True)\n"
        "started.stdout.readline(); print(started.pid)"
    )
    environment = {**rehearsed.environment, "PYTHONPATH": str(Path(__file__).parents[2])}
    started = subprocess.run(
        [sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True
    )
    orphan = Path("/proc") / started.stdout.strip()
    deadline = time.monotonic() + 5
    while orphan.exists() and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not orphan.exists()


def test_two_providers_of_one_engine_are_configured_apart(rehearsed: Rehearsed) -> None:
    def program() -> None:
        for region in ("us-west-2", "us-east-2"):
            chosen = provider(region, region=region)
            aws.ssm.Parameter(
                region,
                name="/where",
                type="String",
                value=region,
                opts=pulumi.ResourceOptions(provider=chosen),
            )

    stack = rehearsed.stack("regions", program)
    assert counts(stack.up())["create"] == 5
    assert rehearsed.client("ssm").get_parameter(Name="/where")["Parameter"]["Value"] == "us-west-2"
    stack.destroy()
