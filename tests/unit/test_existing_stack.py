"""What is read off a stack that the console or `hyp` made, and which stacks are none to take over."""

from __future__ import annotations

from typing import Any

import pytest

from mlcc_infra.account.preflight import Verdict
from mlcc_infra.account.reader import Reader
from mlcc_infra.account.session import AccountSession
from mlcc_infra.errors import UserError
from mlcc_infra.targets import existing_stack
from mlcc_infra.targets.existing_stack import ExistingStack, check_existing_stack, read_existing_stack
from mlcc_infra.template import load_contract

OUTPUTS = {
    "OutputEKSClusterArn": "arn:aws:eks:us-west-2:123456789012:cluster/p-eks",
    "OutputEKSClusterName": "p-eks",
    "OutputHyperPodClusterArn": "arn:aws:sagemaker:us-west-2:123456789012:cluster/abcdefghijkl",
    "OutputHyperPodClusterName": "hp-cluster",
}
GROUPS = [
    {
        "InstanceGroupName": "gpu",
        "InstanceType": "ml.g5.8xlarge",
        "TargetCount": 1,
        "ExecutionRole": "role/x",
    },
    {
        "InstanceGroupName": "cpu",
        "InstanceType": "ml.c5.4xlarge",
        "TargetCount": 2,
        "KubernetesConfig": {"CurrentLabels": {"a": "b"}},
    },
]


def parameters(**changed: str) -> dict[str, str]:
    defaults = {name: parameter.default for name, parameter in load_contract().parameters.items()}
    console = {"ResourceNamePrefix": "p", "EnableHPInferenceFeature": "false", "CreateFsxStack": "false"}
    return {**defaults, "AvailabilityZoneIds": "usw2-az1,usw2-az2", **console, **changed}


class Account:
    """What the look-ups answer; each may be taken away."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.stack: dict[str, Any] | None = self.of(parameters())
        self.eks: dict[str, Any] | None = {"version": "1.34"}
        self.hyperpod: dict[str, Any] | None = {"InstanceGroups": GROUPS}
        monkeypatch.setattr(existing_stack, "describe_stack", lambda *_: self.stack)
        monkeypatch.setattr(existing_stack, "describe_cluster", lambda *_: self.eks)
        monkeypatch.setattr(existing_stack, "describe_hyperpod", lambda *_: self.hyperpod)
        monkeypatch.setattr(existing_stack, "_digest", lambda *_: "0" * 64)

    @staticmethod
    def of(live: dict[str, str], status: str = "CREATE_COMPLETE", **outputs: str) -> dict[str, Any]:
        return {
            "StackStatus": status,
            "Parameters": [{"ParameterKey": key, "ParameterValue": value} for key, value in live.items()],
            "Outputs": [
                {"OutputKey": key, "OutputValue": value} for key, value in {**OUTPUTS, **outputs}.items()
            ],
        }

    def read(self) -> ExistingStack:
        return read_existing_stack(Reader(AccountSession(region="us-west-2"), profile="demo"), "made")


@pytest.fixture
def account(monkeypatch: pytest.MonkeyPatch) -> Account:
    return Account(monkeypatch)


def test_rule_07_parameters_names_and_groups_are_those_that_live(account: Account) -> None:
    found = account.read()
    assert found.parameters == parameters()
    assert (found.prefix, found.eks_cluster, found.hyperpod_cluster) == ("p", "p-eks", "hp-cluster")
    assert (found.kubernetes, found.zone_count, found.instance_role_arn) == ("1.34", 2, "role/x")
    assert [(group.name, group.instance_count, group.floor) for group in found.groups] == [
        ("gpu", 1, False),
        ("cpu", 2, True),
    ]
    assert dict(found.groups[1].labels) == {"a": "b"}


def test_rule_07_buckets_are_emptied_only_when_the_stack_made_them(account: Account) -> None:
    assert account.read().buckets == ("p-bucket", "p-logs")
    account.stack = account.of(parameters(CreateS3BucketStack="false", CreateVPCStack="false"))
    assert account.read().buckets == ()
    assert account.read().zone_count is None


@pytest.mark.parametrize("status", ["ROLLBACK_COMPLETE", "UPDATE_IN_PROGRESS"])
def test_a_stack_that_is_dead_or_busy_is_refused(account: Account, status: str) -> None:
    account.stack = account.of(parameters(), status)
    with pytest.raises(UserError, match=status):
        account.read()


def test_a_stack_that_is_gone_or_none_of_the_template_is_refused(account: Account) -> None:
    account.stack = None
    with pytest.raises(UserError, match="no such stack"):
        account.read()
    account.stack = account.of(parameters(), OutputHyperPodClusterName="")
    with pytest.raises(UserError, match="OutputHyperPodClusterName"):
        account.read()
    account.stack = account.of({})
    with pytest.raises(UserError, match="the parameter ResourceNamePrefix"):
        account.read()


def test_a_cluster_that_is_gone_is_named(account: Account) -> None:
    account.eks = None
    with pytest.raises(UserError, match="made the cluster p-eks, and it is gone"):
        account.read()
    account.eks, account.hyperpod = {"version": "1.34"}, None
    with pytest.raises(UserError, match="made the cluster hp-cluster, and it is gone"):
        account.read()


def test_rule_10_an_operator_that_the_stack_installs_has_one_owner(account: Account) -> None:
    account.stack = account.of(parameters(EnableHPInferenceFeature="true"))
    (refused,) = check_existing_stack(account.read(), installs_operator=True)
    assert refused.verdict is Verdict.REFUSED
    assert "mlcc:operator.install to `template`" in refused.remedy
    (accepted,) = check_existing_stack(account.read(), installs_operator=False)
    assert accepted.verdict is Verdict.OK
