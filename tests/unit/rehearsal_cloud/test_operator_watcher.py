"""Laws of the inference operator's watcher: when it comes, what keeps it away, where it shows."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from typing import Any

import pytest

from mlcc_rehearsal.cloud import Cloud, CloudOptions
from mlcc_rehearsal.cloud.operator.watcher import summary
from tests.unit.rehearsal_cloud.operator_desk import ADDON, BUCKET, NAMESPACE, ROLE, OperatorDesk

_ACCOUNTS = itertools.count(200000000001)
_ENABLED = "watcher enabled successfully"


@pytest.fixture
def desk() -> Iterator[OperatorDesk]:
    """A cloud with a cluster that has a Kubernetes API, nodes, roles, bucket and prerequisites."""
    with Cloud.start(CloudOptions(account_id=str(next(_ACCOUNTS)), speed=1.0)) as cloud:
        made = OperatorDesk(cloud)
        made.prepare()
        yield made


def failure(desk: OperatorDesk) -> str:
    """The first line that says why the watcher cannot be enabled."""
    desk.until(lambda: desk.pods() and "failed to enable" in desk.log(), 900)
    lines = [line for line in desk.log().splitlines() if "failed to enable" in line]
    arn = desk.values()["hyperpodClusterArn"]
    assert f"failed to enable inference watcher for HyperPod cluster {arn}: " in lines[0]
    return lines[0]


def test_the_watcher_comes_after_minutes_and_only_the_log_says_so(desk: OperatorDesk) -> None:
    """The law watcher-time."""
    desk.install()
    active = desk.until(lambda: desk.status() == "ACTIVE")
    assert active >= 180, "the controller counts as started three minutes after its start (startupProbe)"
    assert _ENABLED not in desk.log(), "an ACTIVE add-on says nothing of the watcher"
    desk.until(lambda: _ENABLED in desk.log())
    assert "Desired watcher status reached" in desk.log()
    now = desk.cloud.clock.now()
    desk.pass_time(600)
    assert desk.log().count(_ENABLED) == 1
    assert now > 600
    described = json.dumps(desk.addon(), default=str)
    assert "watcher" not in described.lower()
    assert summary(desk.cloud.account) == {desk.region: {"demo-hyperpod": "Enabled"}}


def test_a_trust_of_another_issuer_is_refused_in_sts_words_until_it_is_mended(desk: OperatorDesk) -> None:
    """The law watcher-trust."""
    right = json.dumps(desk.execution_trust())
    wrong = right.replace(desk.issuer, desk.issuer[:-4] + "DEAD")
    desk.iam.update_assume_role_policy(RoleName=ROLE, PolicyDocument=wrong)
    desk.pass_time(30)
    desk.install()
    assert (
        "operation error SageMaker: UpdateClusterInference, get identity: get credentials: failed to refresh "
        "cached credentials, failed to retrieve credentials, operation error STS: AssumeRoleWithWebIdentity, "
        "https response error StatusCode: 403"
    ) in failure(desk)
    assert "api error AccessDenied: Not authorized to perform sts:AssumeRoleWithWebIdentity" in failure(desk)
    desk.iam.update_assume_role_policy(RoleName=ROLE, PolicyDocument=right)
    desk.until(lambda: _ENABLED in desk.log())


def test_sagemaker_must_be_trusted_as_well(desk: OperatorDesk) -> None:
    document = desk.execution_trust()
    document["Statement"] = document["Statement"][:1]
    desk.iam.update_assume_role_policy(RoleName=ROLE, PolicyDocument=json.dumps(document))
    desk.pass_time(30)
    desk.install()
    assert "api error ValidationException: The execution role ARN" in failure(desk)


def test_rule_09_the_managed_policy_alone_is_not_enough(desk: OperatorDesk) -> None:
    """The law watcher-grants-beside-the-policy."""
    grants = {
        "EndpointConfigs": "sagemaker:DescribeEndpointConfig",
        "Import": "acm:ImportCertificate",
        "Tag": "acm:AddTagsToCertificate",
    }
    without = list(grants)
    desk.grant(ROLE, *without)
    desk.install()
    for sid, action in grants.items():
        refusal = f"is not authorized to perform: {action} on resource: "
        desk.until(lambda refusal=refusal: desk.pods() and refusal in desk.log(), 900)
        without.remove(sid)
        desk.grant(ROLE, *without)
    desk.until(lambda: _ENABLED in desk.log())


def test_rule_09_the_role_is_passed_to_sagemaker(desk: OperatorDesk) -> None:
    deny = {
        "Version": "2012-10-17",
        "Statement": [{"Effect": "Deny", "Action": "iam:PassRole", "Resource": "*"}],
    }
    desk.iam.put_role_policy(RoleName=ROLE, PolicyName="deny", PolicyDocument=json.dumps(deny))
    desk.install()
    line = failure(desk)
    assert "operation error SageMaker: UpdateClusterInference" in line
    assert f"iam:PassRole on resource: arn:aws:iam::{desk.account}:role/{ROLE} with an explicit deny" in line


def test_a_role_without_the_managed_policy_may_not_enable_the_watcher(desk: OperatorDesk) -> None:
    """The law watcher-grants."""
    policy = "arn:aws:iam::aws:policy/AmazonSageMakerHyperPodInferenceAccess"
    desk.iam.detach_role_policy(RoleName=ROLE, PolicyArn=policy)
    desk.install()
    assert "is not authorized to perform: sagemaker:UpdateClusterInference" in failure(desk)


def test_a_bucket_that_is_missing_or_denies_keeps_the_watcher_away(desk: OperatorDesk) -> None:
    s3 = desk.client("s3")
    deny: dict[str, Any] = {
        "Version": "2012-10-17",
        "Statement": [
            {
                "Effect": "Deny",
                "Principal": "*",
                "Action": "s3:*",
                "Resource": [f"arn:aws:s3:::{BUCKET}", f"arn:aws:s3:::{BUCKET}/*"],
            }
        ],
    }
    s3.put_bucket_policy(Bucket=BUCKET, Policy=json.dumps(deny))
    desk.install()
    assert "with an explicit deny in a resource-based policy" in failure(desk)
    deny["Statement"][0]["Condition"] = {"Bool": {"aws:SecureTransport": "false"}}
    s3.put_bucket_policy(Bucket=BUCKET, Policy=json.dumps(deny))
    desk.until(lambda: _ENABLED in desk.log())


def test_a_stale_cluster_arn_is_not_found(desk: OperatorDesk) -> None:
    desk.hyperpod_cluster("fedcba543210")
    desk.install()
    assert "api error ResourceNotFound: Cluster with ARN" in failure(desk)


def test_a_watcher_of_a_deleted_cluster_drains_before_the_next_of_that_name(desk: OperatorDesk) -> None:
    """The law watcher-drains."""
    desk.install()
    desk.until(lambda: desk.pods() and _ENABLED in desk.log())
    fault = {"service": "sagemaker", "operation": "DeleteClusterInference", "effect": "delay", "seconds": 300}
    desk.cloud.faults.add([fault])
    desk.delete_hyperpod_cluster()
    gone = desk.cloud.clock.now()
    desk.pass_time(60)
    arn = desk.hyperpod_cluster("fedcba543210")
    desk.eks.update_addon(
        clusterName="demo",
        addonName=ADDON,
        resolveConflicts="OVERWRITE",
        configurationValues=json.dumps(desk.values(hyperpodClusterArn=arn)),
    )
    refusal = "api error ValidationException: Underlying watcher service is being deleted"
    desk.until(lambda: refusal in desk.log())
    desk.until(lambda: f"{_ENABLED} for HyperPod cluster {arn}" in desk.log())
    assert desk.cloud.clock.now() - gone > 480 + 300 + 420, "it drained, longer for the fault, and then came"


def test_a_new_controller_finds_the_watcher_enabled(desk: OperatorDesk) -> None:
    desk.install()
    desk.until(lambda: desk.pods() and _ENABLED in desk.log())
    desk.eks.delete_addon(clusterName="demo", addonName=ADDON)
    desk.pass_time(60)
    assert desk.pods() == []
    desk.install()
    desk.until(lambda: desk.pods() and "already enabled" in desk.log())


def test_a_watcher_that_never_comes_can_be_switched(desk: OperatorDesk) -> None:
    fault = {"service": "sagemaker", "operation": "DescribeClusterInference", "code": "InternalFailure"}
    desk.cloud.faults.add([fault])
    desk.install()
    desk.until(lambda: desk.status() == "ACTIVE")
    desk.pass_time(3600)
    assert _ENABLED not in desk.log()
    assert "failed to enable" not in desk.log()
    desk.cloud.faults.clear()
    desk.until(lambda: _ENABLED in desk.log(), 120)


def test_faults_strike_the_operators_attempts(desk: OperatorDesk) -> None:
    desk.cloud.faults.add(
        [
            {
                "service": "sagemaker",
                "operation": "UpdateClusterInference",
                "match": {"ClusterName": "demo-hyperpod"},
                "calls": [1, 2],
                "code": "ServiceUnavailable",
                "message": "try again",
            }
        ]
    )
    desk.install()
    assert "api error ServiceUnavailable: try again" in failure(desk)
    desk.until(lambda: _ENABLED in desk.log())
    assert desk.log().count("failed to enable") == 2


def test_the_log_is_read_through_the_kubernetes_api(desk: OperatorDesk) -> None:
    desk.install()
    desk.until(lambda: desk.pods() and _ENABLED in desk.log())
    pod = desk.pods("hyperpod-inference-controller-manager")[0]
    assert pod["metadata"]["labels"]["control-plane"] == "hyperpod-inference-controller-manager"
    assert pod["metadata"]["namespace"] == NAMESPACE
