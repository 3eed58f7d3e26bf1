"""The laws of the rehearsal cloud, seen from the product: bent in one place, `up` fails in AWS's words.

Each case changes the product's sources in a private copy, runs the plain command, and looks for what AWS
says. Laws that no single change of the product can break are shown at the API in tests/unit/rehearsal_cloud.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.engine.rehearsed import copy_project, rehearse

SPEED = 600


@dataclass(frozen=True, kw_only=True)
class Bend:
    """A law, the changes (file, old text, new text) that make the product break it, and AWS's words."""

    law: str
    changes: tuple[tuple[str, str, str], ...]
    words: tuple[str, ...]


SERVICE_ROLES = "mlcc_infra/policies/service_roles.py"
EKS_BASE = "mlcc_infra/components/eks_base.py"
CLUSTER_ACCESS = "mlcc_infra/account/cluster_access.py"
NETWORK = "mlcc_infra/components/network.py"
VERSIONS = "mlcc_infra/versions.py"
CHECKS = "mlcc_infra/targets/vanilla_eks_plan.py"
STACK = "stacks/Pulumi.mlcc-demo.yaml"
# Every law here strikes the first target; the second would only take time.
VANILLA_ALONE = (STACK, "    - hyperpod-eks\n", "")
NO_CHECKS = (
    CHECKS,
    "wanted=tuple(wanted),\n        checks=(",
    "wanted=tuple(wanted),\n        checks=() and (",
)

BENDS = (
    Bend(
        law="eks-cluster-role-trust",
        changes=(
            (SERVICE_ROLES, '_service_trust("eks.amazonaws.com")', '_service_trust("ec2.amazonaws.com")'),
        ),
        words=("InvalidParameterException", "could not be assumed"),
    ),
    Bend(
        law="eks-cluster-role-grants",
        changes=((SERVICE_ROLES, '("AmazonEKSClusterPolicy",)', '("AmazonSSMManagedInstanceCore",)'),),
        words=("InvalidParameterException", "doesn't have the Amazon EKS Managed Policies"),
    ),
    Bend(
        law="eks-node-role-grants",
        changes=((SERVICE_ROLES, '            "AmazonEKSWorkerNodePolicy",\n', ""),),
        words=("CREATE_FAILED", "NodeCreationFailure"),
    ),
    Bend(
        law="eks-nodes-way-out",
        changes=((NETWORK, "            if nat_zone is not None:", "            if nat_zone is None:"),),
        words=("CREATE_FAILED", "NodeCreationFailure"),
    ),
    Bend(
        law="eks-addon-replicas",
        changes=(
            (EKS_BASE, "addons=self._addons(compute or [cluster]),", "addons=self._addons([cluster]),"),
            (
                EKS_BASE,
                "        node_groups = self._node_groups(cluster, network)",
                "        node_groups: dict[str, eks.NodeGroup] = {}",
            ),
        ),
        words=("waiting for EKS Add-On", "DEGRADED"),
    ),
    Bend(
        law="eks-addon-supported",
        changes=(
            (VERSIONS, 'version="v1.14.3-eksbuild.3"', 'version="v1.2.3-eksbuild.4"'),
            NO_CHECKS,
        ),
        words=("InvalidParameterException", "not supported"),
    ),
    Bend(
        law="eks-addon-conflict",
        changes=((EKS_BASE, '                resolve_conflicts_on_create="OVERWRITE",\n', ""),),
        words=("ConfigurationConflict", "Conflicts found when trying to apply"),
    ),
    Bend(
        law="eks-access-entry-exists",
        changes=(
            (
                EKS_BASE,
                "    def _access(self, cluster: pulumi_eks.Cluster) -> Access:\n",
                (
                    "    def _access(self, cluster: pulumi_eks.Cluster) -> Access:\n"
                    "        import boto3\n"
                    '        caller = boto3.client("sts").get_caller_identity()["Arn"]\n'
                    "        eks.AccessEntry(\n"
                    '            "declared", cluster_name=self.cluster_name, principal_arn=caller,\n'
                    "            opts=pulumi.ResourceOptions(parent=self),\n"
                    "        )\n"
                ),
            ),
        ),
        words=("ResourceInUseException", "already in use"),
    ),
    Bend(
        law="eks-authentication-mode",
        changes=(
            (EKS_BASE, "AuthenticationMode.API,", "AuthenticationMode.CONFIG_MAP,"),
            # Access looks at the mode first, and refuses in its own words.
            (CLUSTER_ACCESS, 'if mode == "CONFIG_MAP":', 'if mode == "":'),
            (
                STACK,
                "  mlcc:targets:\n",
                '  mlcc:admins: ["arn:aws:iam::123456789012:user/rehearsal-operator"]\n  mlcc:targets:\n',
            ),
        ),
        words=("InvalidRequestException", "authentication mode"),
    ),
    Bend(
        law="eks-fargate-role-trust",
        changes=(
            (
                SERVICE_ROLES,
                'service_statement("eks-fargate-pods.amazonaws.com", condition=condition)',
                'service_statement("ec2.amazonaws.com", condition=condition)',
            ),
            (STACK, "  mlcc:eks:\n", "  mlcc:eks:\n    fargateNamespaces: [kube-system]\n"),
        ),
        words=("InvalidParameterException", "Misconfigured PodExecutionRole Trust Policy"),
    ),
    Bend(
        law="ssm-parameter-value",
        changes=(
            (
                "mlcc_infra/targets/vanilla_eks.py",
                '        "VpcId": base.vpc_id,\n',
                '        "VpcId": base.vpc_id.apply(lambda _: ""),\n',
            ),
        ),
        words=("ValidationException", "must have length greater than or equal to 1"),
    ),
)


@pytest.mark.parametrize("bend", BENDS, ids=lambda bend: bend.law)
def test_a_bent_product_fails_in_the_words_of_aws(bend: Bend, tmp_path: Path) -> None:
    project = copy_project(tmp_path, only="mlcc-demo")
    for name, old, new in (VANILLA_ALONE, *bend.changes):
        path = project / name
        text = path.read_text()
        assert text.count(old) == 1, f"{name} has changed: {old!r} is there {text.count(old)} times"
        path.write_text(text.replace(old, new))
    run = rehearse(
        ["pulumi", "up", "-s", "mlcc-demo", "--yes", "--skip-preview", "--color", "never"],
        folder=tmp_path,
        project=project,
        speed=SPEED,
        environment={"PYTHONPATH": os.fspath(project)},
    )
    assert run.code != 0, run.output[-3000:]
    for word in bend.words:
        assert word.lower() in run.output.lower(), run.output[-3000:]
