"""Task governance and the training operator: add-ons with what AWS's templates make around them.

Sources: task-governance-cluster-policy-template.yaml at 03163397, its function's template at 26ffc6db and the
function (``resources/cluster-policy``) at 05ffbaee, of aws/sagemaker-hyperpod-cluster-setup.  The training
operator's template (hpto-main-stack-template.yaml) was not seen: role, association and add-on are those of
the SageMaker developer guide, 'Installing the training operator' (unverified; its names are made up).
"""

from __future__ import annotations

import contextlib
import json
from typing import Any

from moto.sagemaker.models import sagemaker_backends

from mlcc_rehearsal.cloud import durations
from mlcc_rehearsal.cloud.cloudformation.nested.eks import addon, call_eks, eks_of
from mlcc_rehearsal.cloud.cloudformation.nested.functions import function, invoked
from mlcc_rehearsal.cloud.cloudformation.nested.roles import role
from mlcc_rehearsal.cloud.cloudformation.parts import Part, Run, Template
from mlcc_rehearsal.cloud.cloudformation.stacks import Stack
from mlcc_rehearsal.cloud.cloudformation.tasks import Work
from mlcc_rehearsal.cloud.errors import ServiceException
from mlcc_rehearsal.cloud.sagemaker import scheduler_configs

_PRIORITIES = {
    "inference": 100,
    "experimentation": 90,
    "training": 80,
    "fine-tuning": 70,
    "interactive": 60,
}
POD_IDENTITY: dict[str, Any] = {
    "Version": "2012-10-17",
    "Statement": [
        {
            "Effect": "Allow",
            "Principal": {"Service": "pods.eks.amazonaws.com"},
            "Action": ["sts:AssumeRole", "sts:TagSession"],
        }
    ],
}

# --- task governance -------------------------------------------------------------------------------------

TASK_GOVERNANCE_FUNCTION = Template(
    "task-governance-cluster-policy-lambda-template.yaml",
    "",
    lambda _: [
        role(
            "TaskGovernancePolicyLambdaRole",
            "lambda.amazonaws.com",
            managed=["service-role/AWSLambdaBasicExecutionRole"],
        ),
        function("TaskGovernancePolicyLambda", None, ("TaskGovernancePolicyLambdaRole",)),
    ],
    lambda stack: {
        "TaskGovernancePolicyLambdaArn": str(stack.resources["TaskGovernancePolicyLambda"].attributes["Arn"])
    },
    artifacts=("task-governance-cluster-policy-lambda.zip",),
)


def _priorities(text: str) -> list[dict[str, Any]]:
    try:
        return list(json.loads(text)) if text else [{"Name": k, "Weight": w} for k, w in _PRIORITIES.items()]
    except ValueError:
        return []  # the function only logs it, and SageMaker refuses what comes of it


def _create_policy(run: Run) -> Work:
    """The function answers success also when SageMaker refuses."""
    parameters = run.stack.parameters
    name = f"{parameters['EKSClusterName']}-scheduler-config"
    made: dict[str, Any] = {"ClusterSchedulerConfigArn": "", "ClusterSchedulerConfigId": f"failed-{name}"}
    yield durations.seconds("cloudformation.custom_resource")
    _invoked(run)
    with contextlib.suppress(ServiceException):
        made = scheduler_configs.create(
            _sagemaker(run),
            name=name,
            cluster_arn=parameters["HyperPodClusterArn"],
            config={
                "FairShare": parameters["FairShare"],
                "PriorityClasses": _priorities(parameters["PriorityClasses"]),
            },
        )
    run.made(str(made["ClusterSchedulerConfigId"]), **made)


def _delete_policy(run: Run) -> Work:
    _invoked(run)
    yield durations.seconds("cloudformation.custom_resource")
    _sagemaker(run).scheduler_configs.pop(str(run.resource.physical_id), None)


def _invoked(run: Run) -> None:
    parent = run.stack.parent
    beside = parent.children.get("TaskGovernanceClusterPolicyLambdaStack") if parent is not None else None
    if beside is not None:
        invoked(run, str(beside.resources["TaskGovernancePolicyLambda"].physical_id))


def _sagemaker(run: Run) -> Any:
    return sagemaker_backends[run.account.account_id][run.region]


TASK_GOVERNANCE = Template(
    "task-governance-cluster-policy-template.yaml",
    "",
    lambda _: [
        addon("TaskGovernanceAddOn", "amazon-sagemaker-hyperpod-taskgovernance", ()),
        Part(
            "ClusterSchedulerConfig",
            "Custom::ClusterSchedulerConfig",
            _create_policy,
            _delete_policy,
            ("TaskGovernanceAddOn",),
        ),
    ],
    lambda stack: {
        "ClusterSchedulerConfigArn": str(
            stack.resources["ClusterSchedulerConfig"].attributes["ClusterSchedulerConfigArn"]
        ),
        "ClusterSchedulerConfigId": str(
            stack.resources["ClusterSchedulerConfig"].attributes["ClusterSchedulerConfigId"]
        ),
        "TaskGovernanceAddonName": str(stack.resources["TaskGovernanceAddOn"].physical_id),
    },
)

# --- the training operator -------------------------------------------------------------------------------

_HPTO = {"namespace": "aws-hyperpod", "serviceAccount": "hp-training-operator-controller-manager"}


def _associate(run: Run) -> Work:
    cluster = run.stack.parameters["EKSClusterName"]
    for attempt in range(6):
        try:
            made = call_eks(
                run,
                "CreatePodIdentityAssociation",
                clusterName=cluster,
                roleArn=run.stack.resources["HPTORole"].attributes["Arn"],
                **_HPTO,
            )["association"]
        except ServiceException as refused:
            if attempt == 5 or "does not exist" not in str(refused.message):
                raise
            yield 10.0
        else:
            run.made(str(made["associationArn"]), AssociationId=made["associationId"])
            return


def _dissociate(run: Run) -> Work:
    cluster = eks_of(run).clusters.get(run.stack.parameters["EKSClusterName"])
    association = run.resource.attributes.get("AssociationId")
    if cluster is not None and association in cluster.pod_identities:
        call_eks(
            run, "DeletePodIdentityAssociation", clusterName=cluster.name, associationId=str(association)
        )
    yield 5.0


def _hpto_outputs(stack: Stack) -> dict[str, str]:
    made = stack.resources["HPTORole"]
    return {"HPTOIAMRoleArn": str(made.attributes["Arn"]), "HPTOIAMRoleName": str(made.physical_id)}


TRAINING_OPERATOR = Template(
    "hpto-main-stack-template.yaml",
    "HyperPod Training Operator Stack",
    lambda _: [
        role("HPTORole", POD_IDENTITY, managed=["AmazonSageMakerHyperPodTrainingOperatorAccess"]),
        Part(
            "HPTOPodIdentityAssociation",
            "AWS::EKS::PodIdentityAssociation",
            _associate,
            _dissociate,
            ("HPTORole",),
        ),
        addon("HPTOAddOn", "amazon-sagemaker-hyperpod-training-operator", ("HPTOPodIdentityAssociation",)),
    ],
    _hpto_outputs,
)
