"""fsx-filesystem-template.yaml and fsx-k8s-integration-template.yaml: a Lustre file system, and its volume.

Sources: the templates at commits 07829e41 and 23a9811a, and the function of the second
(``resources/fsx-for-lustre``) at 23a9811a, of aws/sagemaker-hyperpod-cluster-setup.  The file system has no
DeletionPolicy: it goes with its stack, and everything on it.  Functions that fail answer without their
reason: it stands in their log only.
"""

from __future__ import annotations

from typing import Any

from moto.fsx.models import fsx_backends

from mlcc_rehearsal.cloud import durations, laws_hyperpod
from mlcc_rehearsal.cloud.cloudformation.nested import eksctl
from mlcc_rehearsal.cloud.cloudformation.nested.eks import addon, eks_of
from mlcc_rehearsal.cloud.cloudformation.nested.functions import function, invoked, layer, unsaid
from mlcc_rehearsal.cloud.cloudformation.nested.helm import access_entry
from mlcc_rehearsal.cloud.cloudformation.nested.network import TAG
from mlcc_rehearsal.cloud.cloudformation.nested.roles import role
from mlcc_rehearsal.cloud.cloudformation.parts import Part, Run, Template, wait
from mlcc_rehearsal.cloud.cloudformation.stacks import Stack
from mlcc_rehearsal.cloud.cloudformation.tasks import Work, handler_failed
from mlcc_rehearsal.cloud.ec2.network import find_subnet
from mlcc_rehearsal.cloud.eks.models import Cluster
from mlcc_rehearsal.cloud.fsx import LustreFileSystem

_BASIC = ["service-role/AWSLambdaBasicExecutionRole"]
_ACCOUNT = {"namespace": "kube-system", "name": "fsx-csi-controller-sa"}
_CLASS, _VOLUME, _CLAIM = "fsx-sc", "fsx-pv", "fsx-claim"


# --- the file system -------------------------------------------------------------------------------------


def _choose_subnet(run: Run) -> Work:
    """Find the subnet of the zone, or look at the file system that was brought."""
    parameters = run.stack.parameters
    invoked(run, run.physical("FsxHelperFunction"))
    run.made(f"{run.stack.name}-FsxHelperResource")
    yield from wait("cloudformation.custom_resource")
    if parameters["FsxFileSystemId"]:
        if parameters["FsxFileSystemId"] not in _file_systems(run):
            raise laws_hyperpod.FSX_SUBNET.broken(unsaid(run))
        return
    chosen = parameters["FsxSubnetId"]
    for subnet_id in [] if chosen else parameters["PrivateSubnetIds"].split(","):
        found = find_subnet(run.account, run.region, subnet_id.strip())
        if found is not None and found.availability_zone_id == parameters["FsxAvailabilityZoneId"]:
            chosen = subnet_id.strip()
            break
    if not chosen:
        raise laws_hyperpod.FSX_SUBNET.broken(unsaid(run))
    run.resource.attributes["SubnetId"] = chosen


def _file_systems(run: Run) -> dict[str, Any]:
    found: dict[str, Any] = fsx_backends[run.account.account_id][run.region].file_systems
    return found


def _create_file_system(run: Run) -> Work:
    parameters = run.stack.parameters
    capacity = int(float(parameters["StorageCapacity"]))
    if capacity != 1200 and (capacity < 2400 or capacity % 2400):
        message = (
            "File system cannot be created: StorageCapacity must be 1200, 2400 or a multiple of 2400 for "
            f"deployment type {parameters['DeploymentType']}, not {capacity} (Service: FSx, Status Code: 400)"
        )
        raise laws_hyperpod.FSX_CAPACITY.broken(handler_failed(message, "InvalidRequest"))
    name = f"{parameters['ResourceNamePrefix']}-fsx-lustre"
    system: Any = LustreFileSystem(
        run.account,
        run.region,
        capacity=capacity,
        subnet=str(run.stack.resources["FsxHelperResource"].attributes["SubnetId"]),
        group=parameters["SecurityGroupIds"],
        settings={
            "DeploymentType": parameters["DeploymentType"],
            "PerUnitStorageThroughput": int(float(parameters["PerUnitStorageThroughput"])),
            "DataCompressionType": parameters["DataCompressionType"],
        },
        version=parameters["FileSystemTypeVersion"],
        tags=run.tags(**{TAG: name, "Name": name}),
    )
    run.made(system.file_system_id)
    yield from wait("fsx.file_system.create")
    system.lifecycle = "AVAILABLE"


def _delete_file_system(run: Run) -> Work:
    found = _file_systems(run).get(str(run.resource.physical_id))
    if found is not None:
        found.lifecycle = "DELETING"
        yield from wait("fsx.file_system.delete")
        found.gone()


def _file_system_parts(stack: Stack) -> list[Part]:
    parameters = stack.parameters
    keys = ("FsxFileSystemId", "FsxSubnetId", "FsxAvailabilityZoneId", "PrivateSubnetIds")
    parts = [
        role("FsxLambdaExecutionRole", "lambda.amazonaws.com", managed=_BASIC),
        function("FsxHelperFunction", None, ("FsxLambdaExecutionRole",)),
        Part(
            "FsxHelperResource",
            "AWS::CloudFormation::CustomResource",
            _choose_subnet,
            _forget,
            ("FsxHelperFunction",),
            {key: parameters[key] for key in keys},
            update=lambda run, before: _choose_subnet(run),
        ),
    ]
    if not parameters["FsxFileSystemId"]:
        create_only = ("DeploymentType", "FileSystemTypeVersion", "SecurityGroupIds")
        changed = ("DataCompressionType", "PerUnitStorageThroughput", "StorageCapacity")
        parts.append(
            Part(
                "FSxLustreFileSystem",
                "AWS::FSx::FileSystem",
                _create_file_system,
                _delete_file_system,
                ("FsxHelperResource",),
                {key: parameters[key] for key in (*create_only, *changed)},
                update=_update_file_system,
                create_only=create_only,
                tagged=True,
            )
        )
    return parts


def _forget(run: Run) -> Work:
    invoked(run, run.physical("FsxHelperFunction"))
    yield durations.seconds("cloudformation.custom_resource")


def _update_file_system(run: Run, before: dict[str, Any]) -> Work:
    del before
    found = _file_systems(run).get(str(run.resource.physical_id))
    if found is not None:
        found.storage_capacity = int(float(run.stack.parameters["StorageCapacity"]))
    yield 30.0


FSX_FILESYSTEM = Template(
    "fsx-filesystem-template.yaml",
    "Fsx Filesystem Stack",
    _file_system_parts,
    lambda stack: {
        "FsxFileSystemId": stack.parameters["FsxFileSystemId"]
        or str(stack.resources["FSxLustreFileSystem"].physical_id)
    },
)

# --- what the cluster knows of it ------------------------------------------------------------------------


def _function_name(stack: Stack) -> str:
    return f"{stack.parameters['ResourceNamePrefix']}fsxfunc1"


def _cluster(run: Run) -> Cluster:
    name = run.stack.parameters["EKSClusterName"]
    cluster: Cluster | None = eks_of(run).clusters.get(name)
    if cluster is None or cluster.status not in ("ACTIVE", "UPDATING"):
        raise unsaid(run)
    return cluster


def _service_account(run: Run) -> Work:
    """Step 1: the IAM OIDC provider, and the driver's service account with a role of its own."""
    invoked(run, _function_name(run.stack))
    run.made(f"{run.stack.name}-FsxCustomResourceStep1")
    cluster = _cluster(run)
    yield from eksctl.associate_oidc_provider(run, cluster)
    yield from eksctl.create_service_account(
        run, cluster, **_ACCOUNT, policy="AmazonFSxFullAccess", role_name=f"FSXLCSI-{cluster.name}"
    )


def _no_service_account(run: Run) -> Work:
    """Always well; the OIDC provider stays: the law "hyperpod-stack-oidc-provider"."""
    invoked(run, _function_name(run.stack))
    cluster = eks_of(run).clusters.get(run.stack.parameters["EKSClusterName"])
    if cluster is not None:
        yield from eksctl.delete_service_account(run, cluster, **_ACCOUNT)
    yield durations.seconds("cloudformation.custom_resource")


def _volume(run: Run) -> Work:
    """Step 2: storage class, volume and claim for the file system."""
    invoked(run, _function_name(run.stack))
    run.made(f"{run.stack.name}-FsxCustomResourceStep2")
    yield from wait("cloudformation.custom_resource")
    cluster = _cluster(run)
    system = _file_systems(run).get(run.stack.parameters["FsxFileSystemId"])
    if system is None:
        raise unsaid(run)
    if cluster.kubernetes is not None:
        cluster.kubernetes.put(*_objects(system))


def _no_volume(run: Run) -> Work:
    invoked(run, _function_name(run.stack))
    cluster = eks_of(run).clusters.get(run.stack.parameters["EKSClusterName"])
    if cluster is not None and cluster.kubernetes is not None:
        cluster.kubernetes.delete(*reversed(_objects(None)))
    yield 20.0


def _objects(system: Any) -> list[dict[str, Any]]:
    """Storage class, volume and claim; without a file system only what names them."""
    described = system.to_dict() if system is not None else {}
    size = f"{described.get('StorageCapacity', 0)}Gi"
    shared = {"accessModes": ["ReadWriteMany"], "storageClassName": _CLASS}
    return [
        {
            "apiVersion": "storage.k8s.io/v1",
            "kind": "StorageClass",
            "metadata": {"name": _CLASS},
            "provisioner": "fsx.csi.aws.com",
            "parameters": {
                "fileSystemId": described.get("FileSystemId", ""),
                "subnetId": ",".join(described.get("SubnetIds", [])),
                "securityGroupIds": ",".join(described.get("NetworkInterfaceIds", [])),
            },
        },
        {
            "apiVersion": "v1",
            "kind": "PersistentVolume",
            "metadata": {"name": _VOLUME},
            "spec": {
                **shared,
                "capacity": {"storage": size},
                "volumeMode": "Filesystem",
                "persistentVolumeReclaimPolicy": "Retain",
                "csi": {
                    "driver": "fsx.csi.aws.com",
                    "volumeHandle": described.get("FileSystemId", ""),
                    "volumeAttributes": {
                        "dnsname": described.get("DNSName", ""),
                        "mountname": described.get("LustreConfiguration", {}).get("MountName", ""),
                    },
                },
            },
        },
        {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": {"name": _CLAIM, "namespace": "default"},
            "spec": {**shared, "resources": {"requests": {"storage": size}}},
        },
    ]


def _integration_parts(stack: Stack) -> list[Part]:
    parameters = stack.parameters
    environment = {
        "CLUSTER_NAME": parameters["EKSClusterName"],
        "PRIVATE_SUBNET_IDS": parameters["PrivateSubnetIds"],
        "FSX_SUBNETID": parameters["FsxSubnetId"],
        "FSX_AVAILABILITY_ZONE": parameters["FsxAvailabilityZoneId"],
        "SECURITY_GROUP_ID": parameters["SecurityGroupIds"],
        "STORAGE_CAPACITY": parameters["StorageCapacity"],
        "FSX_FILE_SYSTEM_ID": parameters["FsxFileSystemId"],
    }
    custom = "AWS::CloudFormation::CustomResource"
    return [
        role("FsxCustomResourceRole", "lambda.amazonaws.com", managed=_BASIC),
        access_entry("FsxCustomResourceAccessEntry", parameters["EKSClusterName"], "FsxCustomResourceRole"),
        layer("FsxCustomResourceLayer"),
        function(
            "FsxCustomResourceFunction",
            _function_name(stack),
            ("FsxCustomResourceLayer", "FsxCustomResourceAccessEntry"),
            environment,
        ),
        Part(
            "FsxCustomResourceStep1",
            custom,
            _service_account,
            _no_service_account,
            ("FsxCustomResourceFunction",),
        ),
        addon("FSxCsiAddon", "aws-fsx-csi-driver", ("FsxCustomResourceStep1",)),
        Part("FsxCustomResourceStep2", custom, _volume, _no_volume, ("FSxCsiAddon",)),
    ]


FSX_INTEGRATION = Template(
    "fsx-k8s-integration-template.yaml",
    "Fsx K8s Integration Stack",
    _integration_parts,
    lambda _: {"FsxDeploymentComplete": "FsxDeploymentComplete"},
    artifacts=("fsx-lambda-layer.zip", "fsx-lambda-function.zip"),
)
