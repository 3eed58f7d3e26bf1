"""What counts as left over, decided purely, and read from a rehearsed account."""

from __future__ import annotations

import functools
import json
import os
import re
import shlex
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import botocore.session
import pytest
from botocore import xform_name

from mlcc_infra.account import orphan_network
from mlcc_infra.account.orphan_reads import READS
from mlcc_infra.account.orphans import LeftOver, Thing, find_left_over, left_over, lines
from mlcc_infra.account.reader import Reader
from mlcc_infra.account.session import AccountSession
from mlcc_infra.cli import main
from mlcc_infra.naming import Names
from mlcc_infra.tagging import tags
from mlcc_rehearsal.cloud import Cloud, CloudOptions

REGION, ACCOUNT = "us-west-2", "123456789012"
NAMES = Names("demo", ACCOUNT, REGION)
STACK_ARN = f"arn:aws:cloudformation:{REGION}:{ACCOUNT}:stack/mlcc-demo-hp/0a1b2c3d"
PROJECT = Path(__file__).parents[3]


# The decision


def thing(kind: str, id: str, *ids: str, owners: tuple[str, ...] = ()) -> Thing:
    return Thing(kind=kind, id=id, what="", delete="", ids=ids, owners=owners)


def found(
    *things: Thing, recorded: tuple[str, ...] = (), kept: tuple[tuple[str, str], ...] = ()
) -> list[str]:
    return [each.id for each in left_over(things, recorded=recorded, kept=kept, names=NAMES)]


def test_what_the_state_holds_is_not_left_over() -> None:
    assert found(thing("VPC", "vpc-1"), thing("VPC", "vpc-2"), recorded=("vpc-1",)) == ["vpc-2"]
    assert found(thing("policy", "p", "arn:aws:iam::1:policy/p"), recorded=("arn:aws:iam::1:policy/p",)) == []


def test_what_is_retained_is_not_left_over() -> None:
    things = (thing("role", "r"), thing("bucket", "r"))
    assert found(*things, kept=(("role", "r"), ("attachment", "r/arn"))) == ["r"]


def test_what_came_with_something_that_is_there_is_not_left_over() -> None:
    group = thing("security group", "sg-1", owners=("mlcc-demo-eks",))
    assert found(group, recorded=("mlcc-demo-eks",)) == []
    assert found(group, recorded=("vpc-1",)) == ["sg-1"], "its cluster is gone, whatever the VPC says"


@pytest.mark.parametrize("owner", ["mlcc-demo-hp", "mlcc-demo-hp-eks", "mlcc-demo-hyperpod"])
def test_a_recorded_stack_explains_what_the_template_made(owner: str) -> None:
    made = thing("log group", "/aws/x", owners=(owner,))
    assert found(made, recorded=(STACK_ARN,)) == []
    assert found(made) == ["/aws/x"]


def test_what_two_services_find_is_listed_once() -> None:
    assert found(thing("VPC", "vpc-2"), thing("VPC", "vpc-1"), thing("VPC", "vpc-2")) == ["vpc-1", "vpc-2"]


# What is read


@pytest.fixture
def cloud(monkeypatch: pytest.MonkeyPatch) -> Iterator[Cloud]:
    with Cloud.start(CloudOptions(account_id=ACCOUNT, region=REGION, kubernetes=False)) as started:
        for name, value in (
            ("AWS_ENDPOINT_URL", started.endpoint),
            ("AWS_ACCESS_KEY_ID", started.access_key_id),
            ("AWS_SECRET_ACCESS_KEY", started.secret_access_key),
            ("AWS_DEFAULT_REGION", REGION),
            ("AWS_CONFIG_FILE", "/nonexistent"),
            ("AWS_SHARED_CREDENTIALS_FILE", "/nonexistent"),
        ):
            monkeypatch.setenv(name, value)
        monkeypatch.delenv("AWS_PROFILE", raising=False)
        yield started


@functools.cache
def account(endpoint: str) -> AccountSession:
    """The session of a test's cloud: making its clients takes longer than asking them."""
    return AccountSession(region=REGION)


def client(service: str) -> Any:
    """A client of the test's cloud."""
    return account(os.environ["AWS_ENDPOINT_URL"]).client(service)


def look(recorded: tuple[str, ...] = (), kept: tuple[tuple[str, str], ...] = ()) -> LeftOver:
    reader = Reader(account(os.environ["AWS_ENDPOINT_URL"]), profile="demo")
    return find_left_over(reader, NAMES, READS, recorded=recorded, kept=kept)


def ids(answer: LeftOver) -> list[tuple[str, str]]:
    assert answer.unreadable == ()
    return [(each.kind, each.id) for each in answer.things]


def ours(resource: str, profile: str = "demo", region: str = REGION) -> dict[str, str]:
    return tags(profile=profile, region=region, stack=f"mlcc-{profile}", module="eks", resource=resource)


def pairs(given: dict[str, str]) -> list[dict[str, str]]:
    return [{"Key": key, "Value": value} for key, value in given.items()]


def on(kind: str, given: dict[str, str]) -> dict[str, Any]:
    return {"TagSpecifications": [{"ResourceType": kind, "Tags": pairs(given)}]}


def role(name: str, given: dict[str, str]) -> None:
    document = json.dumps({"Version": "2012-10-17", "Statement": []})
    client("iam").create_role(RoleName=name, AssumeRolePolicyDocument=document, Tags=pairs(given))


def test_an_account_without_anything_of_ours_has_nothing_left_over(cloud: Cloud) -> None:
    assert look() == LeftOver(things=(), unreadable=())


def test_roles_and_policies_are_found_by_tags_and_names(cloud: Cloud) -> None:
    role("mlcc-demo-eks-inference-role", ours("x/y"))
    role("mlcc-demo-hp-ClsRole", {})
    role("mlcc-demo-keda-operator-role", {})
    role("mlcc-demo-eu-eks-node-role", ours("x/y", profile="demo-eu"))
    role("mlcc-demo-eks-node-role", ours("x/y", region="eu-west-1"))
    role("mlcc-demo-of-somebody", {})
    statement = {"Effect": "Allow", "Action": "ec2:DescribeVpcs", "Resource": "*"}
    policy = client("iam").create_policy(
        PolicyName="mlcc-demo-alb-controller-policy",
        PolicyDocument=json.dumps({"Version": "2012-10-17", "Statement": [statement]}),
        Tags=pairs(ours("x/y")),
    )["Policy"]["Arn"]
    answer = look()
    assert ids(answer) == [
        ("policy", "mlcc-demo-alb-controller-policy"),
        ("role", "mlcc-demo-eks-inference-role"),
        ("role", "mlcc-demo-hp-ClsRole"),
        ("role", "mlcc-demo-keda-operator-role"),
    ]
    assert "not its tags" in answer.things[3].what, (
        "one of our names without our tags is to be looked at first"
    )
    recorded = (policy, "mlcc-demo-eks-inference-role", STACK_ARN)
    assert ids(look(recorded)) == [("role", "mlcc-demo-keda-operator-role")]


def test_identity_providers_of_dead_issuers_are_found_by_tags(cloud: Cloud) -> None:
    def provider(name: str, given: dict[str, str]) -> str:
        answer = client("iam").create_open_id_connect_provider(
            Url=f"https://oidc.eks.{REGION}.amazonaws.com/id/{name}",
            ClientIDList=["sts.amazonaws.com"],
            ThumbprintList=["9" * 40],
            Tags=pairs(given),
        )
        return str(answer["OpenIDConnectProviderArn"])

    dead, live = provider("DEAD", ours("eks/oidc")), provider("LIVE", ours("eks/oidc"))
    provider("THEIRS", {})
    answer = look(recorded=(live,))
    assert ids(answer) == [("OIDC provider", dead)]
    assert "/id/DEAD" in answer.things[0].what


def test_parts_of_a_network_are_found_by_their_tags_while_they_exist(cloud: Cloud) -> None:
    ec2 = client("ec2")
    vpc = ec2.create_vpc(CidrBlock="10.0.0.0/16", **on("vpc", ours("eks/eks-network-vpc")))["Vpc"]["VpcId"]
    ec2.create_vpc(CidrBlock="10.1.0.0/16", **on("vpc", ours("x/y", profile="other")))
    subnet = ec2.create_subnet(VpcId=vpc, CidrBlock="10.0.0.0/24", **on("subnet", ours("x/subnet")))
    subnet_id = subnet["Subnet"]["SubnetId"]
    gone = ec2.create_subnet(VpcId=vpc, CidrBlock="10.0.1.0/24", **on("subnet", ours("x/gone")))
    ec2.delete_subnet(SubnetId=gone["Subnet"]["SubnetId"])
    address = ec2.allocate_address(Domain="vpc", **on("elastic-ip", ours("x/address")))["AllocationId"]
    gateway = ec2.create_internet_gateway(**on("internet-gateway", ours("x/igw")))
    table = ec2.create_route_table(VpcId=vpc, **on("route-table", ours("x/table")))
    endpoint = ec2.create_vpc_endpoint(
        VpcId=vpc, ServiceName=f"com.amazonaws.{REGION}.s3", **on("vpc-endpoint", ours("x/endpoint"))
    )
    nat = ec2.create_nat_gateway(SubnetId=subnet_id, AllocationId=address, **on("natgateway", ours("x/nat")))[
        "NatGateway"
    ]["NatGatewayId"]
    template = ec2.create_launch_template(
        LaunchTemplateName="mine",
        LaunchTemplateData={"EbsOptimized": True},
        **on("launch-template", ours("x/t")),
    )
    cloud.clock.advance(300)
    expected = {
        ("Elastic IP", address),
        ("NAT gateway", nat),
        ("VPC", vpc),
        ("VPC endpoint", endpoint["VpcEndpoint"]["VpcEndpointId"]),
        ("internet gateway", gateway["InternetGateway"]["InternetGatewayId"]),
        ("launch template", template["LaunchTemplate"]["LaunchTemplateId"]),
        ("route table", table["RouteTable"]["RouteTableId"]),
        ("subnet", subnet_id),
    }
    answer = look()
    assert set(ids(answer)) == expected
    assert next(each for each in answer.things if each.id == vpc).what.startswith("eks-network-vpc, made for")
    ec2.delete_nat_gateway(NatGatewayId=nat)
    cloud.clock.advance(300)
    assert ("NAT gateway", nat) not in ids(look()), "a deleted gateway is still visible for an hour"


def test_what_cloudformation_made_in_the_network_is_the_stacks(cloud: Cloud) -> None:
    from moto.ec2.models import ec2_backends

    ec2 = client("ec2")
    vpc = ec2.create_vpc(CidrBlock="10.0.0.0/16")["Vpc"]["VpcId"]
    other = ec2.create_vpc(CidrBlock="10.1.0.0/16")["Vpc"]["VpcId"]
    for each, stack in ((vpc, "mlcc-demo-hp-VPCStack-1ABC"), (other, "mlcc-demo-hpx-VPCStack-1ABC")):
        ec2_backends[ACCOUNT][REGION].create_tags([each], {"aws:cloudformation:stack-name": stack})
    assert ids(look()) == [("VPC", vpc)]
    assert ids(look(recorded=(STACK_ARN,))) == []


def test_groups_interfaces_and_volumes_of_a_dead_cluster_are_found(cloud: Cloud) -> None:
    ec2 = client("ec2")
    vpc = ec2.create_vpc(CidrBlock="10.0.0.0/16")["Vpc"]["VpcId"]
    subnet = ec2.create_subnet(VpcId=vpc, CidrBlock="10.0.0.0/24")["Subnet"]["SubnetId"]

    def group(name: str, given: dict[str, str]) -> str:
        answer = ec2.create_security_group(
            GroupName=name, Description=name, VpcId=vpc, **on("security-group", given)
        )
        return str(answer["GroupId"])

    def interface(description: str, given: dict[str, str]) -> str:
        answer = ec2.create_network_interface(
            SubnetId=subnet, Description=description, **(on("network-interface", given) if given else {})
        )
        return str(answer["NetworkInterface"]["NetworkInterfaceId"])

    balancer = group("k8s-default-web-0123456789", {"elbv2.k8s.aws/cluster": "mlcc-demo-hp-eks"})
    nodes = group("eks-cluster-sg-mlcc-demo-eks-1", {"kubernetes.io/cluster/mlcc-demo-eks": "owned"})
    group("k8s-default-web-9876543210", {"elbv2.k8s.aws/cluster": "somebody"})
    pods = interface("aws-K8S-i-0abc", {"cluster.k8s.amazonaws.com/name": "mlcc-demo-eks"})
    plane = interface("Amazon EKS mlcc-demo-hp-eks", {})
    worker = interface("SageMaker HyperPod mlcc-demo-hyperpod i-0abc", {})
    interface("Amazon EKS mlcc-demo-eks-of-somebody", {})
    volume = ec2.create_volume(
        AvailabilityZone=f"{REGION}a",
        Size=1,
        **on("volume", {"kubernetes.io/cluster/mlcc-demo-eks": "owned"}),
    )["VolumeId"]
    answer = look()
    assert set(ids(answer)) == {
        ("security group", balancer),
        ("security group", nodes),
        ("network interface", pods),
        ("network interface", plane),
        ("network interface", worker),
        ("volume", volume),
    }
    said = next(each for each in answer.things if each.id == balancer)
    assert said.what == "k8s-default-web-0123456789, made in or by cluster mlcc-demo-hp-eks"
    assert {each for _, each in ids(look(recorded=("mlcc-demo-eks",)))} == {balancer, plane, worker}
    assert {each for _, each in ids(look(recorded=(STACK_ARN,)))} == {nodes, pods, volume}


def test_load_balancers_of_a_dead_cluster_are_found(cloud: Cloud) -> None:
    ec2, elb, classic = client("ec2"), client("elbv2"), client("elb")
    vpc = ec2.create_vpc(CidrBlock="10.0.0.0/16")["Vpc"]["VpcId"]
    subnets = [
        ec2.create_subnet(VpcId=vpc, CidrBlock=f"10.0.{n}.0/24", AvailabilityZone=f"{REGION}{zone}")["Subnet"]
        for n, zone in enumerate("ab")
    ]
    subnet_ids = [subnet["SubnetId"] for subnet in subnets]
    arns: dict[str, str] = {}
    for name, cluster in (("k8s-ours", "mlcc-demo-eks"), ("k8s-theirs", "somebody")):
        given = pairs({"elbv2.k8s.aws/cluster": cluster})
        made = elb.create_load_balancer(Name=name, Subnets=subnet_ids, Scheme="internal", Tags=given)
        target = elb.create_target_group(Name=name, Protocol="HTTP", Port=80, VpcId=vpc, Tags=given)
        arns[f"{name} balancer"] = made["LoadBalancers"][0]["LoadBalancerArn"]
        arns[f"{name} targets"] = target["TargetGroups"][0]["TargetGroupArn"]
    classic.create_load_balancer(
        LoadBalancerName="a-service",
        Listeners=[{"Protocol": "TCP", "LoadBalancerPort": 80, "InstancePort": 30080}],
        Subnets=subnet_ids[:1],
        Tags=pairs({"kubernetes.io/cluster/mlcc-demo-eks": "owned"}),
    )
    assert ids(look()) == [
        ("classic load balancer", "a-service"),
        ("load balancer", arns["k8s-ours balancer"]),
        ("target group", arns["k8s-ours targets"]),
    ]
    assert ids(look(recorded=("mlcc-demo-eks",))) == []


def test_log_groups_of_dead_writers_are_found_by_name(cloud: Cloud) -> None:
    dead = [
        "/aws/eks/mlcc-demo-eks/cluster",
        "/aws/eks/mlcc-demo-hp-eks/cluster",
        "/aws/lambda/mlcc-demo-hphelmfunc",
        "/aws/lambda/mlcc-demo-hphpfunc",
        "/aws/sagemaker/Clusters/mlcc-demo-hyperpod/abcdefghijkl",
    ]
    others = ["/aws/eks/mlcc-demo-eks2/cluster", "/aws/lambda/mlcc-demo-hpx-hphpfunc", "/aws/lambda/other"]
    for name in (*dead, *others):
        client("logs").create_log_group(logGroupName=name)
    assert ids(look()) == [("log group", name) for name in dead]
    assert ids(look(recorded=(STACK_ARN,))) == [("log group", "/aws/eks/mlcc-demo-eks/cluster")]
    assert ids(look(recorded=("/aws/eks/mlcc-demo-eks/cluster", STACK_ARN))) == []


def test_buckets_and_published_outputs_are_found(cloud: Cloud) -> None:
    s3, ssm = client("s3"), client("ssm")
    for name in (NAMES.lifecycle_bucket, NAMES.tls_bucket, "mlcc-demo-hp-logs", "sagemaker-mlcc-demo-mine"):
        s3.create_bucket(Bucket=name, CreateBucketConfiguration={"LocationConstraint": REGION})
        if name in (NAMES.lifecycle_bucket, NAMES.tls_bucket):
            s3.put_bucket_tagging(Bucket=name, Tagging={"TagSet": pairs(ours("x/y"))})
    ssm.put_parameter(Name="/mlcc/demo/eks/EksClusterName", Value="x", Type="String")
    ssm.put_parameter(Name="/mlcc/demo-eu/eks/EksClusterName", Value="x", Type="String")
    assert ids(look(kept=(("bucket", NAMES.tls_bucket),))) == [
        ("bucket", "mlcc-demo-hp-logs"),
        ("bucket", NAMES.lifecycle_bucket),
        ("parameter", "/mlcc/demo/eks/EksClusterName"),
    ]


# What does not answer


def test_a_service_that_does_not_answer_is_named_and_hides_no_other(cloud: Cloud) -> None:
    client("logs").create_log_group(logGroupName="/aws/eks/mlcc-demo-eks/cluster")
    silent: dict[str, str] = {}
    services = (
        "ec2",
        "iam",
        "elbv2",
        "elb",
        "eks",
        "sagemaker",
        "cloudformation",
        "s3",
        "logs",
        "ssm",
        "amp",
    )
    for service in services:
        fault = {"service": service, "effect": "error", "code": "AccessDeniedException", "status": 403}
        cloud.faults.add([fault])
        answer = look()
        cloud.faults.clear()
        (unreadable,) = answer.unreadable
        assert "AccessDenied" in unreadable.reason
        assert [each.kind for each in answer.things] == ([] if service == "logs" else ["log group"])
        silent[unreadable.service] = service
    assert set(silent) == set(READS) - {"Lambda"}


# How it is told


def test_each_way_to_get_rid_of_something_is_a_command_that_aws_has(cloud: Cloud) -> None:
    things = [
        *(
            Thing(kind=listed.kind, id="x-1", what="", delete=f"aws ec2 {listed.delete} x-1")
            for listed in orphan_network._TYPES.values()
        ),
        *everything(),
    ]
    session = botocore.session.get_session()
    for each in things:
        program, service, command, *words = shlex.split(each.delete)
        assert program == "aws"
        if service == "s3":
            assert (command, words) == ("rb", ["--force", f"s3://{each.id}"])
            continue
        model = session.get_service_model(service)
        names: Any = model.operation_names
        operation = {xform_name(name, "-"): name for name in names}[command]
        shape: Any = model.operation_model(operation).input_shape
        assert {xform_name(name, "-") for name in shape.members} >= {
            word[2:] for word in words if word[:2] == "--"
        }
        assert not re.search(r"[{}]|None", each.delete)


def everything() -> list[Thing]:
    """One of each kind that is found by name."""
    role("mlcc-demo-eks-inference-role", ours("x/y"))
    client("logs").create_log_group(logGroupName="/aws/eks/mlcc-demo-eks/cluster")
    client("ssm").put_parameter(Name="/mlcc/demo/eks/EksClusterName", Value="x", Type="String")
    s3 = client("s3")
    s3.create_bucket(Bucket="mlcc-demo-hp-logs", CreateBucketConfiguration={"LocationConstraint": REGION})
    return list(look().things)


def test_what_is_left_over_is_told_with_what_it_is_and_the_way_out() -> None:
    group = Thing(kind="log group", id="/aws/x", what="written by x", delete="aws logs delete-log-group …")
    assert list(lines([group])) == [
        "log group /aws/x",
        "    written by x",
        "    aws logs delete-log-group …",
    ]


Command = Callable[..., tuple[int, str]]


@pytest.fixture
def orphans(
    cloud: Cloud, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Command:
    """`mlcc-infra orphans mlcc-demo`, with a state that holds the resources of the given ids."""

    def run(*arguments: str, recorded: tuple[str, ...] = ()) -> tuple[int, str]:
        urn = "urn:pulumi:mlcc-demo::mlcc::aws:x/y:Y::thing-"
        resources = [
            {"urn": f"{urn}{number}", "type": "aws:x/y:Y", "id": each} for number, each in enumerate(recorded)
        ]
        export = json.dumps({"deployment": {"resources": resources}})
        program = tmp_path / "pulumi"
        program.write_text(f"#!/bin/sh\ncat <<'END'\n{export}\nEND\n")
        program.chmod(0o755)
        code = main.run(["orphans", "mlcc-demo", *arguments])
        return code, capsys.readouterr().out

    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    monkeypatch.chdir(PROJECT)
    return run


def test_the_command_says_that_nothing_is_left_over_and_where_it_looked(orphans: Command) -> None:
    code, output = orphans()
    assert code == 0
    assert output.splitlines() == [
        f"mlcc-demo has left nothing over in account {ACCOUNT}, {REGION}.",
        f"mlcc-demo keeps nothing in account {ACCOUNT}, {REGION}.",
    ]


def test_the_command_lists_what_is_kept_apart_from_what_is_left_over(orphans: Command) -> None:
    role("mlcc-demo-eks-node-role", ours("x/y"))
    role("mlcc-demo-eks-inference-role", ours("x/y"))
    code, output = orphans()
    assert code == 1
    assert "mlcc-demo has left 1 over" in output
    assert "  role mlcc-demo-eks-inference-role\n" in output
    assert "aws iam delete-role --role-name mlcc-demo-eks-inference-role" in output
    assert "keeps these 1 on purpose" in output
    assert output.splitlines()[-1] == "To get rid of them too: mlcc-infra destroy mlcc-demo --force-delete"
    code, output = orphans("--json", recorded=("mlcc-demo-eks-inference-role",))
    assert code == 0
    assert json.loads(output) == {
        "left_over": [],
        "kept": [{"kind": "role", "name": "mlcc-demo-eks-node-role"}],
        "unreadable": [],
    }


def test_a_role_in_use_is_neither_kept_nor_left_over(orphans: Command) -> None:
    role("mlcc-demo-eks-node-role", ours("x/y"))
    code, output = orphans("--json", recorded=("mlcc-demo-eks-node-role",))
    assert code == 0
    assert json.loads(output) == {"left_over": [], "kept": [], "unreadable": []}


def test_the_command_never_takes_silence_for_nothing(cloud: Cloud, orphans: Command) -> None:
    fault = {"service": "elbv2", "effect": "error", "code": "AccessDenied", "message": "no", "status": 403}
    cloud.faults.add([fault])
    code, output = orphans()
    assert code == 1
    assert "Elastic Load Balancing could not be read" in output
    assert "nothing over" not in output
