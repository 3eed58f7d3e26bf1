"""Field reports, groups B, D and I: rows that need the engine, judged by one life.

Stack mlcc-demo on an account that holds its roles already, in the wrong shape (tests/engine/scripts/
adoption_life.py): made, its add-ons' versions changed, one of them failed and mended, destroyed.
"""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

from moto.iam.aws_managed_policies import aws_managed_policies_data

from mlcc_infra.account.caller_needs import TYPES, Place, admin_needs, template_needs
from mlcc_infra.cli.exit_codes import ExitCode
from mlcc_infra.targets.operator_plan import ADDONS_WITH_ROLE
from tests.engine.hyperpod_lives import Life

INSTANCE_ROLE = "mlcc-demo-hyperpod-instance-role"
EXECUTION_ROLE = "SageMakerHyperPodInference-demo"
ALB_ROLE = "mlcc-demo-eks-alb-controller-role"
SERVICE_ROLES = (
    "mlcc-demo-eks-cluster-role",
    "mlcc-demo-eks-node-role",
    "mlcc-demo-fargate-pod-exec-role",
    INSTANCE_ROLE,
)
FOREIGN = "arn:aws:iam::aws:policy/AmazonS3ReadOnlyAccess"
ROLE = "aws:iam/role:Role"
ADDON = "aws:eks/addon:Addon"
# How S3 names its permissions where that is not the operation (service authorization reference, S3).
S3_ACTIONS = {
    "PutBucketEncryption": "PutEncryptionConfiguration",
    "PutPublicAccessBlock": "PutBucketPublicAccessBlock",
}


def named(life: Life, act: str, kind: str) -> dict[str, dict[str, Any]]:
    """Resources of a kind in the state, by logical name."""
    return {found["urn"].rsplit("::", 1)[-1]: found for found in life.resources(act, kind)}


def before(life: Life, act: str, name: str) -> set[str]:
    """Logical names of everything that a resource depends on, directly or not."""
    by_urn = {found["urn"]: found for found in life.resources(act)}
    (start,) = [urn for urn in by_urn if urn.rsplit("::", 1)[-1] == name]
    seen: set[str] = set()
    waiting = [start]
    while waiting:
        found = by_urn.get(waiting.pop(), {})
        listed = [*found.get("dependencies", ()), *([found["parent"]] if found.get("parent") else [])]
        new = set(found.get("dependencies", ())) - seen if listed else set()
        seen |= new
        waiting += new
    return {urn.rsplit("::", 1)[-1] for urn in seen}


def actions(documents: list[dict[str, Any]]) -> set[str]:
    """Every action that documents allow."""
    listed = [statement["Action"] for document in documents for statement in document["Statement"]]
    return {action for each in listed for action in ([each] if isinstance(each, str) else each)}


def test_b2_each_policy_is_attached_once_to_a_role(adoption_life: Life) -> None:
    attached = Counter(
        (found["inputs"]["role"], found["inputs"]["policyArn"])
        for found in adoption_life.resources("up", "aws:iam/rolePolicyAttachment")
    )
    cni = "arn:aws:iam::aws:policy/AmazonEKS_CNI_Policy"
    assert attached["mlcc-demo-eks-node-role", cni] == 1
    assert set(attached.values()) == {1}


def test_b3_no_role_owns_the_full_list_of_its_policies(adoption_life: Life) -> None:
    roles = adoption_life.resources("up", ROLE)
    assert len(roles) >= 11
    for found in roles:
        assert not {"managedPolicyArns", "inlinePolicies"} & set(found["inputs"]), found["urn"]
    assert not [found for found in adoption_life.resources("up") if "Exclusive" in found["type"]]


def test_b4_no_attachment_owns_a_policys_full_list_of_roles(adoption_life: Life) -> None:
    exclusive = ("policyAttachment:PolicyAttachment", "groupPolicy", "userPolicyAttachment")
    found = [each["type"] for each in adoption_life.resources("up")]
    assert not [token for token in found if token.removeprefix("aws:iam/").startswith(exclusive)]


def test_b6_a_foreign_policy_on_an_adopted_role_is_left_alone_and_said(adoption_life: Life) -> None:
    assert "AmazonS3ReadOnlyAccess" in adoption_life.acts["roles"]["mlcc-demo-eks-node-role"]["attached"]
    (said,) = [line for line in adoption_life.warnings("up") if "foreign policies" in line]
    assert f"mlcc-demo-eks-node-role also carries {FOREIGN}" in said


def test_b6_a_foreign_policy_does_not_keep_a_role_that_goes(adoption_life: Life) -> None:
    assert adoption_life.acts["destroy"]["code"] == 0
    assert adoption_life.acts["left by destroy"] == []


def test_b6_a_forced_destroy_says_what_it_takes_off_and_deletes_the_kept_roles(adoption_life: Life) -> None:
    forced = adoption_life.acts["forced"]
    assert forced["code"] == 0
    (said,) = [line for line in forced["output"].splitlines() if "somebody else" in line]
    assert FOREIGN in said
    assert "taken off first" in said
    # Two were taken over, are none of those that destroy keeps on purpose, and nobody listed them as own.
    assert adoption_life.acts["left when forced"] == [EXECUTION_ROLE, ALB_ROLE]


def test_h6_a_flag_that_came_after_the_last_up_is_refused_with_the_way_to_settle_it(
    adoption_life: Life,
) -> None:
    forced = adoption_life.acts["forced without up"]
    assert forced["code"] == ExitCode.REFUSED
    assert "aws:s3/bucket:Bucket hyperpod-tls-mlcc-demo" in forced["output"]
    assert "destroy would keep it, while mlcc:forceDelete asks for its deletion" in forced["output"]
    assert "run `pulumi up -s mlcc-demo` first" in forced["output"]


def test_i5_retention_in_the_state_that_the_profile_does_not_ask_for_is_refused(adoption_life: Life) -> None:
    owned = adoption_life.acts["owned without up"]
    assert owned["code"] == ExitCode.REFUSED
    refused = [line for line in owned["output"].splitlines() if "destroy would keep it" in line]
    # The service roles stay, whoever owns them.
    assert sorted(line.split()[1] for line in refused) == [f"{EXECUTION_ROLE}:", f"{ALB_ROLE}:"]
    assert "Destroying" not in owned["output"]


def test_b7_adopted_roles_keep_fargate(adoption_life: Life) -> None:
    assert set(SERVICE_ROLES) <= set(adoption_life.imported("up"))
    assert len(adoption_life.resources("up", "aws:eks/fargateProfile")) == 1
    assert len(adoption_life.resources("up", ADDON)) == 9
    assert {"eks-access"} <= set(named(adoption_life, "up", "dynamic/eks:Access"))
    assert len(adoption_life.resources("up", "aws:eks/nodeGroup")) == 1
    assert len(adoption_life.at("up", "CreateFargateProfile")) == 1


def test_b9_the_clusters_come_after_the_grant_on_the_lifecycle_bucket(adoption_life: Life) -> None:
    needed = before(adoption_life, "up", "hyperpod-stack")
    assert "hyperpod-service-roles-hyperpod-instance-role-mlcc-hyperpod-instance" in needed
    assert {"hyperpod-lifecycle-bucket", "hyperpod-lifecycle-script"} <= needed
    documents = adoption_life.acts["roles"][INSTANCE_ROLE]["inline"]
    assert {"s3:ListBucket", "s3:GetObject"} <= actions(documents)


def test_b10_an_adopted_role_trusts_the_live_issuer_and_no_old_one(adoption_life: Life) -> None:
    trust = json.dumps(adoption_life.acts["roles"][EXECUTION_ROLE]["trust"])
    issuer = adoption_life.acts["issuers"]["mlcc-demo-hp-eks"].removeprefix("https://")
    assert f"oidc-provider/{issuer}" in trust
    assert "00000000000000000000000000000000" not in trust
    assert "sagemaker.amazonaws.com" in trust


def test_b12_an_adopted_pod_role_that_trusted_ec2_is_set_right_and_the_change_shown(
    adoption_life: Life,
) -> None:
    trust = json.dumps(adoption_life.acts["roles"][ALB_ROLE]["trust"])
    issuer = adoption_life.acts["issuers"]["mlcc-demo-eks"].removeprefix("https://")
    assert f"{issuer}:aud" in trust
    assert f"{issuer}:sub" in trust
    assert "ec2.amazonaws.com" not in trust
    shown = [line for line in adoption_life.acts["up"]["output"].splitlines() if "assumeRolePolicy" in line]
    assert any("eks-alb-controller-role-role" in line for line in shown)


def test_b13_the_simulated_actions_cover_every_change_that_a_life_makes(adoption_life: Life) -> None:
    place = Place(partition="aws", region="us-west-2", account="123456789012")
    asked = {action for kind in TYPES.values() for action in (*kind.create, *kind.delete)}
    for need in (*template_needs(place, "p", "c"), admin_needs(place, "c")):
        asked |= {*need.create, *need.delete}
    made = {
        f"{call['service']}:{S3_ACTIONS.get(call['operation'], call['operation'])}"
        for call in adoption_life.during("up")
    }
    assert len(made) > 25
    # Setting an adopted role right is no creation; who may not does without, and the provider says so.
    assert made - asked == {"iam:UpdateAssumeRolePolicy", "iam:UpdateRoleDescription"}


def test_b15_an_adopted_instance_role_gets_what_the_cni_needs_in_the_same_up(adoption_life: Life) -> None:
    cni = json.loads(aws_managed_policies_data)["AmazonEKS_CNI_Policy"]["Document"]
    assert actions([cni]) <= actions(adoption_life.acts["roles"][INSTANCE_ROLE]["inline"])
    created = [line for line in adoption_life.acts["up"]["output"].splitlines() if " created " in line]
    assert any("hyperpod-instance-role-mlcc-hyperpod-instance" in line for line in created)


def test_d1_every_addon_overwrites_on_create_and_on_update(adoption_life: Life) -> None:
    addons = adoption_life.resources("up", ADDON)
    assert len(addons) == 9
    for found in addons:
        for flag in ("resolveConflictsOnCreate", "resolveConflictsOnUpdate"):
            assert found["inputs"][flag] == "OVERWRITE", found["urn"]


def test_d2_a_change_of_version_alone_overwrites_too(adoption_life: Life) -> None:
    updates = adoption_life.acts["addon updates"]
    assert set(updates) == {
        *("coredns", "vpc-cni", "kube-proxy"),
        *("metrics-server", "aws-mountpoint-s3-csi-driver"),
    }
    for (sent,) in updates.values():
        assert sent["ResolveConflicts"] == "OVERWRITE"
        assert "AddonVersion" in sent
        assert "ConfigurationValues" not in sent


def test_d3_addons_with_pods_come_after_nodes_and_fargate(adoption_life: Life) -> None:
    for addon in ("eks-addon-coredns", "eks-addon-eks-pod-identity-agent"):
        assert {"eks-nodes-default", "eks-fargate"} <= before(adoption_life, "up", addon)
    for name in named(adoption_life, "up", ADDON):
        if name.startswith("operator-"):
            assert "instance-groups" in " ".join(before(adoption_life, "up", name)), name


def test_d4_a_failed_addon_is_deleted_and_made_anew_once(adoption_life: Life) -> None:
    act = "after a failed add-on"
    assert len(adoption_life.at(act, "DeleteAddon", "coredns")) == 1
    assert len(adoption_life.at(act, "CreateAddon", "coredns")) == 1
    mended = adoption_life.acts["mended"]
    assert mended["status"] == "ACTIVE"
    assert mended["addonArn"] != adoption_life.acts["failed"]
    assert any("CREATE_FAILED" in line for line in adoption_life.warnings(act))
    assert adoption_life.acts["nothing to do"]["code"] == 0


def test_d10_a_change_of_version_alone_sends_the_role_again(adoption_life: Life) -> None:
    (sent,) = adoption_life.acts["addon updates"]["aws-mountpoint-s3-csi-driver"]
    arn = "arn:aws:iam::123456789012:role/mlcc-demo-s3-csi-role"
    assert sent["ServiceAccountRoleArn"] == arn
    assert adoption_life.acts["s3 driver"]["serviceAccountRoleArn"] == arn
    addons = named(adoption_life, "up", ADDON).items()
    with_role = {name for name, found in addons if found["inputs"].get("serviceAccountRoleArn")}
    assert with_role == {name for _, name in ADDONS_WITH_ROLE}


def test_d7_d12_no_addon_is_associated_inline(adoption_life: Life) -> None:
    for found in adoption_life.resources("up", ADDON):
        assert not found["inputs"].get("podIdentityAssociations"), found["urn"]


def test_i16_parameters_of_an_earlier_run_are_taken_over_and_get_their_values(adoption_life: Life) -> None:
    taken = {"/mlcc/demo/eks/VpcId", "/mlcc/demo/hyperpod/EksClusterName"}
    assert taken <= set(adoption_life.imported("up"))
    values = adoption_life.acts["up"]["published"]
    assert values["/mlcc/demo/hyperpod/EksClusterName"] == "mlcc-demo-hp-eks"
    assert values["/mlcc/demo/eks/VpcId"].startswith("vpc-")
