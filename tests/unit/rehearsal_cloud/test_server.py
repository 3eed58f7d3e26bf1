"""The cloud itself: start and stop, callers, journal, control address, faults, time."""

from __future__ import annotations

import json
import threading
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError

from mlcc_rehearsal.cloud import Cloud, CloudOptions
from mlcc_rehearsal.cloud.clock import ModelledClock
from mlcc_rehearsal.cloud.errors import AwsError, render
from mlcc_rehearsal.cloud.faults import Faults, parse
from mlcc_rehearsal.cloud.requests import NamedRequest
from tests.unit.rehearsal_cloud.conftest import Desk

ACCOUNT = "222233334444"


def control(cloud: Cloud, path: str, body: Any = None) -> Any:
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(f"{cloud.endpoint}/_rehearsal/{path}", data=data)
    with urllib.request.urlopen(request, timeout=10) as answer:
        return json.load(answer)


def test_the_operator_is_a_user_that_exists(desk: Desk) -> None:
    identity = desk.client("sts").get_caller_identity()
    assert identity["Arn"] == f"arn:aws:iam::{desk.cloud.options.account_id}:user/rehearsal-operator"
    assert desk.iam.get_user()["User"]["UserName"] == "rehearsal-operator"
    second = desk.cloud.add_identity("colleague")
    assert desk.client("sts", second).get_caller_identity()["Arn"].endswith(":user/colleague")


@pytest.mark.parametrize(
    ("service", "operation", "code"),
    [
        ("sts", "get_caller_identity", "InvalidClientTokenId"),
        ("ec2", "describe_vpcs", "AuthFailure"),
        ("s3", "list_buckets", "InvalidAccessKeyId"),
        ("eks", "list_clusters", "UnrecognizedClientException"),
        ("ssm", "describe_parameters", "UnrecognizedClientException"),
    ],
)
def test_unknown_credentials_are_refused_in_the_words_of_the_service(
    desk: Desk, refused: Any, service: str, operation: str, code: str
) -> None:
    client = desk.client(service, ("AKIAIOSFODNN7EXAMPLE", "secret"))
    with refused(code, "unknown-credentials"):
        getattr(client, operation)()


def test_two_clouds_share_nothing_and_one_account_has_one_cloud() -> None:
    with Cloud.start(CloudOptions(account_id=ACCOUNT, kubernetes=False)) as first:
        desk = Desk(first)
        desk.client("ssm").put_parameter(Name="/a", Value="1", Type="String")
        place = {"LocationConstraint": desk.region}
        desk.client("s3").create_bucket(Bucket="the-same-name", CreateBucketConfiguration=place)
        with pytest.raises(RuntimeError, match=ACCOUNT):
            Cloud.start(CloudOptions(account_id=ACCOUNT))
        with Cloud.start(CloudOptions(account_id="555566667777", kubernetes=False)) as second:
            assert Desk(second).client("ssm").describe_parameters()["Parameters"] == []
        assert len(desk.client("ssm").describe_parameters()["Parameters"]) == 1
    with Cloud.start(CloudOptions(account_id=ACCOUNT, kubernetes=False)) as again:
        assert Desk(again).client("ssm").describe_parameters()["Parameters"] == []
        Desk(again).client("s3").create_bucket(Bucket="the-same-name", CreateBucketConfiguration=place)
        again.stop()


@pytest.mark.parametrize("wrong", [{"account_id": "123"}, {"speed": 0}, {"speed": -1}])
def test_options_are_checked(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="must be"):
        CloudOptions(**wrong)


def test_the_api_log_has_one_line_for_each_call(tmp_path: Path) -> None:
    log = tmp_path / "api.jsonl"
    with Cloud.start(CloudOptions(account_id=ACCOUNT, api_log=log, kubernetes=False)) as cloud:
        desk = Desk(cloud)
        vpc = desk.ec2.create_vpc(CidrBlock="10.0.0.0/16")["Vpc"]["VpcId"]
        with pytest.raises(ClientError):
            desk.ec2.create_vpc(CidrBlock="10.0.0.0/16", DryRun=True)
        desk.eks.list_clusters()
        with pytest.raises(ClientError):
            desk.eks.describe_nodegroup(clusterName="demo", nodegroupName="cpu")
        desk.iam.list_roles()
        desk.client("s3").create_bucket(
            Bucket="logged", CreateBucketConfiguration={"LocationConstraint": "us-west-2"}
        )
        desk.client("s3").put_object(Bucket="logged", Key="a/b", Body=b"x")
        desk.client("ssm").put_parameter(Name="/a", Value="1", Type="String")
        desk.client("logs").create_log_group(logGroupName="/aws/eks/demo/cluster")
        desk.client("resourcegroupstaggingapi").get_resources()
        in_memory = len(cloud.journal.calls())
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert len(lines) == in_memory
    schema = [
        "service",
        "operation",
        "mutating",
        "status",
        "error",
        "resource",
        "region",
        "principal",
        "time",
    ]
    assert all(list(line) == schema for line in lines)
    told = [(x["service"], x["operation"], x["mutating"], x["error"], x["resource"]) for x in lines]
    assert told == [
        ("ec2", "CreateVpc", True, None, vpc),
        ("ec2", "CreateVpc", False, "DryRunOperation", None),
        ("eks", "ListClusters", False, None, None),
        ("eks", "DescribeNodegroup", False, "ResourceNotFoundException", "demo/cpu"),
        ("iam", "ListRoles", False, None, None),
        ("s3", "CreateBucket", True, None, "logged"),
        ("s3", "PutObject", True, None, "logged/a/b"),
        ("ssm", "PutParameter", True, None, "/a"),
        ("logs", "CreateLogGroup", True, None, "/aws/eks/demo/cluster"),
        ("resourcegroupstaggingapi", "GetResources", False, None, None),
    ]
    assert lines[0]["principal"] == f"arn:aws:iam::{ACCOUNT}:user/rehearsal-operator"


def test_the_control_address_tells_time_state_and_calls(desk: Desk) -> None:
    desk.cluster(desk.network(nat=False))
    before = control(desk.cloud, "time")["now"]
    assert control(desk.cloud, "advance", {"seconds": 100})["now"] >= before + 100
    state = control(desk.cloud, "state")
    assert state["regions"]["us-west-2"]["clusters"]["demo"]["status"] == "ACTIVE"
    assert "demo-cluster-role" in state["iam"]["roles"]
    assert [call["operation"] for call in control(desk.cloud, "calls")][-1] == "DescribeCluster"
    assert {law["name"] for law in control(desk.cloud, "laws")} >= {"eks-cluster-exists"}
    for path, body in (("nowhere", None), ("advance", {"seconds": -1}), ("faults", [{"effect": "error"}])):
        with pytest.raises(urllib.error.HTTPError) as caught:
            control(desk.cloud, path, body)
        assert "error" in json.load(caught.value)


def test_an_operation_that_nobody_implements_says_so(desk: Desk) -> None:
    with pytest.raises(ClientError) as caught:
        desk.eks.list_insights(clusterName="demo")
    assert caught.value.response["Error"]["Code"] == "RehearsalNotImplemented"
    assert "eks:ListInsights" in caught.value.response["Error"]["Message"]


def test_faults_strike_the_calls_that_they_mean(tmp_path: Path) -> None:
    path = tmp_path / "faults.yaml"
    path.write_text(
        """
        - {service: eks, operation: Create*, calls: [2], code: ServiceUnavailableException, status: 503}
        - {service: ec2, operation: DescribeVpcs, effect: throttle, share: 0.5}
        - {service: s3, match: {Bucket: broken}, code: AccessDenied, message: closed, status: 403}
        - {service: iam, operation: GetUser, effect: delay, seconds: 120}
        - {service: ssm, operation: "*", code: InternalServerError, after: 100, until: 200}
        """
    )
    options = CloudOptions(account_id=ACCOUNT, faults=path, speed=1000, kubernetes=False)
    with Cloud.start(options) as cloud:
        desk = Desk(cloud)
        codes = []
        for _ in range(3):
            with pytest.raises(ClientError) as caught:
                desk.eks.create_cluster(name="demo", roleArn="arn:x", resourcesVpcConfig={"subnetIds": []})
            codes.append(
                (
                    caught.value.response["Error"]["Code"],
                    caught.value.response["ResponseMetadata"]["HTTPStatusCode"],
                )
            )
        assert codes[1] == ("ServiceUnavailableException", 503)
        assert codes[0][0] == codes[2][0] == "InvalidParameterException"
        throttled = []
        for _ in range(4):
            try:
                desk.ec2.describe_vpcs()
                throttled.append(None)
            except ClientError as error:
                throttled.append(error.response["Error"]["Code"])
        assert throttled == [None, "RequestLimitExceeded", None, "RequestLimitExceeded"]
        with pytest.raises(ClientError, match="AccessDenied"):
            desk.client("s3").list_objects_v2(Bucket="broken")
        began = time.monotonic()
        desk.iam.get_user()
        assert time.monotonic() - began >= 0.12
        assert control(cloud, "faults")[0]["seen"] == 3
        control(cloud, "faults", {"clear": True})
        assert control(cloud, "faults") == []
        control(cloud, "faults", [{"service": "sts", "code": "ExpiredToken", "status": 403}])
        with pytest.raises(ClientError, match="ExpiredToken"):
            desk.client("sts").get_caller_identity()


def test_a_wrong_fault_file_names_what_is_wrong(tmp_path: Path) -> None:
    path = tmp_path / "faults.json"
    path.write_text('[{"service": "eks", "efect": "error"}, {"calls": [1], "share": 0.5, "code": "X"}]')
    with pytest.raises(ValueError, match=r"faults.json.*efect") as caught:
        Faults.read(path)
    assert "give calls or share, not both" in str(caught.value)


def test_faults_strike_only_in_their_time() -> None:
    (fault,) = parse([{"service": "ssm", "code": "X", "after": 100, "until": 200}])
    request = NamedRequest("POST", "/", "ssm", "GetParameter", "us-west-2", None, signed=False)
    assert [fault.applies(request, now) for now in (99, 100, 200, 201)] == [False, True, True, False]


def test_events_run_in_their_order_and_count_from_their_own_moment() -> None:
    clock = ModelledClock(1.0, threading.RLock())
    seen: list[tuple[str, int]] = []

    def first() -> None:
        seen.append(("first", round(clock.now())))
        clock.after(50, lambda: seen.append(("nested", round(clock.now()))))

    clock.after(200, lambda: seen.append(("last", round(clock.now()))))
    clock.after(100, first)
    clock.after(120, lambda: seen.append(("cancelled", 0))).cancel()
    clock.advance(500)
    assert seen == [("first", 100), ("nested", 150), ("last", 200)]
    with pytest.raises(ValueError, match="back"):
        clock.advance(-1)


def test_time_passes_by_itself_at_the_speed_asked_for() -> None:
    clock = ModelledClock(1000.0, threading.RLock())
    clock.start()
    rang = threading.Event()
    clock.after(50, rang.set)
    assert rang.wait(5)
    assert clock.now() >= 50
    assert clock.timestamp().utcoffset() is not None
    clock.stop()


def test_an_event_that_fails_does_not_stop_time(caplog: pytest.LogCaptureFixture) -> None:
    clock = ModelledClock(1.0, threading.RLock())
    seen: list[str] = []

    def fail() -> None:
        raise RuntimeError("on purpose")

    clock.after(1, fail)
    clock.after(2, lambda: seen.append("after"))
    clock.advance(5)
    assert seen == ["after"]
    assert "an event of the rehearsal cloud failed" in caplog.text


def test_a_cluster_has_a_kubernetes_api_with_its_nodes_and_lets_its_creator_in() -> None:
    with Cloud.start(CloudOptions(account_id=ACCOUNT, speed=1)) as cloud:
        desk = Desk(cloud)
        network = desk.cluster()
        desk.node_group(network, labels={"pool": "cpu"}, instanceTypes=["m5.large"])
        from moto.eks.models import eks_backends

        backend: Any = eks_backends[ACCOUNT]["us-west-2"]
        kubernetes = backend.cluster("demo").kubernetes
        nodes = kubernetes._api.objects.list("v1", "Node", label_selector="pool=cpu")
        assert len(nodes) == 2
        for node in nodes:
            assert node["metadata"]["labels"]["kubernetes.io/arch"] == "amd64"
            assert node["metadata"]["labels"]["topology.kubernetes.io/zone"].startswith("us-west-2")
            assert node["status"]["allocatable"]["pods"] == "29"
        names = {each["metadata"]["name"] for each in kubernetes._api.objects.list("apps/v1", "DaemonSet")}
        assert {"aws-node", "kube-proxy"} <= names
        cluster = desk.eks.describe_cluster(name="demo")["cluster"]
        assert cluster["endpoint"].startswith("https://127.0.0.1:")
        desk.eks.delete_nodegroup(clusterName="demo", nodegroupName="cpu")
        desk.pass_time(241)
        assert kubernetes._api.objects.list("v1", "Node") == []


def test_a_presigned_identity_call_is_answered(desk: Desk) -> None:
    sts = boto3.client(
        "sts",
        endpoint_url=desk.cloud.endpoint,
        region_name=desk.region,
        aws_access_key_id=desk.cloud.access_key_id,
        aws_secret_access_key=desk.cloud.secret_access_key,
        config=Config(signature_version="v4"),
    )
    url = sts.generate_presigned_url("get_caller_identity", HttpMethod="GET")
    with urllib.request.urlopen(url, timeout=10) as answer:
        assert b"user/rehearsal-operator" in answer.read()


def test_a_refusal_by_a_service_that_botocore_does_not_know_is_json_with_its_own_status() -> None:
    error = AwsError("AccessDeniedException", 'no "quotes" \\ are lost', status=403)
    status, headers, body = render("no-such-service", error)
    assert (status, headers["Content-Type"]) == (403, "application/json")
    assert json.loads(body) == {"__type": "AccessDeniedException", "message": 'no "quotes" \\ are lost'}
    assert render("no-such-service", AwsError("Throttling", "slow down"))[0] == 400
