"""The tables of roles: contents, least privilege, paths, limits."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from moto.iam.aws_managed_policies import aws_managed_policies_data

from mlcc_infra.naming import Names
from mlcc_infra.policies import (
    POLICIES,
    SERVICE_ACCOUNT_ROLES,
    SERVICE_ROLES,
    Document,
    RoleContext,
    RoleEntry,
    alb_controller_policy,
    document_problems,
    inline_problems,
    needed,
    statements,
    trusted_services,
)
from mlcc_infra.policies.documents import MAX_MANAGED_POLICIES, MAX_TRUST_CHARACTERS, characters
from mlcc_infra.policies.service_roles import INSTANCE_POLICY

ALL = {**SERVICE_ROLES, **SERVICE_ACCOUNT_ROLES}
ISSUER = "oidc.eks.ap-southeast-4.amazonaws.com/id/0123456789ABCDEF0123456789ABCDEF"


def context(profile: str = "demo", account: str = "123456789012", region: str = "us-west-2") -> RoleContext:
    """The context of a profile with everything set."""
    return RoleContext(
        names=Names(profile, account, region),
        issuer=ISSUER,
        model_buckets=["models-one", "models-two"],
        service_accounts=["default:mlcc-inference"],
    )


def every_document() -> Iterator[tuple[str, Document]]:
    """Each permission document that this product writes."""
    for key, entry in ALL.items():
        for name, document in entry.inline(context()).items():
            yield f"{key}/{name}", document
    yield "alb", alb_controller_policy()


def actions_on(document: Document, resource: str) -> set[str]:
    """The actions that the document's statements allow on exactly this resource."""
    found: set[str] = set()
    for statement in statements(document):
        resources = (
            statement["Resource"] if isinstance(statement["Resource"], list) else [statement["Resource"]]
        )
        if resource in resources:
            actions = statement["Action"]
            found |= {actions} if isinstance(actions, str) else set(actions)
    return found


def test_the_service_roles_are_the_four_that_outlive_clusters() -> None:
    assert set(SERVICE_ROLES) == {
        "eks-cluster-role",
        "eks-node-role",
        "hyperpod-instance-role",
        "fargate-pod-exec-role",
    }
    assert all(entry.retained for entry in SERVICE_ROLES.values())
    assert not any(entry.retained for entry in SERVICE_ACCOUNT_ROLES.values())


@pytest.mark.parametrize("entry", ALL.values(), ids=ALL)
def test_a_role_fits_iam_at_the_longest_names(entry: RoleEntry) -> None:
    longest = context("p" * 35, region="ap-southeast-4")
    assert len(entry.role_name(longest)) <= 64
    assert characters(entry.trust(longest, None)) <= MAX_TRUST_CHARACTERS
    assert inline_problems(entry.inline(longest)) == ()
    assert len(entry.managed_policies) <= MAX_MANAGED_POLICIES
    assert len(entry.description) <= 1000


@pytest.mark.parametrize("entry", ALL.values(), ids=ALL)
def test_a_role_names_its_source_and_a_name_of_the_contract(entry: RoleEntry) -> None:
    assert entry.source
    assert entry.role_name(context()) == getattr(context().names, entry.name_of)
    assert entry.targets <= {"vanilla-eks", "hyperpod-eks", "operator-only"}


def test_every_managed_policy_exists_in_motos_copy_of_awss() -> None:
    known = set(json.loads(aws_managed_policies_data))
    # Newer than that copy; AWS's managed policy reference has it (2026-09-09).
    newer = {"AmazonSageMakerHyperPodInferenceGatewayAccess"}
    for key, entry in ALL.items():
        assert set(entry.managed_policies) <= known | newer, key
        for arn in entry.managed_policy_arns(context()):
            assert arn.startswith("arn:aws:iam::aws:policy/Amazon")


@pytest.mark.parametrize(("name", "document"), list(every_document()))
def test_a_grant_is_neither_void_nor_everything(name: str, document: Document) -> None:
    assert document_problems(document) == (), name


@pytest.mark.parametrize(("name", "document"), [pair for pair in every_document() if pair[0] != "alb"])
def test_writing_is_never_allowed_on_everything(name: str, document: Document) -> None:
    reading = ("Describe", "Get", "List", "BatchGet", "BatchCheck", "Query")
    for action in actions_on(document, "*"):
        assert action.split(":")[1].startswith(reading), f"{name}: {action}"


def test_targets_need_their_roles_only() -> None:
    assert set(needed(SERVICE_ROLES, ["vanilla-eks"])) == {
        "eks-cluster-role",
        "eks-node-role",
        "fargate-pod-exec-role",
    }
    assert set(needed(SERVICE_ROLES, ["hyperpod-eks"])) == {"hyperpod-instance-role"}
    assert not needed(SERVICE_ROLES, ["operator-only"])
    assert set(needed(SERVICE_ROLES, ["vanilla-eks", "hyperpod-eks"])) == set(SERVICE_ROLES)
    assert set(needed(SERVICE_ACCOUNT_ROLES, ["vanilla-eks"])) == {"eks-inference-role"}
    assert "gateway-role" not in needed(SERVICE_ACCOUNT_ROLES, ["hyperpod-eks"])


def test_the_fargate_role_trusts_fargate_for_profiles_of_its_own_cluster_only() -> None:
    (statement,) = statements(SERVICE_ROLES["fargate-pod-exec-role"].trust(context(), None))
    assert statement["Condition"] == {
        "ArnLike": {"aws:SourceArn": "arn:aws:eks:us-west-2:123456789012:fargateprofile/mlcc-demo-eks/*"}
    }


def test_the_node_role_has_pull_only_access_to_images() -> None:
    assert SERVICE_ROLES["eks-node-role"].managed_policies == (
        "AmazonEC2ContainerRegistryPullOnly",
        "AmazonEKSWorkerNodePolicy",
        "AmazonEKS_CNI_Policy",
    )


def test_rule_03_the_instance_role_trusts_sagemaker_and_ec2_only_when_an_adopted_one_did() -> None:
    entry = SERVICE_ROLES["hyperpod-instance-role"]
    assert trusted_services(entry.trust(context(), None)) == {"sagemaker.amazonaws.com"}
    theirs = {
        "Version": "2012-10-17",
        "Statement": {
            "Effect": "Allow",
            "Principal": {"Service": ["ec2.amazonaws.com", "lambda.amazonaws.com"]},
            "Action": "sts:AssumeRole",
        },
    }
    assert trusted_services(entry.trust(context(), theirs)) == {
        "sagemaker.amazonaws.com",
        "ec2.amazonaws.com",
    }


def test_rule_03_the_instance_role_may_what_aws_documents_on_its_own_account_and_region() -> None:
    document = SERVICE_ROLES["hyperpod-instance-role"].inline(context())[INSTANCE_POLICY]
    for kind in ("instance", "network-interface", "subnet", "security-group", "vpc"):
        allowed = actions_on(document, f"arn:aws:ec2:us-west-2:123456789012:{kind}/*")
        assert {
            "ec2:CreateNetworkInterface",
            "ec2:CreateNetworkInterfacePermission",
            "ec2:DeleteNetworkInterfacePermission",
            "ec2:AssignPrivateIpAddresses",
        } <= allowed, kind
    everywhere = actions_on(document, "*")
    assert {"ec2:DescribeDhcpOptions", "ecr:BatchGetImage", "cloudwatch:DescribeAlarms"} <= everywhere
    assert actions_on(document, "arn:aws:eks:us-west-2:123456789012:cluster/mlcc-demo-*") == {
        "eks-auth:AssumeRoleForPodIdentity"
    }
    bucket = "arn:aws:s3:::sagemaker-mlcc-demo-88de702d"
    assert actions_on(document, bucket) == {"s3:ListBucket"}
    assert actions_on(document, f"{bucket}/*") == {"s3:GetObject"}


def test_rule_03_two_roles_sit_at_the_root_and_the_others_where_the_company_says() -> None:
    at_root = {key for key, entry in ALL.items() if entry.path("/team/") == "/"}
    assert at_root == {"hyperpod-instance-role", "operator-execution-role"}
    assert ALL["eks-node-role"].path(None) == "/"
    assert "delete it" in str(ALL["hyperpod-instance-role"].path_problem("/team/"))
    assert ALL["hyperpod-instance-role"].path_problem("/") is None
    assert ALL["eks-node-role"].path_problem("/other/") is None


def test_model_pods_may_read_the_named_buckets_and_nothing_else() -> None:
    entry = SERVICE_ACCOUNT_ROLES["eks-inference-role"]
    (document,) = entry.inline(context()).values()
    assert actions_on(document, "arn:aws:s3:::models-one") == {"s3:ListBucket"}
    assert actions_on(document, "arn:aws:s3:::models-two/*") == {"s3:GetObject"}
    assert len(statements(document)) == 2
    assert entry.inline(RoleContext(names=context().names)) == {}
    (statement,) = statements(entry.trust(context(), None))
    assert statement["Condition"]["StringEquals"][f"{ISSUER}:sub"] == (
        "system:serviceaccount:default:mlcc-inference"
    )


def test_rule_09_the_operators_role_has_the_grants_that_awss_policy_lacks() -> None:
    entry = SERVICE_ACCOUNT_ROLES["operator-execution-role"]
    (document,) = entry.inline(context()).values()
    assert entry.managed_policies == ("AmazonSageMakerHyperPodInferenceAccess",)
    assert actions_on(document, "arn:aws:sagemaker:us-west-2:123456789012:endpoint-config/*") == {
        "sagemaker:DescribeEndpointConfig"
    }
    certificates = actions_on(document, "arn:aws:acm:us-west-2:123456789012:certificate/*")
    assert certificates == {"acm:AddTagsToCertificate", "acm:ImportCertificate"}
    bucket = "arn:aws:s3:::hyperpod-tls-mlcc-demo-88de702d"
    assert actions_on(document, bucket) == {"s3:ListBucket"}
    assert actions_on(document, f"{bucket}/*") == {
        "s3:GetObject",
        "s3:PutObject",
        "s3:PutObjectTagging",
        "s3:DeleteObject",
    }
    conditions = {statement["Sid"]: statement.get("Condition") for statement in statements(document)}
    assert conditions["PassItself"] == {"StringEquals": {"iam:PassedToService": "sagemaker.amazonaws.com"}}
    assert conditions["ImportCertificates"] == {
        "StringEquals": {"aws:RequestTag/CreatedBy": "HyperPodInference"}
    }
    assert conditions["TagCertificates"] is None
    own = "arn:aws:iam::123456789012:role/SageMakerHyperPodInference-demo"
    assert actions_on(document, own) == {"iam:PassRole"}


def test_rule_09_a_predecessors_bucket_is_granted_in_place_of_ours() -> None:
    adopted = RoleContext(names=context().names, issuer=ISSUER, tls_bucket="mlcc-hyperpod-tls-demo")
    (document,) = SERVICE_ACCOUNT_ROLES["operator-execution-role"].inline(adopted).values()
    assert "s3:PutObject" in actions_on(document, "arn:aws:s3:::mlcc-hyperpod-tls-demo/*")
    assert not actions_on(document, "arn:aws:s3:::hyperpod-tls-mlcc-demo-88de702d/*")


def test_rule_09_the_operators_role_trusts_the_issuer_and_sagemaker() -> None:
    policy = SERVICE_ACCOUNT_ROLES["operator-execution-role"].trust(context(), None)
    assert trusted_services(policy) == {"sagemaker.amazonaws.com"}
    assert len(statements(policy)) == 2
    assert "hyperpod-inference-system:hyperpod-inference-controller-manager" in json.dumps(policy)


def test_rule_22_only_two_roles_trust_a_pattern_and_the_audience_is_always_exact() -> None:
    by_pattern: set[str] = set()
    for key, entry in SERVICE_ACCOUNT_ROLES.items():
        for statement in statements(entry.trust(context(), None)):
            condition = statement.get("Condition")
            if condition is None:
                continue
            assert condition["StringEquals"][f"{ISSUER}:aud"] == "sts.amazonaws.com", key
            if "StringLike" in condition:
                by_pattern.add(key)
    assert by_pattern == {"alb-controller-role", "gated-model-role"}


def test_the_two_load_balancer_controllers_are_trusted_in_their_namespaces() -> None:
    add_on = json.dumps(SERVICE_ACCOUNT_ROLES["alb-controller-role"].trust(context(), None))
    chart = json.dumps(SERVICE_ACCOUNT_ROLES["eks-alb-controller-role"].trust(context(), None))
    assert "system:serviceaccount:*:aws-load-balancer-controller" in add_on
    assert "system:serviceaccount:kube-system:aws-load-balancer-controller" in chart
    assert POLICIES == {
        "alb-controller-role": "alb_controller_policy",
        "eks-alb-controller-role": "eks_alb_controller_policy",
    }


def test_the_load_balancer_controllers_policy_is_the_projects_own_in_any_partition() -> None:
    policy = alb_controller_policy()
    assert len(statements(policy)) == 16
    assert characters(policy) == 5196
    china = json.dumps(alb_controller_policy("aws-cn"))
    assert "arn:aws:" not in china
    assert "arn:aws-cn:elasticloadbalancing" in china
    policy["Statement"].clear()
    assert len(statements(alb_controller_policy())) == 16, "a caller's change stays with the caller"


def test_other_partitions_get_their_own_arns() -> None:
    china = RoleContext(names=Names("demo", "123456789012", "cn-north-1"), partition="aws-cn", issuer=ISSUER)
    for entry in ALL.values():
        if entry.key == "eks-inference-role":
            continue
        texts = [json.dumps(entry.trust(china, None)), *entry.managed_policy_arns(china)]
        texts += [json.dumps(document) for document in entry.inline(china).values()]
        assert not any("arn:aws:" in text for text in texts), entry.key
