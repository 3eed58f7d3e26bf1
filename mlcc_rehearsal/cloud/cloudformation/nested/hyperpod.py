"""hyperpod-cluster-template.yaml, and the template that its function writes.

The function writes ``hyperpod-cluster-template.yaml`` to the lifecycle bucket; the next nested stack reads
it from there on every create and update.  The custom resource has no property but its token, so later
changes of the parameters reach the function's environment and nothing else: the law "hyperpod-stack-deaf".
"""

from __future__ import annotations

import json
from typing import Any

import yaml
from moto.s3.models import s3_backends
from moto.sagemaker.models import sagemaker_backends

from mlcc_rehearsal.cloud import laws_hyperpod
from mlcc_rehearsal.cloud.cloudformation.nested.functions import function, invoked
from mlcc_rehearsal.cloud.cloudformation.nested.roles import role
from mlcc_rehearsal.cloud.cloudformation.parts import Part, Run, Template, wait
from mlcc_rehearsal.cloud.cloudformation.stacks import Stack
from mlcc_rehearsal.cloud.cloudformation.tasks import ResourceFailed, Work, custom_failed, handler_failed
from mlcc_rehearsal.cloud.ec2.network import find_subnet
from mlcc_rehearsal.cloud.errors import ServiceException
from mlcc_rehearsal.cloud.iam_evaluation import Principal, Request
from mlcc_rehearsal.cloud.s3.policies import bucket_policy_denies

GENERATED = "hyperpod-cluster-template.yaml"
_SLOTS = 20
_KARPENTER = {
    "Version": "2012-10-17",
    "Statement": [
        {
            "Effect": "Allow",
            "Action": ["sagemaker:BatchAddClusterNodes", "sagemaker:BatchDeleteClusterNodes"],
            "Resource": "arn:aws:sagemaker:*:*:cluster/*",
        },
        {
            "Effect": "Allow",
            "Action": ["kms:CreateGrant", "kms:DescribeKey"],
            "Resource": "arn:aws:kms:*:*:key/*",
        },
    ],
}


def s3_of(stack: Stack) -> Any:
    """S3 of the account."""
    return s3_backends[stack.account.account_id][stack.account.partition]


def _function_name(stack: Stack) -> str:
    return f"{stack.parameters['ResourceNamePrefix']}hpfunc"


def settings(parameters: dict[str, str], prefix: str) -> list[dict[str, Any]]:
    """The groups of all slots; text that is not a JSON list is dropped, inner lists are flattened."""
    groups: list[dict[str, Any]] = []
    for number in range(1, _SLOTS + 1):
        try:
            value = json.loads(parameters.get(f"{prefix}{number}") or "[]")
        except ValueError:
            continue
        for item in value if isinstance(value, list) else []:
            groups.extend(item if isinstance(item, list) else [item])
    return groups


def lifecycle_config(bucket: str, path: str) -> dict[str, str]:
    """Where a group's script lies: a path without a directory is at the bucket's root."""
    directory, _, name = path.rpartition("/")
    return {"SourceS3Uri": f"s3://{bucket}/{directory}" if directory else f"s3://{bucket}", "OnCreate": name}


def _enriched(stack: Stack, groups: list[dict[str, Any]], *, restricted: bool) -> list[dict[str, Any]]:
    parameters = stack.parameters
    account = f"arn:{stack.account.partition}:iam::{stack.account.account_id}"
    execution_role = f"{account}:role/{parameters['SageMakerIAMRoleName']}"
    security_groups = [each for each in parameters["SecurityGroupIds"].split(",") if each]
    subnets = [each for each in parameters["PrivateSubnetIds"].split(",") if each]
    zones: dict[str, str] = {}
    for subnet_id in subnets:
        found = find_subnet(stack.account, stack.region, subnet_id)
        if found is not None:
            zones.setdefault(str(found.availability_zone_id), subnet_id)
    for group in groups:
        group.setdefault("ExecutionRole", execution_role)
        if not restricted:
            own = group.get("LifeCycleConfig")
            if own is not None and not any(own.values()):
                del group["LifeCycleConfig"]
            elif own is None and parameters["S3BucketName"] and parameters["OnCreatePath"]:
                group["LifeCycleConfig"] = lifecycle_config(
                    parameters["S3BucketName"], parameters["OnCreatePath"]
                )
        single = group.pop("TargetAvailabilityZoneId", None)
        wanted = group.pop("TargetAvailabilityZoneIds", None) or ([single] if single else [])
        found_subnets = [zones[zone] for zone in wanted if zone in zones]
        if found_subnets:
            group["OverrideVpcConfig"] = {
                "SecurityGroupIds": security_groups,
                **group.get("OverrideVpcConfig", {}),
                "Subnets": found_subnets,
            }
        elif "OverrideVpcConfig" in group:
            group["OverrideVpcConfig"].setdefault("SecurityGroupIds", security_groups)
    return groups


def tags_of(text: str, *, training_operator: bool) -> list[dict[str, str]]:
    """The cluster's tags: a JSON list, a JSON object, or ``k=v,k=v``."""
    tags: list[dict[str, str]] = []
    if text:
        try:
            value = json.loads(text)
            tags = value if isinstance(value, list) else [{"Key": k, "Value": v} for k, v in value.items()]
        except ValueError:
            pairs = [pair.partition("=") for pair in text.split(",") if "=" in pair]
            tags = [{"Key": key.strip(), "Value": value.strip()} for key, _, value in pairs]
    if training_operator:
        tags = [tag for tag in tags if tag.get("Key") != "SageMaker"]
        tags.append({"Key": "SageMaker", "Value": "true"})
    return tags


def cluster_body(stack: Stack) -> dict[str, Any]:
    """The properties of the cluster that the function writes down."""
    parameters = stack.parameters
    body: dict[str, Any] = {
        "ClusterName": parameters["HyperPodClusterName"],
        "NodeRecovery": parameters["NodeRecovery"],
        "VpcConfig": {
            "SecurityGroupIds": [each for each in parameters["SecurityGroupIds"].split(",") if each],
            "Subnets": [each for each in parameters["PrivateSubnetIds"].split(",") if each],
        },
        "Orchestrator": {
            "Eks": {
                "ClusterArn": f"arn:{stack.account.partition}:eks:{stack.region}:"
                f"{stack.account.account_id}:cluster/{parameters['EKSClusterName']}"
            }
        },
    }
    groups = _enriched(stack, settings(parameters, "InstanceGroupSettings"), restricted=False)
    if groups:
        body["InstanceGroups"] = groups
    tags = tags_of(
        parameters["Tags"], training_operator=parameters["EnableHPTrainingOperatorFeature"] == "true"
    )
    if tags:
        body["Tags"] = tags
    restricted = _enriched(stack, settings(parameters, "RigSettings"), restricted=True)
    if restricted:
        body["RestrictedInstanceGroups"] = restricted
    for parameter in ("TieredStorageConfig", "RestrictedInstanceGroupsConfig"):
        try:
            value = json.loads(parameters[parameter] or "null")
        except ValueError:
            value = None
        if isinstance(value, dict):
            body[parameter] = value
    if parameters["NodeProvisioningMode"] == "Continuous":
        body["NodeProvisioningMode"] = "Continuous"
        if parameters["AutoScalerType"] != "None":
            body["AutoScaling"] = {"Mode": "Enable", "AutoScalerType": parameters["AutoScalerType"]}
            role_part = stack.resources.get("ClusterRole")
            body["ClusterRole"] = (
                role_part.attributes["Arn"] if role_part else parameters["HyperPodClusterRole"]
            )
    return body


def _write(run: Run) -> Work:
    stack, bucket = run.stack, run.stack.parameters["S3BucketName"]
    invoked(run, _function_name(stack))
    run.made(f"{stack.name}-HpLambdaCustomResource")
    yield from wait("cloudformation.custom_resource")
    name = stack.parameters["HyperPodClusterName"]
    text = yaml.safe_dump(
        {
            "AWSTemplateFormatVersion": "2010-09-09",
            "Resources": {
                "NewHyperPodCluster": {"Type": "AWS::SageMaker::Cluster", "Properties": cluster_body(stack)}
            },
            "Outputs": {
                "HyperPodClusterArn": {"Value": {"Fn::GetAtt": ["NewHyperPodCluster", "ClusterArn"]}},
                "HyperPodClusterName": {"Value": name},
            },
        },
        sort_keys=False,
    )
    _check_bucket(run, bucket, "s3:PutObject", GENERATED)
    s3_of(stack).put_object(bucket, GENERATED, text.encode())
    run.resource.attributes["TemplateUrl"] = f"https://{bucket}.s3.amazonaws.com/{GENERATED}"


def _check_bucket(run: Run, bucket: str, action: str, key: str) -> None:
    """The bucket exists, is the account's, and its policy does not deny the function's role."""
    operation = action.removeprefix("s3:")
    said = "An error occurred "
    if bucket not in s3_of(run.stack).buckets:
        raise laws_hyperpod.LIFECYCLE_BUCKET.broken(
            custom_failed(
                f"{said}(NoSuchBucket) when calling the {operation} operation: The specified bucket does not "
                "exist"
            )
        )
    arn = run.stack.resources["HyperPodClusterCustomResourceRole"].attributes["Arn"]
    asked = Request(action, f"arn:{run.account.partition}:s3:::{bucket}/{key}", {}, Principal.aws(arn))
    if bucket_policy_denies(run.account, bucket, asked):
        raise laws_hyperpod.LIFECYCLE_BUCKET.broken(
            custom_failed(f"{said}(AccessDenied) when calling the {operation} operation: Access Denied")
        )


def _erase(run: Run) -> Work:
    bucket = run.stack.parameters["S3BucketName"]
    invoked(run, _function_name(run.stack))
    s3 = s3_of(run.stack)
    if bucket in s3.buckets and GENERATED in s3.buckets[bucket].keys:
        s3.delete_object(bucket, GENERATED)
    yield 10.0


def _param_parts(stack: Stack) -> list[Part]:
    parameters = stack.parameters
    parts: list[Part] = []
    karpenter = (
        parameters["NodeProvisioningMode"] == "Continuous"
        and parameters["AutoScalerType"] != "None"
        and not parameters["HyperPodClusterRole"]
    )
    if karpenter:
        name = f"{parameters['ResourceNamePrefix']}-ClsRole"
        inline = {f"{parameters['ResourceNamePrefix']}-Karpenter-Policy": _KARPENTER}
        parts.append(role("ClusterRole", "hyperpod.sagemaker.amazonaws.com", name=name, inline=inline))
    environment = {
        "HYPER_POD_CLUSTER_NAME": parameters["HyperPodClusterName"],
        "NODE_RECOVERY": parameters["NodeRecovery"],
        "NODE_PROVISIONING_MODE": parameters["NodeProvisioningMode"],
        "EKS_CLUSTER_ARN": parameters["EKSClusterName"],
        "SECURITY_GROUP_IDS": parameters["SecurityGroupIds"],
        "PRIVATE_SUBNET_IDS": parameters["PrivateSubnetIds"],
        "SAGEMAKER_IAM_ROLE_NAME": parameters["SageMakerIAMRoleName"],
        "S3_BUCKET_NAME": parameters["S3BucketName"],
        "ON_CREATE_PATH": parameters["OnCreatePath"],
        "CLUSTER_TAGS": parameters["Tags"],
        "CLUSTER_ROLE": parameters["HyperPodClusterRole"],
        "AUTOSCALER_TYPE": parameters["AutoScalerType"],
        "ENABLE_HP_TRAINING_OPERATOR_FEATURE": parameters["EnableHPTrainingOperatorFeature"],
        "TIERED_STORAGE_CONFIG": parameters["TieredStorageConfig"],
        "NUMBER_OF_INSTANCE_GROUPS": str(_SLOTS),
    }
    for number in range(1, _SLOTS + 1):
        environment[f"INSTANCE_GROUP_SETTINGS{number}"] = parameters[f"InstanceGroupSettings{number}"]
        environment[f"RIG_SETTINGS{number}"] = parameters[f"RigSettings{number}"]
    made_role = "HyperPodClusterCustomResourceRole"
    return [
        *parts,
        role(made_role, "lambda.amazonaws.com", managed=["service-role/AWSLambdaBasicExecutionRole"]),
        function("hyperPodCustomResourceFunction", _function_name(stack), (made_role,), environment),
        Part(
            "HpLambdaCustomResource",
            "AWS::CloudFormation::CustomResource",
            _write,
            _erase,
            ("hyperPodCustomResourceFunction",),
        ),
    ]


HYPERPOD_PARAM = Template(
    "hyperpod-cluster-template.yaml",
    "HyperPod Cluster Stack",
    _param_parts,
    lambda stack: {
        "HyperPodClusterTemplateUrlOutput": str(
            stack.resources["HpLambdaCustomResource"].attributes["TemplateUrl"]
        )
    },
    artifacts=("hp-lambda-function.zip",),
    named_roles=True,
)

# --- the generated template ------------------------------------------------------------------------------

# Create-only properties of AWS::SageMaker::Cluster. Source: facts/limits.json, hyperpod.cfn.
_CREATE_ONLY = ("ClusterName", "VpcConfig", "Orchestrator")


def generated(stack: Stack) -> dict[str, Any]:
    """The generated template as it lies in the bucket now.

    :raises ResourceFailed: when CloudFormation cannot read it.
    """
    bucket, _, key = stack.template_url.removeprefix("https://").partition("/")
    bucket = bucket.removesuffix(".s3.amazonaws.com")
    buckets = s3_of(stack).buckets
    if bucket not in buckets or key not in buckets[bucket].keys:
        raise laws_hyperpod.LIFECYCLE_BUCKET.broken(
            ResourceFailed(
                "S3 error: The specified key does not exist.\nFor more information check "
                "http://docs.aws.amazon.com/AmazonS3/latest/API/ErrorResponses.html"
            )
        )
    value: dict[str, Any] = yaml.safe_load(buckets[bucket].keys[key].value)
    return value


def _properties(stack: Stack) -> dict[str, Any]:
    properties: dict[str, Any] = generated(stack)["Resources"]["NewHyperPodCluster"]["Properties"]
    return properties


def call_sagemaker(run: Run, operation: str, **parameters: Any) -> dict[str, Any]:
    """An operation of SageMaker, as the stack's caller."""
    from mlcc_rehearsal.cloud.sagemaker.catalogue import call

    backend: Any = sagemaker_backends[run.account.account_id][run.region]
    return run.call("sagemaker", operation, parameters, lambda given: call(backend, operation, given))


def _tags(run: Run, body: dict[str, Any]) -> list[dict[str, str]]:
    own = {tag["Key"]: tag["Value"] for tag in body.get("Tags", [])}
    return [{"Key": key, "Value": value} for key, value in {**run.stack.tags, **own}.items()]


def _create_cluster(run: Run) -> Work:
    body = dict(run.resource.properties)
    body.pop("StackTags", None)
    answer = call_sagemaker(run, "CreateCluster", **{**body, "Tags": _tags(run, body)})
    run.made(body["ClusterName"], ClusterArn=answer["ClusterArn"])
    yield from _settled(run, answer["ClusterArn"])


def _settled(run: Run, arn: str) -> Work:
    """Wait until a cluster is InService; :raises ResourceFailed: when it comes out otherwise."""
    while True:
        yield 15.0
        described = call_sagemaker(run, "DescribeCluster", ClusterName=arn)
        status = described["ClusterStatus"]
        if status == "InService":
            return
        if status not in ("Creating", "Updating", "RollingBack", "SystemUpdating"):
            message = described.get("FailureMessage") or f"Cluster is in status {status}"
            raise handler_failed(message, "NotStabilized")


def _update_cluster(run: Run, before: dict[str, Any]) -> Work:
    """Send everything the template says, the groups of the day it was made included.

    This is the law "hyperpod-stack-update-resends".
    """
    del before
    body = {key: value for key, value in run.resource.properties.items() if key not in _CREATE_ONLY}
    body.pop("StackTags", None)
    arn = run.resource.attributes["ClusterArn"]
    call_sagemaker(run, "AddTags", ResourceArn=arn, Tags=_tags(run, body))
    body.pop("Tags", None)
    body.pop("ClusterRole", None)
    call_sagemaker(run, "UpdateCluster", ClusterName=arn, **body)
    yield from _settled(run, arn)


def _delete_cluster(run: Run) -> Work:
    arn = run.resource.attributes["ClusterArn"]
    while True:
        try:
            status = call_sagemaker(run, "DescribeCluster", ClusterName=arn)["ClusterStatus"]
        except ServiceException as gone:
            if gone.code != "ResourceNotFound":
                raise
            return
        if status in ("InService", "Failed"):
            call_sagemaker(run, "DeleteCluster", ClusterName=arn)
        yield 15.0


def _cluster_parts(stack: Stack) -> list[Part]:
    return [
        Part(
            "NewHyperPodCluster",
            "AWS::SageMaker::Cluster",
            _create_cluster,
            _delete_cluster,
            properties=_properties(stack),
            update=_update_cluster,
            create_only=_CREATE_ONLY,
            tagged=True,
        )
    ]


def _cluster_outputs(stack: Stack) -> dict[str, str]:
    resource = stack.resources["NewHyperPodCluster"]
    return {
        "HyperPodClusterArn": str(resource.attributes["ClusterArn"]),
        "HyperPodClusterName": str(resource.physical_id),
    }


HYPERPOD_CLUSTER = Template(GENERATED, "", _cluster_parts, _cluster_outputs)

__all__ = ["GENERATED", "HYPERPOD_CLUSTER", "HYPERPOD_PARAM"]
