"""s3-bucket-template.yaml, sagemaker-iam-role-template.yaml and lifecycle-script-template.yaml.

The product never asks for them (facts/hyperpod_native.md, section 2); stacks that others made have them.
"""

from __future__ import annotations

from typing import Any

from mlcc_rehearsal.cloud import laws_hyperpod
from mlcc_rehearsal.cloud.cloudformation.nested.functions import function, invoked
from mlcc_rehearsal.cloud.cloudformation.nested.hyperpod import s3_of
from mlcc_rehearsal.cloud.cloudformation.nested.network import TAG
from mlcc_rehearsal.cloud.cloudformation.nested.roles import role
from mlcc_rehearsal.cloud.cloudformation.parts import Part, Run, Template
from mlcc_rehearsal.cloud.cloudformation.stacks import Stack
from mlcc_rehearsal.cloud.cloudformation.tasks import Work, custom_failed, handler_failed

_SCRIPTS = ("on_create.sh", "on_create_main.sh")
_INTERFACE_ACTIONS = [
    "ec2:AssignPrivateIpAddresses",
    "ec2:CreateNetworkInterface",
    "ec2:CreateNetworkInterfacePermission",
    "ec2:DeleteNetworkInterface",
    "ec2:DeleteNetworkInterfacePermission",
    "ec2:ModifyNetworkInterfaceAttribute",
    "ec2:UnassignPrivateIpAddresses",
]


def _prefix(stack: Stack) -> str:
    return stack.parameters["ResourceNamePrefix"]


# --- buckets ---------------------------------------------------------------------------------------------


def _create_bucket(run: Run, name: str) -> Work:
    s3_of(run.stack).create_bucket(name, run.region)
    run.made(name)
    yield 20.0


def _delete_bucket(run: Run) -> Work:
    s3, name = s3_of(run.stack), str(run.resource.physical_id)
    if name in s3.buckets:
        if s3.buckets[name].keys:
            message = (
                "The bucket you tried to delete is not empty (Service: S3, Status Code: 409, Error Code: "
                "BucketNotEmpty)"
            )
            raise laws_hyperpod.STACK_BUCKETS.broken(handler_failed(message, "GeneralServiceException"))
        s3.delete_bucket(name)
    yield 5.0


def bucket(logical_id: str, name: str, depends: tuple[str, ...] = ()) -> Part:
    def create(run: Run) -> Work:
        yield from _create_bucket(run, name)
        if depends:
            # Access to the bucket is logged in the other one, whose objects nobody takes away.
            log = f"access-logs/{run.account.clock.timestamp():%Y-%m-%d-%H-%M-%S}"
            s3_of(run.stack).put_object(run.physical(depends[0]), log, b"access")

    return Part(logical_id, "AWS::S3::Bucket", create, _delete_bucket, depends, {"BucketName": name})


def _bucket_parts(stack: Stack) -> list[Part]:
    prefix = _prefix(stack)
    return [
        bucket("S3LogsBucket", f"{prefix}-logs"),
        bucket("S3Bucket", f"{prefix}-bucket", ("S3LogsBucket",)),
    ]


S3_BUCKET = Template(
    "s3-bucket-template.yaml",
    "S3 Bucket Stack",
    _bucket_parts,
    lambda stack: {
        "S3BucketName": str(stack.resources["S3Bucket"].physical_id),
        "S3LogsBucketName": str(stack.resources["S3LogsBucket"].physical_id),
    },
)

# --- the execution role ----------------------------------------------------------------------------------


def _statement(actions: list[str], *resources: str) -> dict[str, Any]:
    return {"Effect": "Allow", "Action": actions, "Resource": list(resources) or "*"}


def _policies(stack: Stack) -> dict[str, Any]:
    """Inline policies as AWS's template makes them.

    Source: facts/service_roles.json, inline_policies_in_aws_template.
    """
    parameters, prefix = stack.parameters, _prefix(stack)
    here = f"arn:{stack.account.partition}:ec2:{stack.region}:{stack.account.account_id}"
    bucket = f"arn:{stack.account.partition}:s3:::{parameters['S3BucketName']}"
    cluster = (
        f"arn:{stack.account.partition}:eks:{stack.region}:{stack.account.account_id}:cluster/"
        f"{parameters['EKSClusterName']}"
    )
    interfaces = "arn:aws:ec2:*:*:network-interface/*"
    documents = {
        f"{prefix}_AmazonEKS_CNI_Policy": [
            _statement(["ec2:AttachNetworkInterface"], f"{here}:instance/*", f"{here}:network-interface/*"),
            _statement(
                [
                    "ec2:DescribeInstances",
                    "ec2:DescribeTags",
                    "ec2:DescribeNetworkInterfaces",
                    "ec2:DescribeInstanceTypes",
                    "ec2:DescribeSubnets",
                ]
            ),
            _statement(["ec2:CreateTags"], interfaces),
        ],
        f"{prefix}-Policy": [
            _statement(
                _INTERFACE_ACTIONS,
                f"{here}:instance/*",
                f"{here}:network-interface/*",
                f"{here}:vpc/{parameters['VpcId']}",
            ),
            _statement(
                [
                    "ec2:DescribeVpcs",
                    "ec2:DescribeDhcpOptions",
                    "ec2:DescribeSecurityGroups",
                    "ec2:DetachNetworkInterface",
                ]
            ),
            _statement(
                [
                    "ecr:BatchCheckLayerAvailability",
                    "ecr:BatchGetImage",
                    "ecr:GetAuthorizationToken",
                    "ecr:GetDownloadUrlForLayer",
                    "cloudwatch:DescribeAlarms",
                ]
            ),
            _statement(["eks-auth:AssumeRoleForPodIdentity"], cluster),
            _statement(["ec2:CreateTags"], interfaces),
            _statement(["s3:ListBucket", "s3:GetObject"], bucket, f"{bucket}/*"),
        ],
    }
    for kind, ids in (("subnet", "PrivateSubnetIds"), ("security-group", "SecurityGroupIds")):
        for number, each in enumerate(filter(None, parameters[ids].split(",")), start=1):
            actions = [*_INTERFACE_ACTIONS, "ec2:DetachNetworkInterface"]
            documents[f"{prefix}-{kind}{number}"] = [_statement(actions, f"{here}:{kind}/{each}")]
    return {
        name: {"Version": "2012-10-17", "Statement": statements} for name, statements in documents.items()
    }


def _role_parts(stack: Stack) -> list[Part]:
    name = f"{_prefix(stack)}ExecRole"
    return [
        role(
            "ExecutionRole",
            "sagemaker.amazonaws.com",
            name=name,
            managed=["AmazonSageMakerClusterInstanceRolePolicy"],
            inline=_policies(stack),
            tags={TAG: name},
        )
    ]


SAGEMAKER_ROLE = Template(
    "sagemaker-iam-role-template.yaml",
    "SageMaker IAM Role Stack",
    _role_parts,
    lambda stack: {
        "SageMakerIAMRoleName": str(stack.resources["ExecutionRole"].physical_id),
        "SageMakerIAMRoleArn": str(stack.resources["ExecutionRole"].attributes["Arn"]),
    },
    named_roles=True,
)

# --- lifecycle scripts -----------------------------------------------------------------------------------


def _function_name(stack: Stack) -> str:
    return f"{_prefix(stack)}-lcsfunc"


def _copy_scripts(run: Run) -> Work:
    bucket = run.stack.parameters["S3BucketName"]
    invoked(run, _function_name(run.stack))
    run.made(f"{run.stack.name}-S3CustomResource")
    yield 15.0
    if bucket not in s3_of(run.stack).buckets:
        raise custom_failed(
            "An error occurred (NoSuchBucket) when calling the PutObject operation: The specified bucket "
            "does not "
            "exist"
        )
    for script in _SCRIPTS:
        s3_of(run.stack).put_object(bucket, script, b"#!/bin/bash\n")


def _empty_bucket(run: Run) -> Work:
    """Deletes every object of the bucket, whoever put it there: the law "hyperpod-stack-empties-bucket"."""
    bucket = run.stack.parameters["S3BucketName"]
    invoked(run, _function_name(run.stack))
    s3 = s3_of(run.stack)
    for key in list(s3.buckets[bucket].keys) if bucket in s3.buckets else []:
        s3.delete_object(bucket, key)
    yield 15.0


def _script_parts(stack: Stack) -> list[Part]:
    return [
        role("S3CustomResourceRole", "lambda.amazonaws.com"),
        function("S3CustomResourceFunction", _function_name(stack), ("S3CustomResourceRole",)),
        Part(
            "S3CustomResource",
            "AWS::CloudFormation::CustomResource",
            _copy_scripts,
            _empty_bucket,
            ("S3CustomResourceFunction",),
        ),
    ]


LIFECYCLE_SCRIPT = Template(
    "lifecycle-script-template.yaml", "Life Cycle Script Stack", _script_parts, lambda _: {}
)
