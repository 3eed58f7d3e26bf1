"""Laws of IAM and STS, and policy simulation."""

from __future__ import annotations

import base64
import json
from typing import Any

import boto3
import pytest
from botocore import UNSIGNED
from botocore.config import Config

from tests.unit.rehearsal_cloud.conftest import Desk, trust

ALLOW = {"Effect": "Allow", "Action": "s3:*", "Resource": "*"}


def test_a_trust_policy_names_only_principals_that_exist_and_are_seen(desk: Desk, refused: Any) -> None:
    account = desk.cloud.options.account_id

    def named(arn: str) -> str:
        statement = {"Effect": "Allow", "Principal": {"AWS": arn}, "Action": "sts:AssumeRole"}
        return json.dumps({"Version": "2012-10-17", "Statement": [statement]})

    missing = f"arn:aws:iam::{account}:role/none"
    with refused("MalformedPolicyDocument", "iam-principal-exists") as refusal:
        desk.iam.create_role(RoleName="a", AssumeRolePolicyDocument=named(missing))
    assert refusal.text == f'Invalid principal in policy: "AWS":"{missing}"'
    new = desk.role("new", trust("ec2.amazonaws.com"), seen=False)
    for _ in range(2):
        with refused("MalformedPolicyDocument", "iam-principal-exists"):
            desk.iam.create_role(RoleName="a", AssumeRolePolicyDocument=named(new))
    desk.pass_time(10)
    desk.iam.create_role(RoleName="a", AssumeRolePolicyDocument=named(new))
    with refused("MalformedPolicyDocument", "iam-principal-exists"):
        desk.iam.update_assume_role_policy(RoleName="a", PolicyDocument=named(missing))


def test_a_role_with_anything_attached_cannot_be_deleted(desk: Desk, refused: Any) -> None:
    desk.role("busy", trust("ec2.amazonaws.com"), "ReadOnlyAccess")
    with refused("DeleteConflict", "role-delete-conflict") as refusal:
        desk.iam.delete_role(RoleName="busy")
    assert refusal.text == "Cannot delete entity, must detach all policies first."
    desk.iam.detach_role_policy(RoleName="busy", PolicyArn="arn:aws:iam::aws:policy/ReadOnlyAccess")
    document = json.dumps({"Version": "2012-10-17", "Statement": [ALLOW]})
    desk.iam.put_role_policy(RoleName="busy", PolicyName="inline", PolicyDocument=document)
    with refused("DeleteConflict", "role-delete-conflict"):
        desk.iam.delete_role(RoleName="busy")
    desk.iam.delete_role_policy(RoleName="busy", PolicyName="inline")
    desk.iam.create_instance_profile(InstanceProfileName="profile")
    desk.iam.add_role_to_instance_profile(InstanceProfileName="profile", RoleName="busy")
    with refused("DeleteConflict", "role-delete-conflict"):
        desk.iam.delete_role(RoleName="busy")
    desk.iam.remove_role_from_instance_profile(InstanceProfileName="profile", RoleName="busy")
    desk.iam.delete_role(RoleName="busy")


def test_a_policy_that_is_attached_cannot_be_deleted(desk: Desk, refused: Any) -> None:
    document = json.dumps({"Version": "2012-10-17", "Statement": [ALLOW]})
    arn = desk.iam.create_policy(PolicyName="ours", PolicyDocument=document)["Policy"]["Arn"]
    desk.role("user", trust("ec2.amazonaws.com"))
    desk.iam.attach_role_policy(RoleName="user", PolicyArn=arn)
    with refused("DeleteConflict", "policy-delete-conflict") as refusal:
        desk.iam.delete_policy(PolicyArn=arn)
    assert refusal.text == "Cannot delete a policy attached to entities."
    desk.iam.detach_role_policy(RoleName="user", PolicyArn=arn)
    desk.iam.delete_policy(PolicyArn=arn)


def test_names_keep_to_length_and_characters_and_ignore_case(desk: Desk, refused: Any) -> None:
    document = json.dumps(trust("ec2.amazonaws.com"))
    with refused("ValidationError", "iam-names") as refusal:
        desk.iam.create_role(RoleName="r" * 65, AssumeRolePolicyDocument=document)
    assert "Member must have length less than or equal to 64" in refusal.text
    with refused("ValidationError", "iam-names"):
        desk.iam.create_role(RoleName="with space", AssumeRolePolicyDocument=document)
    desk.iam.create_role(RoleName="Role", AssumeRolePolicyDocument=document)
    with refused("EntityAlreadyExists", "iam-names"):
        desk.iam.create_role(RoleName="role", AssumeRolePolicyDocument=document)
    empty = json.dumps({"Version": "2012-10-17", "Statement": [ALLOW]})
    with refused("ValidationError", "iam-names"):
        desk.iam.create_policy(PolicyName="p" * 129, PolicyDocument=empty)
    with refused("ValidationError", "iam-names"):
        desk.iam.create_instance_profile(InstanceProfileName="p" * 129)


def test_counts_of_tags_and_policies_are_limited(desk: Desk, refused: Any) -> None:
    tags = [{"Key": f"k{n}", "Value": "v"} for n in range(51)]
    with refused("ValidationError", "iam-tags"):
        desk.iam.create_role(
            RoleName="r", AssumeRolePolicyDocument=json.dumps(trust("ec2.amazonaws.com")), Tags=tags
        )
    twins = [{"Key": key, "Value": "v"} for key in ("Team", "team")]
    with refused("InvalidInput") as refusal:
        desk.iam.create_role(
            RoleName="r", AssumeRolePolicyDocument=json.dumps(trust("ec2.amazonaws.com")), Tags=twins
        )
    assert "case insensitive" in refusal.text
    names = [p["PolicyName"] for p in desk.iam.list_policies(Scope="AWS", MaxItems=11)["Policies"]]
    arns = {p["PolicyName"]: p["Arn"] for p in desk.iam.list_policies(Scope="AWS", MaxItems=11)["Policies"]}
    desk.role("r", trust("ec2.amazonaws.com"))
    for name in names[:10]:
        desk.iam.attach_role_policy(RoleName="r", PolicyArn=arns[name])
    with refused("LimitExceeded", "policies-per-role") as refusal:
        desk.iam.attach_role_policy(RoleName="r", PolicyArn=arns[names[10]])
    assert refusal.text == "Cannot exceed quota for PoliciesPerRole: 10"


def test_a_role_is_assumed_by_those_it_trusts_only(desk: Desk, refused: Any) -> None:
    sts = desk.client("sts")
    role = desk.role("closed", trust("ec2.amazonaws.com"))
    with refused("AccessDenied", "assume-role-trust") as refusal:
        sts.assume_role(RoleArn=role, RoleSessionName="run")
    me = sts.get_caller_identity()["Arn"]
    assert refusal.text == f"User: {me} is not authorized to perform: sts:AssumeRole on resource: {role}"


def token(issuer: str, subject: str, audience: str = "sts.amazonaws.com") -> str:
    def part(value: dict[str, Any]) -> str:
        return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")

    claims = {"iss": f"https://{issuer}", "sub": subject, "aud": [audience]}
    return f"{part({'alg': 'RS256'})}.{part(claims)}.c2ln"


def test_a_web_identity_needs_its_provider_its_subject_and_its_audience(desk: Desk, refused: Any) -> None:
    issuer = "oidc.eks.us-west-2.amazonaws.com/id/ABC"
    subject = "system:serviceaccount:kube-system:alb"
    provider = f"arn:aws:iam::{desk.cloud.options.account_id}:oidc-provider/{issuer}"
    condition = {"StringEquals": {f"{issuer}:sub": subject, f"{issuer}:aud": "sts.amazonaws.com"}}
    statement = {
        "Effect": "Allow",
        "Principal": {"Federated": provider},
        "Action": "sts:AssumeRoleWithWebIdentity",
        "Condition": condition,
    }
    role = desk.role("irsa", {"Version": "2012-10-17", "Statement": [statement]})
    anonymous = boto3.client(
        "sts",
        endpoint_url=desk.cloud.endpoint,
        region_name=desk.region,
        config=Config(signature_version=UNSIGNED, retries={"total_max_attempts": 1}),
    )

    def assume(subject: str) -> Any:
        return anonymous.assume_role_with_web_identity(
            RoleArn=role, RoleSessionName="pod", WebIdentityToken=token(issuer, subject)
        )

    with refused("InvalidIdentityToken", "web-identity-provider") as refusal:
        assume(subject)
    assert refusal.text == f"No OpenIDConnect provider found in your account for https://{issuer}"
    desk.iam.create_open_id_connect_provider(Url=f"https://{issuer}", ClientIDList=["sts.amazonaws.com"])
    with refused("AccessDenied", "assume-role-trust") as refusal:
        assume("system:serviceaccount:default:other")
    assert refusal.text == "Not authorized to perform sts:AssumeRoleWithWebIdentity"
    assert assume(subject)["AssumedRoleUser"]["Arn"].endswith("assumed-role/irsa/pod")


def test_simulation_evaluates_a_principals_policies(desk: Desk) -> None:
    me = desk.client("sts").get_caller_identity()["Arn"]
    found = desk.iam.simulate_principal_policy(
        PolicySourceArn=me, ActionNames=["eks:CreateCluster", "iam:PassRole"]
    )
    assert [each["EvalDecision"] for each in found["EvaluationResults"]] == ["allowed", "allowed"]
    policy = {
        "Version": "2012-10-17",
        "Statement": [
            {"Effect": "Allow", "Action": "*", "Resource": "*"},
            {"Effect": "Deny", "Action": "sagemaker:AddTags", "Resource": "*"},
        ],
    }
    desk.cloud.add_identity("limited", policy=policy)
    arn = f"arn:aws:iam::{desk.cloud.options.account_id}:user/limited"
    (denied,) = desk.iam.simulate_principal_policy(PolicySourceArn=arn, ActionNames=["sagemaker:AddTags"])[
        "EvaluationResults"
    ]
    assert denied["EvalDecision"] == "explicitDeny"
    assert denied["MatchedStatements"]


def test_simulation_takes_resources_and_context(desk: Desk) -> None:
    role = desk.role("reader", trust("sagemaker.amazonaws.com"), "AmazonSageMakerClusterInstanceRolePolicy")
    found = desk.iam.simulate_principal_policy(
        PolicySourceArn=role,
        ActionNames=["s3:GetObject"],
        ResourceArns=["arn:aws:s3:::sagemaker-a/x", "arn:aws:s3:::mlcc-core/x"],
    )["EvaluationResults"]
    assert [each["EvalDecision"] for each in found] == ["allowed", "implicitDeny"], "B9"
    document = json.dumps(
        {
            "Version": "2012-10-17",
            "Statement": [
                {
                    "Effect": "Allow",
                    "Action": "s3:*",
                    "Resource": "*",
                    "Condition": {"StringEquals": {"aws:SourceVpc": "vpc-1"}},
                }
            ],
        }
    )
    arguments = {"PolicyInputList": [document], "ActionNames": ["s3:GetObject"]}
    (without,) = desk.iam.simulate_custom_policy(**arguments)["EvaluationResults"]
    assert without["EvalDecision"] == "implicitDeny"
    assert without["MissingContextValues"] == ["aws:SourceVpc"]
    entry = {"ContextKeyName": "aws:SourceVpc", "ContextKeyValues": ["vpc-1"], "ContextKeyType": "string"}
    (given,) = desk.iam.simulate_custom_policy(**arguments, ContextEntries=[entry])["EvaluationResults"]
    assert given["EvalDecision"] == "allowed"


@pytest.mark.parametrize(
    ("arn", "code"),
    [("arn:aws:iam::{}:role/none", "NoSuchEntity"), ("arn:aws:sts::{}:assumed-role/a/b", "InvalidInput")],
)
def test_simulation_needs_a_principal_that_exists(desk: Desk, refused: Any, arn: str, code: str) -> None:
    with refused(code):
        desk.iam.simulate_principal_policy(
            PolicySourceArn=arn.format(desk.cloud.options.account_id), ActionNames=["s3:GetObject"]
        )


def test_documents_keep_to_their_sizes_without_white_space(desk: Desk, refused: Any) -> None:
    """The law "policy-size"."""

    def trusting(size: int) -> str:
        document = trust("ec2.amazonaws.com")
        document["Statement"][0]["Sid"] = ""
        document["Statement"][0]["Sid"] = "x" * (size - len("".join(json.dumps(document).split())))
        return json.dumps(document, indent=8)

    def allowing(size: int) -> str:
        document: dict[str, Any] = {"Version": "2012-10-17", "Statement": [{"Sid": "", **ALLOW}]}
        document["Statement"][0]["Sid"] = "x" * (size - len("".join(json.dumps(document).split())))
        return json.dumps(document, indent=8)

    desk.iam.create_role(RoleName="long", AssumeRolePolicyDocument=trusting(2048))
    with refused("LimitExceeded", "policy-size") as refusal:
        desk.iam.create_role(RoleName="longer", AssumeRolePolicyDocument=trusting(2049))
    assert refusal.text == "Cannot exceed quota for ACLSizePerRole: 2048"
    with refused("LimitExceeded", "policy-size"):
        desk.iam.update_assume_role_policy(RoleName="long", PolicyDocument=trusting(2049))

    arn = desk.iam.create_policy(PolicyName="p", PolicyDocument=allowing(6144))["Policy"]["Arn"]
    with refused("LimitExceeded", "policy-size") as refusal:
        desk.iam.create_policy(PolicyName="q", PolicyDocument=allowing(6145))
    assert refusal.text == "Cannot exceed quota for PolicySize: 6144"
    with refused("LimitExceeded", "policy-size"):
        desk.iam.create_policy_version(PolicyArn=arn, PolicyDocument=allowing(6145))

    desk.iam.put_role_policy(RoleName="long", PolicyName="a", PolicyDocument=allowing(6000))
    desk.iam.put_role_policy(RoleName="long", PolicyName="b", PolicyDocument=allowing(4240))
    with refused("LimitExceeded", "policy-size") as refusal:
        desk.iam.put_role_policy(RoleName="long", PolicyName="c", PolicyDocument=allowing(200))
    assert refusal.text == "Maximum policy size of 10240 bytes exceeded for role long"
    desk.iam.put_role_policy(RoleName="long", PolicyName="b", PolicyDocument=allowing(4000))
    desk.iam.put_role_policy(RoleName="long", PolicyName="c", PolicyDocument=allowing(200))
