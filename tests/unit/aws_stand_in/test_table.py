"""The table against the installed SDK, and the import ids."""

import pytest

from mlcc_rehearsal.plugins.aws import catalogue, schema
from mlcc_rehearsal.plugins.aws.definition import Definition

pytestmark = pytest.mark.filterwarnings("ignore:.*has been deprecated:DeprecationWarning")

DEFINITIONS = sorted(catalogue.resources().values(), key=lambda definition: definition.token)


def by_token(definition: Definition) -> str:
    return definition.token


@pytest.mark.parametrize("definition", DEFINITIONS, ids=by_token)
def test_every_path_the_table_names_is_a_property_of_the_installed_sdk(definition: Definition) -> None:
    for path in definition.paths:
        definition.shape.inputs.at(path)
    for path in (*definition.sensitive, *definition.recomputed):
        definition.shape.outputs.at(path)
    for sources in definition.recomputed.values():
        for path in sources:
            definition.shape.inputs.at(path)


@pytest.mark.parametrize("definition", DEFINITIONS, ids=by_token)
def test_a_type_with_tags_says_how_they_change_and_one_without_does_not(definition: Definition) -> None:
    assert ("tagsAll" in definition.shape.outputs.fields) == (definition.tagging is not None)


@pytest.mark.parametrize("token", sorted(catalogue.functions()))
def test_every_function_is_one_of_the_installed_sdk(token: str) -> None:
    assert schema.function(token).outputs.fields


# One a type: what a program gives as import_, the resource's id then, what must be known to read it.
IMPORT_IDS = {
    "aws:cloudformation/stack:Stack": ("a-stack", None, {}),
    "aws:cloudwatch/logGroup:LogGroup": ("/aws/eks/c/cluster", None, {}),
    "aws:ec2/eip:Eip": ("eipalloc-0abc", None, {}),
    "aws:ec2/internetGateway:InternetGateway": ("igw-0abc", None, {}),
    "aws:ec2/launchTemplate:LaunchTemplate": ("lt-0abc", None, {}),
    "aws:ec2/natGateway:NatGateway": ("nat-0abc", None, {}),
    "aws:ec2/route:Route": (
        "rtb-0abc_10.42.0.0/16",
        "r-rtb-0abc373735163",
        {"routeTableId": "rtb-0abc", "destinationCidrBlock": "10.42.0.0/16"},
    ),
    "aws:ec2/routeTable:RouteTable": ("rtb-0abc", None, {}),
    "aws:ec2/routeTableAssociation:RouteTableAssociation": (
        "subnet-0abc/rtb-0abc",
        None,
        {"subnetId": "subnet-0abc", "routeTableId": "rtb-0abc"},
    ),
    "aws:ec2/securityGroup:SecurityGroup": ("sg-0abc", None, {}),
    "aws:ec2/securityGroupRule:SecurityGroupRule": (
        "sg-0abc_ingress_tcp_443_443_10.0.0.0/16_10.1.0.0/16",
        None,
        {
            "securityGroupId": "sg-0abc",
            "type": "ingress",
            "protocol": "tcp",
            "fromPort": 443,
            "toPort": 443,
            "self": False,
            "cidrBlocks": ["10.0.0.0/16", "10.1.0.0/16"],
            "ipv6CidrBlocks": [],
            "prefixListIds": [],
        },
    ),
    "aws:ec2/subnet:Subnet": ("subnet-0abc", None, {}),
    "aws:ec2/tag:Tag": ("subnet-0abc,a", None, {"resourceId": "subnet-0abc", "key": "a"}),
    "aws:ec2/vpc:Vpc": ("vpc-0abc", None, {}),
    "aws:ec2/vpcEndpoint:VpcEndpoint": ("vpce-0abc", None, {}),
    "aws:eks/accessEntry:AccessEntry": (
        "c:arn:aws:iam::1:role/a",
        None,
        {"clusterName": "c", "principalArn": "arn:aws:iam::1:role/a"},
    ),
    "aws:eks/accessPolicyAssociation:AccessPolicyAssociation": (
        "c#arn:aws:iam::1:role/a#arn:aws:eks::aws:cluster-access-policy/P",
        None,
        {
            "clusterName": "c",
            "principalArn": "arn:aws:iam::1:role/a",
            "policyArn": "arn:aws:eks::aws:cluster-access-policy/P",
        },
    ),
    "aws:eks/addon:Addon": ("c:vpc-cni", None, {"clusterName": "c", "addonName": "vpc-cni"}),
    "aws:eks/cluster:Cluster": ("c", None, {}),
    "aws:eks/fargateProfile:FargateProfile": ("c:p", None, {"clusterName": "c", "fargateProfileName": "p"}),
    "aws:eks/nodeGroup:NodeGroup": ("c:g", None, {"clusterName": "c", "nodeGroupName": "g"}),
    "aws:eks/podIdentityAssociation:PodIdentityAssociation": ("c,a-0abc", "a-0abc", {"clusterName": "c"}),
    "aws:iam/instanceProfile:InstanceProfile": ("p", None, {}),
    "aws:iam/openIdConnectProvider:OpenIdConnectProvider": ("arn:aws:iam::1:oidc-provider/x", None, {}),
    "aws:iam/policy:Policy": ("arn:aws:iam::1:policy/p", None, {}),
    "aws:iam/role:Role": ("r", None, {}),
    "aws:iam/rolePoliciesExclusive:RolePoliciesExclusive": ("r", None, {"roleName": "r"}),
    "aws:iam/rolePolicy:RolePolicy": ("r:p", None, {"role": "r", "name": "p"}),
    "aws:iam/rolePolicyAttachment:RolePolicyAttachment": (
        "r/arn:aws:iam::aws:policy/P",
        None,
        {"role": "r", "policyArn": "arn:aws:iam::aws:policy/P"},
    ),
    "aws:iam/rolePolicyAttachmentsExclusive:RolePolicyAttachmentsExclusive": ("r", None, {"roleName": "r"}),
    "aws:s3/bucket:Bucket": ("b", None, {}),
    "aws:s3/bucketObjectv2:BucketObjectv2": ("s3://b/k/x", "b/k/x", {"bucket": "b", "key": "k/x"}),
    "aws:s3/bucketOwnershipControls:BucketOwnershipControls": ("b", None, {}),
    "aws:s3/bucketPolicy:BucketPolicy": ("b", None, {}),
    "aws:s3/bucketPublicAccessBlock:BucketPublicAccessBlock": ("b", None, {}),
    "aws:s3/bucketServerSideEncryptionConfiguration:BucketServerSideEncryptionConfiguration": ("b", None, {}),
    "aws:s3/bucketVersioning:BucketVersioning": ("b", None, {}),
    "aws:ssm/parameter:Parameter": ("/a/b", None, {}),
}


@pytest.mark.parametrize("token", sorted(IMPORT_IDS))
def test_import_ids_are_the_providers_own(token: str) -> None:
    given, wanted, known = IMPORT_IDS[token]
    assert catalogue.resources()[token].imports.parse(given) == (wanted or given, known)


@pytest.mark.parametrize("definition", DEFINITIONS, ids=by_token)
def test_the_example_import_id_of_each_type_is_accepted(definition: Definition) -> None:
    definition.imports.parse(definition.imports.example)


@pytest.mark.parametrize(
    ("token", "wrong"),
    [
        ("aws:eks/addon:Addon", "only-a-cluster"),
        ("aws:iam/rolePolicyAttachment:RolePolicyAttachment", "role-without-policy"),
        ("aws:ec2/route:Route", "rtb-0abc"),
        ("aws:ec2/securityGroupRule:SecurityGroupRule", "sg-0abc_ingress_tcp"),
        ("aws:eks/podIdentityAssociation:PodIdentityAssociation", "c:a-0abc"),
    ],
)
def test_an_import_id_of_another_form_is_refused_naming_the_form(token: str, wrong: str) -> None:
    with pytest.raises(ValueError, match=r"expected|use:"):
        catalogue.resources()[token].imports.parse(wrong)


def test_a_type_that_pulumi_aws_does_not_have_is_unknown() -> None:
    with pytest.raises(schema.UnknownTypeError, match="no resource type"):
        schema.resource("aws:eks/clusterr:Clusterr")
    with pytest.raises(schema.UnknownTypeError, match="no module"):
        schema.resource("aws:nonsense/thing:Thing")


def test_arguments_are_found_where_a_nested_type_has_their_usual_name() -> None:
    shape = schema.resource("aws:s3/bucketVersioning:BucketVersioning")
    assert "versioningConfiguration" in shape.inputs.required


def test_every_bucket_setting_and_network_type_is_found_by_being_there() -> None:
    tokens = set(catalogue.resources())
    assert {"aws:ec2/vpcEndpoint:VpcEndpoint", "aws:s3/bucketPolicy:BucketPolicy"} <= tokens
    assert tokens == set(IMPORT_IDS), "each type has its import id in the table above"
