"""What the template makes of FSx, operators, governance and observability when asked, and what stays."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from moto.eks.models import eks_backends

from mlcc_rehearsal.cloud import Cloud, CloudOptions
from tests.unit.rehearsal_cloud.conftest import _ACCOUNTS, Desk
from tests.unit.rehearsal_cloud.hyperpod_desk import STACK, HyperPodDesk

EKS = f"{STACK}-eks"
FSX = {"CreateFsxStack": "true", "FsxAvailabilityZoneId": "usw2-az1"}
INFERENCE = {
    "EnableHPInferenceFeature": "true",
    "EnableHPInferenceAddonFeature": "true",
    "TlsCertificateBucketName": "hyperpod-tls-demo-0123abcd",
    "ResourceNameShortPrefix": "mabcdef0",
}
OPERATOR = "amazon-sagemaker-hyperpod-inference"


@pytest.fixture
def hp() -> Iterator[HyperPodDesk]:
    """A desk whose clusters have a Kubernetes API."""
    with Cloud.start(CloudOptions(account_id=str(next(_ACCOUNTS)), speed=1.0)) as cloud:
        yield HyperPodDesk(Desk(cloud)).prepare()


@pytest.fixture
def bare(desk: Desk) -> HyperPodDesk:
    """A desk whose clusters have none."""
    return HyperPodDesk(desk).prepare()


def kubernetes(hp: HyperPodDesk) -> Any:
    backend: Any = eks_backends[hp.desk.cloud.account.account_id]["us-west-2"]
    return backend.clusters[EKS].kubernetes.objects


def addon(hp: HyperPodDesk, name: str) -> dict[str, Any]:
    return dict(hp.desk.eks.describe_addon(clusterName=EKS, addonName=name)["addon"])


def addons(hp: HyperPodDesk) -> list[str]:
    return list(hp.desk.eks.list_addons(clusterName=EKS)["addons"])


def roles(hp: HyperPodDesk) -> dict[str, dict[str, Any]]:
    pages = hp.desk.iam.get_paginator("list_roles").paginate()
    return {role["RoleName"]: role for page in pages for role in page["Roles"]}


def providers(hp: HyperPodDesk) -> list[str]:
    return [each["Arn"] for each in hp.desk.iam.list_open_id_connect_providers()["OpenIDConnectProviderList"]]


def stacks(hp: HyperPodDesk, status: str = "CREATE_COMPLETE") -> list[str]:
    pages = hp.cfn.get_paginator("list_stacks").paginate(StackStatusFilter=[status])
    return sorted(stack["StackName"] for page in pages for stack in page["StackSummaries"])


def delete(hp: HyperPodDesk, stack: str) -> str:
    stack = str(hp.stack(stack)["StackId"])
    hp.cfn.delete_stack(StackName=stack)
    return str(hp.settle(stack)["StackStatus"])


def order(hp: HyperPodDesk, stack: str, *names: str) -> None:
    """That nested stacks came one after the other."""
    seen = [(e["LogicalResourceId"], e["ResourceStatus"]) for e in hp.events(stack)]
    for before, after in itertools.pairwise(names):
        assert seen.index((before, "CREATE_COMPLETE")) < seen.index((after, "CREATE_IN_PROGRESS")), after


# --- FSx -------------------------------------------------------------------------------------------------


def test_rule_05_fsx_brings_a_file_system_an_oidc_provider_and_the_driver(hp: HyperPodDesk) -> None:
    stack = hp.create(parameters=FSX)
    assert hp.status(stack) == "CREATE_COMPLETE", hp.failures(stack)
    order(hp, stack, "EKSClusterStack", "FsxK8sIntegrationStack", "HyperPodParamClusterStack")
    order(hp, stack, "FsxFilesystemStack", "FsxK8sIntegrationStack")
    [system] = hp.desk.client("fsx").describe_file_systems()["FileSystems"]
    assert (system["Lifecycle"], system["StorageCapacity"]) == ("AVAILABLE", 1200)
    assert system["LustreConfiguration"]["DeploymentType"] == "PERSISTENT_2"
    assert system["SubnetIds"] == hp.outputs()["OutputPrivateSubnetIds"].split(",")[:1]
    cluster = hp.desk.eks.describe_cluster(name=EKS)["cluster"]
    host = cluster["identity"]["oidc"]["issuer"].removeprefix("https://")
    assert [arn.split("oidc-provider/", 1)[1] for arn in providers(hp)] == [host]
    assert "aws-fsx-csi-driver" in addons(hp)
    assert f"FSXLCSI-{EKS}" in roles(hp)
    own = f"eksctl-{EKS}-addon-iamserviceaccount-kube-system-fsx-csi-controller-sa"
    assert own in stacks(hp)
    account = kubernetes(hp).get("v1", "ServiceAccount", "kube-system", "fsx-csi-controller-sa")
    assert account["metadata"]["annotations"]["eks.amazonaws.com/role-arn"].endswith(f"/FSXLCSI-{EKS}")
    volume = kubernetes(hp).get("v1", "PersistentVolume", None, "fsx-pv")
    assert volume["spec"]["csi"]["volumeHandle"] == system["FileSystemId"]
    assert (
        volume["spec"]["csi"]["volumeAttributes"]["mountname"] == system["LustreConfiguration"]["MountName"]
    )
    assert kubernetes(hp).get("v1", "PersistentVolumeClaim", "default", "fsx-claim")

    assert delete(hp, stack) == "DELETE_COMPLETE"
    assert hp.desk.client("fsx").describe_file_systems()["FileSystems"] == []
    assert f"FSXLCSI-{EKS}" not in roles(hp)
    assert stacks(hp) == []
    # The law "hyperpod-stack-oidc-provider": nobody takes it away.
    assert [arn.split("oidc-provider/", 1)[1] for arn in providers(hp)] == [host]
    tags = hp.desk.iam.list_open_id_connect_provider_tags(OpenIDConnectProviderArn=providers(hp)[0])["Tags"]
    assert tags == [{"Key": "alpha.eksctl.io/cluster-name", "Value": EKS}]


def test_a_zone_without_a_subnet_fails_the_stack_without_saying_so(bare: HyperPodDesk) -> None:
    """The law "hyperpod-stack-fsx-zone"."""
    stack = bare.create(parameters={**FSX, "FsxAvailabilityZoneId": "use2-az1"})
    assert bare.status(stack) == "ROLLBACK_COMPLETE"
    [(where, reason), *_] = bare.failures(bare.nested("FsxFilesystemStack", stack))
    assert where == "FsxHelperResource"
    assert "See the details in CloudWatch Log Stream" in reason
    assert "use2-az1" not in reason


def test_a_capacity_that_lustre_does_not_have_is_refused(bare: HyperPodDesk) -> None:
    """The law "fsx-capacity"."""
    stack = bare.create(parameters={**FSX, "StorageCapacity": "3600"})
    assert bare.status(stack) == "ROLLBACK_COMPLETE"
    reasons = dict(bare.failures(bare.nested("FsxFilesystemStack", stack)))
    assert "multiple of 2400" in reasons["FSxLustreFileSystem"]


# --- the inference operator by the add-on's template -----------------------------------------------------


def test_rule_10_the_template_installs_an_old_operator_with_roles_of_its_own(hp: HyperPodDesk) -> None:
    hp.desk.client("s3").create_bucket(
        Bucket=INFERENCE["TlsCertificateBucketName"],
        CreateBucketConfiguration={"LocationConstraint": "us-west-2"},
    )
    stack = hp.create(parameters=INFERENCE)
    assert hp.status(stack) == "CREATE_COMPLETE", hp.failures(stack)
    order(hp, stack, "HyperPodClusterStack", "CertManagerStack", "InferenceOperatorAddonStack")
    inner = hp.nested("InferenceOperatorAddonStack", stack)
    order(hp, inner, "EksOidcProviderStack", "InferenceAddonIamRolesStack", "S3CsiDriverStack")
    for before in ("CertManagerStack", "FsxCsiDriverStack", "S3CsiDriverStack"):
        order(hp, inner, before, "HyperPodInferenceAddonStack")
    hp.desk.pass_time(900)

    operator = addon(hp, OPERATOR)
    assert (operator["addonVersion"], operator["status"]) == ("v1.0.0-eksbuild.1", "ACTIVE")
    assert operator["tags"] == {"CreatedBy": "HyperPodInference"}
    values = json.loads(operator["configurationValues"])
    assert "hyperpodClusterArn" not in values
    assert "inferenceGateway" not in values
    assert values["tlsCertificateS3Bucket"] == INFERENCE["TlsCertificateBucketName"]
    role = values["executionRoleArn"].rsplit("/", 1)[-1]
    suffix = role.removeprefix("SageMakerHyperPodInference-")
    assert len(suffix) == 8
    for kind in ("lbc", "keda", "s3csi", "fsxcsi", "gate"):
        assert f"inf-mabcdef0-{kind}-{suffix}" in roles(hp)
    driver = addon(hp, "aws-mountpoint-s3-csi-driver")
    assert driver["serviceAccountRoleArn"].endswith(f"/inf-mabcdef0-s3csi-{suffix}")
    trust = roles(hp)[role]["AssumeRolePolicyDocument"]["Statement"]
    assert trust[0]["Principal"] == {"Service": "sagemaker.amazonaws.com"}
    assert trust[1]["Principal"]["Federated"] == providers(hp)[0]
    assert addon(hp, "cert-manager")["addonVersion"] == "v1.18.2-eksbuild.2"
    outputs = hp.outputs(stack)
    assert outputs["OutputInfOperatorIAMRoleName"] == role
    assert outputs["OutputTLSCertificatesBucketName"] == INFERENCE["TlsCertificateBucketName"]

    assert delete(hp, stack) == "DELETE_COMPLETE"
    # The law "stack-retained": four nested stacks, two roles and a policy outlive the cluster.
    parts = {name.rsplit("-", 2)[-2] for name in stacks(hp)}
    assert parts == {"CertManagerStack", "FsxCsiDriverStack", "S3CsiDriverStack", "MetricsServerStack"}
    assert {f"inf-mabcdef0-s3csi-{suffix}", f"inf-mabcdef0-fsxcsi-{suffix}"} <= set(roles(hp))
    assert role not in roles(hp)
    for name in stacks(hp):
        assert delete(hp, name) == "DELETE_COMPLETE", name


def test_the_operators_stack_is_green_whatever_becomes_of_the_add_on(hp: HyperPodDesk) -> None:
    """The law "hyperpod-stack-operator-success": its roles are named otherwise here, and the add-on fails."""
    role = hp.desk.role("somebody-elses", {"Version": "2012-10-17", "Statement": _TRUST})
    stack = hp.create(parameters={**INFERENCE, "InferenceOperatorExecutionRoleArn": role})
    assert hp.status(stack) == "CREATE_COMPLETE"
    assert addon(hp, OPERATOR)["status"] == "CREATE_FAILED"
    assert hp.outputs()["OutputInfOperatorIAMRoleName"] == "somebody-elses"


_TRUST = [
    {"Effect": "Allow", "Principal": {"Service": "sagemaker.amazonaws.com"}, "Action": "sts:AssumeRole"}
]


def test_a_creation_that_is_rolled_back_keeps_nothing(bare: HyperPodDesk) -> None:
    """RetainExceptOnCreate, the other half of the law "stack-retained"."""
    fault = {
        "service": "cloudformation-resource",
        "operation": "HyperPodInferenceAddonStack",
        "effect": "error",
        "code": "InternalFailure",
    }
    bare.desk.cloud.account.faults.add([fault])
    stack = bare.create(parameters=INFERENCE)
    assert bare.status(stack) == "ROLLBACK_COMPLETE"
    assert stacks(bare) == []
    assert [name for name in roles(bare) if name.startswith("inf-")] == []


# --- cert-manager ----------------------------------------------------------------------------------------


def test_rule_10_the_templates_function_takes_cert_manager_away_whoever_owns_it(hp: HyperPodDesk) -> None:
    """The law "hyperpod-stack-cert-manager"."""
    governed = {"EnableHPTrainingOperatorFeature": "true"}
    stack = hp.create(parameters=governed)
    assert hp.status(stack) == "CREATE_COMPLETE", hp.failures(stack)
    hp.desk.eks.delete_addon(clusterName=EKS, addonName="cert-manager")
    hp.desk.pass_time(60)
    hp.desk.eks.create_addon(clusterName=EKS, addonName="cert-manager", tags={"owner": "somebody"})
    hp.desk.pass_time(600)
    assert addon(hp, "cert-manager")["addonVersion"] == "v1.20.2-eksbuild.3"
    hp.cfn.update_stack(
        StackName=stack,
        UsePreviousTemplate=True,
        Capabilities=["CAPABILITY_NAMED_IAM", "CAPABILITY_AUTO_EXPAND"],
        Parameters=hp.parameters(EnableHPTrainingOperatorFeature="false"),
    )
    assert hp.settle(stack)["StackStatus"] == "UPDATE_COMPLETE"
    assert "cert-manager" not in addons(hp)


# --- governance, training operator -----------------------------------------------------------------------


def test_governance_and_training_operator_come_with_role_add_on_and_policy(
    hp: HyperPodDesk, refused: Callable[..., Any]
) -> None:
    del refused
    stack = hp.create(
        parameters={
            "EnableHPTrainingOperatorFeature": "true",
            "CreateTaskGovernanceClusterPolicyStack": "true",
        }
    )
    assert hp.status(stack) == "CREATE_COMPLETE", hp.failures(stack)
    for after in ("HPTrainingOperatorMainStack", "TaskGovernanceClusterPolicyStack"):
        order(hp, stack, "HyperPodClusterStack", "CertManagerStack", after)
    outputs = hp.outputs()
    assert outputs["OutputHPTOIAMRoleName"] in roles(hp)
    [association] = hp.desk.eks.list_pod_identity_associations(clusterName=EKS)["associations"]
    assert association["namespace"] == "aws-hyperpod"
    assert {
        "amazon-sagemaker-hyperpod-training-operator",
        "amazon-sagemaker-hyperpod-taskgovernance",
    } <= set(addons(hp))
    described = hp.sagemaker.describe_cluster_scheduler_config(
        ClusterSchedulerConfigId=outputs["ClusterSchedulerConfigId"]
    )
    weights = {each["Name"]: each["Weight"] for each in described["SchedulerConfig"]["PriorityClasses"]}
    assert weights["inference"] == 100
    assert described["ClusterArn"] == outputs["OutputHyperPodClusterArn"]
    tags = hp.sagemaker.list_tags(ResourceArn=outputs["OutputHyperPodClusterArn"])["Tags"]
    assert {"Key": "SageMaker", "Value": "true"} in tags
    # The law "scheduler-config".
    with pytest.raises(Exception, match="exists for cluster"):
        hp.sagemaker.create_cluster_scheduler_config(
            Name="second", ClusterArn=described["ClusterArn"], SchedulerConfig={"FairShare": "Disabled"}
        )
    assert delete(hp, stack) == "DELETE_COMPLETE"
    assert hp.sagemaker.list_cluster_scheduler_configs()["ClusterSchedulerConfigSummaries"] == []
    assert outputs["OutputHPTOIAMRoleName"] not in roles(hp)


# --- observability ---------------------------------------------------------------------------------------


def test_observability_is_a_stack_of_its_own_whose_workspace_stays(bare: HyperPodDesk) -> None:
    made = {
        "CreateHyperPodObservabilityRole": "true",
        "CreatePrometheusWorkspace": "true",
        "CreateGrafanaWorkspace": "true",
        "CreateGrafanaRole": "true",
    }
    stack = bare.create(parameters={"EnableObservabilityFeature": "true", **made})
    assert bare.status(stack) == "CREATE_COMPLETE", bare.failures(stack)
    own = bare.outputs()["OutputObservabilityStackId"]
    assert "ParentId" not in bare.stack(own)
    outputs = bare.outputs(own)
    bare.desk.pass_time(60)
    [workspace] = bare.desk.client("amp").list_workspaces()["workspaces"]
    assert workspace["alias"] == f"{STACK}-ampws"
    assert outputs["HyperpodPrometheusWorkspaceId"] == workspace["workspaceId"]
    values = json.loads(addon(bare, "amazon-sagemaker-hyperpod-observability")["configurationValues"])
    assert values["ampWorkspace"]["arn"] == workspace["arn"]
    assert values["amgWorkspace"]["name"] == f"{STACK}-amgws"
    endpoints = bare.desk.ec2.describe_vpc_endpoints()["VpcEndpoints"]
    services = {each["ServiceName"].rsplit(".", 1)[-1] for each in endpoints}
    assert services == {"s3", "aps-workspaces", "grafana-workspace"}
    assert {f"{STACK}-ObsRole", f"{STACK}-AddOn", f"{STACK}-GraAcc"} <= set(roles(bare))

    assert delete(bare, stack) == "DELETE_COMPLETE"
    assert bare.status(own) == "DELETE_COMPLETE"
    assert bare.desk.client("amp").list_workspaces()["workspaces"][0]["arn"] == workspace["arn"]
    assert not [name for name in roles(bare) if name.startswith(f"{STACK}-")]


# --- what is not modelled --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"EnableHPInferenceFeature": "true"}, "InferenceOperatorMainStack (the inference operator by Helm"),
        ({"RigSettings1": '[{"InstanceGroupName":"r"}]'}, "RigEndpointStack (restricted instance groups"),
        ({"DataScientistRole1": "arn:aws:iam::1:role/x"}, "DataScientistSetupStack"),
        ({"TieredKVCacheConfig": "{}"}, "TieredStorageUpdateStack"),
    ],
)
def test_what_no_profile_can_ask_for_is_refused_with_the_reason(
    desk: Desk, refused: Callable[..., Any], parameters: dict[str, str], words: str
) -> None:
    hp = HyperPodDesk(desk).prepare()
    with refused("RehearsalNotImplemented") as seen:
        hp.begin(parameters=parameters)
    assert words in seen.text
