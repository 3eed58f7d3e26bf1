"""Laws of access to a cluster."""

from __future__ import annotations

import json
from typing import Any

import pytest

from mlcc_rehearsal.cloud.eks import access
from tests.unit.rehearsal_cloud.conftest import Desk, trust

ADMIN = "arn:aws:eks::aws:cluster-access-policy/AmazonEKSClusterAdminPolicy"
BOTH = {"authenticationMode": "API_AND_CONFIG_MAP"}


def operator(desk: Desk) -> str:
    return str(desk.client("sts").get_caller_identity()["Arn"])


def test_the_creator_has_an_entry_and_declaring_it_again_is_a_conflict(desk: Desk, refused: Any) -> None:
    desk.cluster(desk.network(nat=False))
    me = operator(desk)
    assert desk.eks.list_access_entries(clusterName="demo")["accessEntries"] == [me]
    policies = desk.eks.list_associated_access_policies(clusterName="demo", principalArn=me)
    assert [p["policyArn"] for p in policies["associatedAccessPolicies"]] == [ADMIN]
    with refused("ResourceInUseException", "eks-access-entry-exists") as refusal:
        desk.eks.create_access_entry(clusterName="demo", principalArn=me)
    assert refusal.text == "The specified access entry resource is already in use on this cluster."
    assert desk.calls()[-1]["status"] == 409


def test_without_bootstrap_nobody_has_an_entry(desk: Desk) -> None:
    config = {"authenticationMode": "API", "bootstrapClusterCreatorAdminPermissions": False}
    desk.cluster(desk.network(nat=False), accessConfig=config)
    assert desk.eks.list_access_entries(clusterName="demo")["accessEntries"] == [], "eks-creators-entry"


def test_the_entry_of_a_role_session_is_its_roles_path_included(desk: Desk) -> None:
    account = desk.cloud.options.account_id
    document = {
        "Version": "2012-10-17",
        "Statement": [
            {
                "Effect": "Allow",
                "Principal": {"AWS": f"arn:aws:iam::{account}:root"},
                "Action": "sts:AssumeRole",
            }
        ],
    }
    made = desk.iam.create_role(
        RoleName="deployer", Path="/ci/", AssumeRolePolicyDocument=json.dumps(document)
    )
    desk.pass_time(30)
    session = desk.client("sts").assume_role(RoleArn=made["Role"]["Arn"], RoleSessionName="run")[
        "Credentials"
    ]
    import boto3

    eks = boto3.client(
        "eks",
        endpoint_url=desk.cloud.endpoint,
        region_name=desk.region,
        aws_access_key_id=session["AccessKeyId"],
        aws_secret_access_key=session["SecretAccessKey"],
        aws_session_token=session["SessionToken"],
    )
    network = desk.network(nat=False)
    eks.create_cluster(
        name="demo",
        roleArn=desk.cluster_role(),
        resourcesVpcConfig={"subnetIds": network.private},
        accessConfig={"authenticationMode": "API"},
    )
    desk.pass_time(600)
    entries = desk.eks.list_access_entries(clusterName="demo")["accessEntries"]
    assert entries == [f"arn:aws:iam::{account}:role/ci/deployer"]
    assert desk.calls()[-2]["principal"] is not None


def test_entries_are_refused_in_config_map_mode(desk: Desk, refused: Any) -> None:
    desk.cluster(desk.network(nat=False), accessConfig={"authenticationMode": "CONFIG_MAP"})
    words = (
        "The cluster's authentication mode must be set to one of [API, API_AND_CONFIG_MAP] to perform this "
        "operation."
    )
    with refused("InvalidRequestException", "eks-authentication-mode") as refusal:
        desk.eks.create_access_entry(clusterName="demo", principalArn=operator(desk))
    assert refusal.text == words
    with refused("InvalidRequestException", "eks-authentication-mode"):
        desk.eks.list_access_entries(clusterName="demo")


def test_config_map_mode_cannot_do_without_its_creator(desk: Desk, refused: Any) -> None:
    config = {"authenticationMode": "CONFIG_MAP", "bootstrapClusterCreatorAdminPermissions": False}
    network = desk.network(nat=False)
    with refused("InvalidParameterException", "eks-authentication-mode") as refusal:
        desk.eks.create_cluster(
            name="demo",
            roleArn=desk.cluster_role(),
            resourcesVpcConfig={"subnetIds": network.private},
            accessConfig=config,
        )
    assert refusal.text == (
        "bootstrapClusterCreatorAdminPermissions must be true if cluster authentication mode is set to "
        "CONFIG_MAP"
    )


def test_the_authentication_mode_goes_forward_step_by_step(desk: Desk, refused: Any) -> None:
    desk.cluster(desk.network(nat=False), accessConfig={"authenticationMode": "CONFIG_MAP"})
    with refused("InvalidParameterException", "eks-authentication-mode-forward") as refusal:
        desk.eks.update_cluster_config(name="demo", accessConfig={"authenticationMode": "API"})
    assert refusal.text == "Unsupported authentication mode update from CONFIG_MAP to API"
    desk.eks.update_cluster_config(name="demo", accessConfig=BOTH)
    desk.pass_time(120)
    assert desk.eks.list_access_entries(clusterName="demo")["accessEntries"] == [operator(desk)]
    desk.eks.update_cluster_config(name="demo", accessConfig={"authenticationMode": "API"})
    desk.pass_time(120)
    with refused("InvalidParameterException", "eks-authentication-mode-forward") as refusal:
        desk.eks.update_cluster_config(name="demo", accessConfig=BOTH)
    assert refusal.text == "Unsupported authentication mode update from API to API_AND_CONFIG_MAP"


def test_a_policy_needs_an_entry_first(desk: Desk, refused: Any) -> None:
    desk.cluster(desk.network(nat=False))
    role = desk.role("admin", trust("ec2.amazonaws.com"))
    with refused("ResourceNotFoundException", "eks-policy-needs-entry") as refusal:
        desk.eks.associate_access_policy(
            clusterName="demo", principalArn=role, policyArn=ADMIN, accessScope={"type": "cluster"}
        )
    assert refusal.text.startswith("The specified principalArn could not be found.")
    desk.eks.create_access_entry(clusterName="demo", principalArn=role, kubernetesGroups=["viewers"])
    desk.eks.associate_access_policy(
        clusterName="demo", principalArn=role, policyArn=ADMIN, accessScope={"type": "cluster"}
    )
    entry = desk.eks.describe_access_entry(clusterName="demo", principalArn=role)["accessEntry"]
    account = desk.cloud.options.account_id
    assert entry["username"] == f"arn:aws:sts::{account}:assumed-role/admin/{{{{SessionName}}}}"
    desk.eks.disassociate_access_policy(clusterName="demo", principalArn=role, policyArn=ADMIN)
    desk.eks.delete_access_entry(clusterName="demo", principalArn=role)
    with refused("ResourceNotFoundException"):
        desk.eks.describe_access_entry(clusterName="demo", principalArn=role)


@pytest.mark.parametrize(
    ("principal", "words"),
    [
        ("arn:aws:sts::{account}:assumed-role/x/session", "The principalArn parameter format is not valid"),
        (
            "arn:aws:iam::{account}:role/AWSReservedSSO_X",
            "The specified principalArn is invalid: invalid principal",
        ),
    ],
)
def test_a_principal_is_an_existing_role_or_user(
    desk: Desk, refused: Any, principal: str, words: str
) -> None:
    desk.cluster(desk.network(nat=False))
    with refused("InvalidParameterException", "eks-access-entry-principal") as refusal:
        desk.eks.create_access_entry(
            clusterName="demo", principalArn=principal.format(account=desk.cloud.options.account_id)
        )
    assert refusal.text == words


def test_a_principal_made_seconds_ago_is_not_known_to_eks_yet(desk: Desk, refused: Any) -> None:
    desk.cluster(desk.network(nat=False))
    role = desk.role("admin", trust("ec2.amazonaws.com"), seen=False)
    with refused("InvalidParameterException", "iam-propagation") as refusal:
        desk.eks.create_access_entry(clusterName="demo", principalArn=role)
    assert refusal.text == "The specified principalArn is invalid: invalid principal"
    desk.pass_time(10)
    desk.eks.create_access_entry(clusterName="demo", principalArn=role)


def test_roles_of_nodes_get_their_entry_from_eks(desk: Desk, refused: Any) -> None:
    network = desk.cluster()
    role = desk.node_role()
    desk.node_group(network, nodeRole=role)
    entry = desk.eks.describe_access_entry(clusterName="demo", principalArn=role)["accessEntry"]
    assert entry["type"] == "EC2_LINUX"
    assert entry["kubernetesGroups"] == ["system:nodes"]
    with refused("ResourceInUseException", "eks-access-entry-exists"):
        desk.eks.create_access_entry(clusterName="demo", principalArn=role, type="EC2_LINUX")


def test_nobody_gives_the_groups_that_are_eks_own(desk: Desk, refused: Any) -> None:
    desk.cluster(desk.network(nat=False))
    role = desk.role("admin", trust("ec2.amazonaws.com"))
    words = "The kubernetes group name system:nodes is invalid, it cannot start with system:"
    with refused("InvalidParameterException", "eks-parameters") as refusal:
        desk.eks.create_access_entry(clusterName="demo", principalArn=role, kubernetesGroups=["system:nodes"])
    assert refusal.text == words
    desk.eks.create_access_entry(clusterName="demo", principalArn=role, kubernetesGroups=["viewers"])
    with refused("InvalidParameterException", "eks-parameters") as refusal:
        desk.eks.update_access_entry(clusterName="demo", principalArn=role, kubernetesGroups=["system:nodes"])
    assert refusal.text == words


@pytest.mark.parametrize("asked", [{"kubernetesGroups": ["viewers"]}, {"username": "somebody"}])
def test_an_entry_of_nodes_takes_neither_groups_nor_a_name(
    desk: Desk, refused: Any, asked: dict[str, Any]
) -> None:
    desk.cluster(desk.network(nat=False))
    role = desk.node_role()
    words = "The kubernetesGroups and username parameters are not valid for type EC2_LINUX"
    with refused("InvalidParameterException", "eks-parameters") as refusal:
        desk.eks.create_access_entry(clusterName="demo", principalArn=role, type="EC2_LINUX", **asked)
    assert refusal.text == words
    desk.eks.create_access_entry(clusterName="demo", principalArn=role, type="EC2_LINUX")
    with refused("InvalidParameterException", "eks-parameters") as refusal:
        desk.eks.update_access_entry(clusterName="demo", principalArn=role, **asked)
    assert refusal.text == words
    entry = desk.eks.describe_access_entry(clusterName="demo", principalArn=role)["accessEntry"]
    assert entry["kubernetesGroups"] == ["system:nodes"]


def test_access_policies_can_be_listed(desk: Desk) -> None:
    found = {each["name"]: each["arn"] for each in desk.eks.list_access_policies()["accessPolicies"]}
    assert found["AmazonEKSClusterAdminPolicy"] == ADMIN


def test_a_caller_is_who_its_access_entry_says(desk: Desk) -> None:
    from moto.eks.models import eks_backends

    desk.cluster(desk.network(nat=False))
    eks: Any = eks_backends[desk.cloud.options.account_id][desk.region]
    cluster = eks.cluster("demo")
    me = access.authenticate(eks, cluster, desk.cloud.access_key_id)
    assert me is not None
    assert me.access_policies == ("AmazonEKSClusterAdminPolicy",)
    stranger, _ = desk.cloud.add_identity("stranger")
    assert access.authenticate(eks, cluster, stranger) is None
    assert access.authenticate(eks, cluster, "AKIA0000000000000000") is None


def test_an_entry_lets_a_principal_in_no_more_that_was_made_again(desk: Desk) -> None:
    """The law eks-access-entry-of-a-remade-principal, and what the product does about it."""
    from moto.eks.models import eks_backends

    from mlcc_infra.account import cluster_access

    desk.cluster(desk.network(nat=False))
    account = desk.cloud.options.account_id
    eks: Any = eks_backends[account][desk.region]
    cluster = eks.cluster("demo")
    document = {
        "Version": "2012-10-17",
        "Statement": [
            {
                "Effect": "Allow",
                "Principal": {"AWS": f"arn:aws:iam::{account}:root"},
                "Action": "sts:AssumeRole",
            }
        ],
    }
    role = desk.role("team", document)
    desk.eks.create_access_entry(clusterName="demo", principalArn=role, kubernetesGroups=["viewers"])
    session: Any = desk

    def caller() -> Any:
        assumed = desk.client("sts").assume_role(RoleArn=role, RoleSessionName="run")["Credentials"]
        return access.authenticate(eks, cluster, assumed["AccessKeyId"])

    assert caller().groups == ("viewers",)
    assert cluster_access.stale_entry(session, "demo", role) is None
    desk.iam.delete_role(RoleName="team")
    assert cluster_access.stale_entry(session, "demo", role) is None, "nobody has that name now"
    desk.role("team", document)
    assert desk.eks.list_access_entries(clusterName="demo")["accessEntries"].count(role) == 1
    assert caller() is None

    said: list[str] = []
    desk.eks.associate_access_policy(
        clusterName="demo", principalArn=role, policyArn=ADMIN, accessScope={"type": "cluster"}
    )
    assert cluster_access.present_admins(session, "demo", ADMIN, [role]) == []
    assert cluster_access.renew_stale_entries(session, "demo", [role], said.append) == [role]
    assert caller().groups == ("viewers",)
    assert cluster_access.present_admins(session, "demo", ADMIN, [role]) == [role]
    assert said == [f"{role} was deleted and made again: its access entry in demo is made again for it"]
    assert cluster_access.renew_stale_entries(session, "demo", [role], said.append) == []


def test_the_entry_of_a_node_role_that_was_made_again_is_made_again(desk: Desk) -> None:
    from mlcc_infra.account import cluster_access

    desk.cluster(desk.network(nat=False))
    role = desk.node_role()
    desk.eks.create_access_entry(clusterName="demo", principalArn=role, type="EC2_LINUX")
    for policy in desk.iam.list_attached_role_policies(RoleName="node-role")["AttachedPolicies"]:
        desk.iam.detach_role_policy(RoleName="node-role", PolicyArn=policy["PolicyArn"])
    desk.iam.delete_role(RoleName="node-role")
    desk.node_role()
    session: Any = desk
    assert cluster_access.renew_stale_entries(session, "demo", [role], print) == [role]
    entry = desk.eks.describe_access_entry(clusterName="demo", principalArn=role)["accessEntry"]
    assert (entry["type"], entry["kubernetesGroups"]) == ("EC2_LINUX", ["system:nodes"])


def test_a_service_account_has_one_association(desk: Desk, refused: Any) -> None:
    desk.cluster(desk.network(nat=False))
    document = trust("pods.eks.amazonaws.com")
    document["Statement"][0]["Action"] = ["sts:AssumeRole", "sts:TagSession"]
    role = desk.role("pods", document)
    wanted = {"clusterName": "demo", "namespace": "a", "serviceAccount": "b", "roleArn": role}
    made = desk.eks.create_pod_identity_association(**wanted)["association"]
    with refused("ResourceInUseException", "eks-pod-identity-exists") as refusal:
        desk.eks.create_pod_identity_association(**wanted)
    assert refusal.text.startswith("Association already exists")
    listed = desk.eks.list_pod_identity_associations(clusterName="demo", namespace="a")["associations"]
    assert [each["associationId"] for each in listed] == [made["associationId"]]
    with refused("InvalidParameterException", "assume-role-trust"):
        untrusted = desk.role("plain", trust("ec2.amazonaws.com"))
        desk.eks.create_pod_identity_association(**{**wanted, "serviceAccount": "c", "roleArn": untrusted})
    desk.eks.delete_pod_identity_association(clusterName="demo", associationId=made["associationId"])
    assert desk.eks.list_pod_identity_associations(clusterName="demo")["associations"] == []


def test_calls_about_an_identity_center_role_are_answered_and_told_by_their_names(desk: Desk) -> None:
    """Its path has an address in it, `sso.amazonaws.com`, and slashes."""
    path = "/aws-reserved/sso.amazonaws.com/us-west-2/"
    role = desk.iam.create_role(
        RoleName="AWSReservedSSO_Admin_0123456789abcdef",
        Path=path,
        AssumeRolePolicyDocument=json.dumps(trust("ec2.amazonaws.com")),
    )["Role"]["Arn"]
    desk.pass_time(30)
    desk.cluster(desk.network(nat=False))
    about: dict[str, Any] = {"clusterName": "demo", "principalArn": role}
    desk.eks.create_access_entry(**about)
    desk.eks.associate_access_policy(**about, policyArn=ADMIN, accessScope={"type": "cluster"})
    listed = desk.eks.list_associated_access_policies(**about)["associatedAccessPolicies"]
    assert [policy["policyArn"] for policy in listed] == [ADMIN]
    assert desk.eks.describe_access_entry(**about)["accessEntry"]["principalArn"] == role
    desk.eks.update_access_entry(**about, kubernetesGroups=["team"])
    desk.eks.disassociate_access_policy(**about, policyArn=ADMIN)
    desk.eks.delete_access_entry(**about)
    told = [(call["operation"], call["mutating"]) for call in desk.calls() if role in str(call["resource"])]
    assert told == [
        ("CreateAccessEntry", True),
        ("AssociateAccessPolicy", True),
        ("ListAssociatedAccessPolicies", False),
        ("DescribeAccessEntry", False),
        ("UpdateAccessEntry", True),
        ("DisassociateAccessPolicy", True),
        ("DeleteAccessEntry", True),
    ]
