"""Observability: a role, a function and a custom resource of the main template, whose function makes a stack
of its own from observability-template.yaml.

Sources: data/hyperpod_eks_template.json (the three resources); observability-template.yaml at 12abe330 of
aws/sagemaker-hyperpod-cluster-setup.  The function was not seen: the stack's name is unverified.  Managed
Grafana has no API in the rehearsal: a workspace shows as the physical id of its custom resource only.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Mapping
from typing import Any

from moto.amp.models import amp_backends

from mlcc_rehearsal.cloud import durations
from mlcc_rehearsal.cloud.cloudformation import separate
from mlcc_rehearsal.cloud.cloudformation.nested.eks import addon, call_eks, eks_of
from mlcc_rehearsal.cloud.cloudformation.nested.features import POD_IDENTITY
from mlcc_rehearsal.cloud.cloudformation.nested.functions import function, invoked, unsaid
from mlcc_rehearsal.cloud.cloudformation.nested.roles import role, trust
from mlcc_rehearsal.cloud.cloudformation.parts import Part, Run, Template, at_once
from mlcc_rehearsal.cloud.cloudformation.stacks import Stack
from mlcc_rehearsal.cloud.cloudformation.tasks import Work

ADDON = "amazon-sagemaker-hyperpod-observability"
_ACCOUNT = "hyperpod-observability-operator-otel-collector"
_BASIC = "service-role/AWSLambdaBasicExecutionRole"
_ADMIN = "AmazonSageMakerHyperPodObservabilityAdminAccess"
_CUSTOM = "AWS::CloudFormation::CustomResource"
# The template's own table of regions in which it makes anything of Managed Grafana.
_GRAFANA_REGIONS = frozenset(
    {
        "us-east-1",
        "us-east-2",
        "us-west-2",
        "ap-northeast-1",
        "ap-southeast-1",
        "ap-southeast-2",
        "eu-central-1",
        "eu-west-1",
        "eu-west-2",
    }
)

# --- the separate stack ----------------------------------------------------------------------------------


def _grafana(stack: Stack) -> bool:
    return stack.region in _GRAFANA_REGIONS and stack.parameters["CreateGrafanaWorkspace"] != "disabled"


def _endpoint(logical_id: str, service: str, name: str) -> Part:
    def create(run: Run) -> Work:
        parameters = run.stack.parameters
        made = run.ec2.create_vpc_endpoint(
            parameters["VpcId"],
            f"com.amazonaws.{run.region}.{service}",
            "Interface",
            None,
            [],
            subnet_ids=[each for each in parameters["PrivateSubnetIds"].split(",") if each],
            security_group_ids=[parameters["SecurityGroupId"]],
            tags=run.tags(Name=f"{parameters['ResourceNamePrefix']}-{name}"),
            private_dns_enabled=True,
        )
        run.made(made.id)
        while made.state == "pending":
            yield 5.0

    def delete(run: Run) -> Work:
        endpoint = str(run.resource.physical_id)
        run.ec2.delete_vpc_endpoints([endpoint])
        while endpoint in run.ec2.vpc_end_points:
            yield 5.0

    return Part(logical_id, "AWS::EC2::VPCEndpoint", create, delete)


def _workspace(run: Run) -> None:
    backend = amp_backends[run.account.account_id][run.region]
    alias = f"{run.stack.parameters['ResourceNamePrefix']}-ampws"
    made = backend.create_workspace(alias, run.tags(SageMaker="true"))
    run.made(made.arn, Arn=made.arn, WorkspaceId=made.workspace_id, PrometheusEndpoint=made.endpoint)


def _no_workspace(run: Run) -> None:
    backend = amp_backends[run.account.account_id][run.region]
    backend.delete_workspace(str(run.resource.attributes["WorkspaceId"]))


def _prometheus(stack: Stack) -> dict[str, str]:
    made = stack.resources.get("PrometheusWorkspace")
    if made is not None:
        return {key: str(value) for key, value in made.attributes.items()}
    return {
        "Arn": stack.parameters["PrometheusWorkspaceArn"],
        "WorkspaceId": stack.parameters["PrometheusWorkspaceId"],
        "PrometheusEndpoint": stack.parameters["PrometheusWorkspaceEndpoint"],
    }


def _addon_role(stack: Stack) -> str:
    made = stack.resources.get("HyperPodObservabilityAddonRole")
    return str(made.attributes["Arn"]) if made else stack.parameters["HyperPodObservabilityRole"]


def _configuration(run: Run) -> str:
    workspace = _prometheus(run.stack)
    url = f"https://aps-workspaces.{run.region}.amazonaws.com/workspaces/{workspace['WorkspaceId']}"
    metrics = {
        "trainingMetrics": "TrainingMetricLevel",
        "taskGovernanceMetrics": "TaskGovernanceMetricLevel",
        "scalingMetrics": "ScalingMetricLevel",
        "customMetrics": "ClusterMetricLevel",
        "nodeMetrics": "NodeMetricLevel",
        "acceleratedComputeMetrics": "AcceleratedComputeMetricLevel",
        "networkMetrics": "NetworkMetricLevel",
    }
    levels = {key: run.stack.parameters[parameter] for key, parameter in metrics.items()}
    return json.dumps(
        {
            "ampWorkspace": {"prometheusEndpoint": url, "arn": workspace["Arn"]},
            "metricsProvider": {
                key: {"level": level, "scrapeInterval": 30}
                for key, level in {**levels, "inferenceMetrics": "BASIC"}.items()
            },
            "logging": {"enabled": run.stack.parameters["Logging"] == "true"},
        }
    )


def _custom(logical_id: str, of: str, depends: tuple[str, ...], work: Callable[[Run], None]) -> Part:
    """A custom resource whose function does something small, and nothing when it is told to delete."""

    def create(run: Run) -> Work:
        invoked(run, run.physical(of))
        run.made(f"{run.stack.name}-{logical_id}")
        yield durations.seconds("cloudformation.custom_resource")
        work(run)

    def delete(run: Run) -> Work:
        invoked(run, run.physical(of))
        yield durations.seconds("cloudformation.custom_resource")

    return Part(logical_id, _CUSTOM, create, delete, (of, *depends))


def _grafana_workspace(run: Run) -> None:
    workspace = f"g-{secrets.token_hex(5)}"
    here = f"{run.region}:{run.account.account_id}"
    name = f"{run.stack.parameters['ResourceNamePrefix']}-amgws"
    arn = f"arn:{run.account.partition}:grafana:{here}:/workspaces/{workspace}"
    run.made(workspace, WorkspaceId=workspace, Arn=arn, Name=name)


def _name_grafana(run: Run) -> None:
    """The function adds the Grafana workspace to the add-on's configuration."""
    name = run.stack.parameters["EKSClusterName"]
    cluster = eks_of(run).clusters.get(name)
    if cluster is None or ADDON not in cluster.addons:
        raise unsaid(run)
    values = json.loads(cluster.addons[ADDON].get("configurationValues") or "{}")
    made = run.stack.resources.get("GrafanaWorkspaceCustomResource")
    values["amgWorkspace"] = {
        "name": made.attributes["Name"] if made else run.stack.parameters["GrafanaWorkspaceName"],
        "arn": made.attributes["Arn"] if made else run.stack.parameters["GrafanaWorkspaceArn"],
    }
    call_eks(run, "UpdateAddon", clusterName=name, addonName=ADDON, configurationValues=json.dumps(values))


def _nothing_more(run: Run) -> None:
    del run


def _parts(stack: Stack) -> list[Part]:
    parameters, prefix = stack.parameters, stack.parameters["ResourceNamePrefix"]
    laid = "EksAddOnWith" + (
        "outAmgWithLogging" if parameters["Logging"] == "true" else "outAmgWithoutLogging"
    )
    parts = [_endpoint("PrometheusVPCEndpoint", "aps-workspaces", "pVpce")]
    before: list[str] = []
    if parameters["CreatePrometheusWorkspace"] == "true":
        before.append("PrometheusWorkspace")
        parts.append(
            Part(
                "PrometheusWorkspace",
                "AWS::APS::Workspace",
                at_once(_workspace, 20.0),
                at_once(_no_workspace),
                deletion_policy="Retain",
            )
        )
    if parameters["CreateHyperPodObservabilityRole"] == "true":
        before.append("HyperPodObservabilityAddonRole")
        parts.append(
            role(
                "HyperPodObservabilityAddonRole",
                POD_IDENTITY,
                name=f"{prefix}-AddOn",
                path="/service-role/",
            )
        )
    parts.append(
        addon(
            laid,
            ADDON,
            tuple(before),
            configurationValues=_configuration,
            podIdentityAssociations=lambda run: [
                {"roleArn": _addon_role(run.stack), "serviceAccount": _ACCOUNT}
            ],
            tags={"SageMaker": "true"},
        )
    )
    return [*parts, *(_grafana_parts(stack, laid) if _grafana(stack) else ())]


def _grafana_parts(stack: Stack, laid: str) -> list[Part]:
    parameters, prefix = stack.parameters, stack.parameters["ResourceNamePrefix"]
    administers = [_BASIC, _ADMIN]
    new = parameters["CreateGrafanaWorkspace"] == "true"
    parts = [_endpoint("GrafanaVPCEndpoint", "grafana-workspace", "gVpce")]
    if parameters["CreateGrafanaRole"] == "true":
        trusted = trust("grafana.amazonaws.com")
        parts.append(role("GrafanaWorkspaceRole", trusted, name=f"{prefix}-GraAcc", path="/service-role/"))
    roles = {
        "GrafanaWorkspaceCustomResourceRole": (f"{prefix}-AMGWS", administers),
        "AddOnUpdateLambdaRole": (f"{prefix}-AddonUpd", administers),
        "GrafanaServiceAccountLambdaRole": (f"{prefix}-SA", administers),
        "GrafanaCustomResourceRole": (f"{prefix}-AMGCR", [_BASIC]),
    }
    for logical_id, (name, policies) in roles.items():
        parts.append(role(logical_id, "lambda.amazonaws.com", name=name, managed=policies))
    workspace: tuple[str, ...] = ()
    if new:
        made, workspace = "GrafanaWorkspaceCustomResourceFunction", ("GrafanaWorkspaceCustomResource",)
        owner = ("GrafanaWorkspaceCustomResourceRole",)
        parts.append(function(made, f"{prefix}-grafana-creation-func", owner))
        parts.append(_custom(workspace[0], made, (), _grafana_workspace))
    account = "GrafanaServiceAccountCustomResource"
    parts += [
        function("AddOnUpdateLambdaFunction", f"{prefix}-AddonUpd", ("AddOnUpdateLambdaRole", *workspace)),
        _custom("AddOnUpdateCustomResource", "AddOnUpdateLambdaFunction", (laid,), _name_grafana),
        function(
            "GrafanaServiceAccountLambdaFunction",
            f"{prefix}-SAfunction",
            ("GrafanaServiceAccountLambdaRole", *workspace),
        ),
        _custom(account, "GrafanaServiceAccountLambdaFunction", (), _nothing_more),
        function(
            "GrafanaCustomResourceFunction", f"{prefix}-grafunc", ("GrafanaCustomResourceRole", account)
        ),
        _custom("GrafanaHttpCustomResources", "GrafanaCustomResourceFunction", (), _nothing_more),
    ]
    return parts


def _outputs(stack: Stack) -> dict[str, str]:
    workspace = _prometheus(stack)
    return {
        "ObservabilityRoleArn": _addon_role(stack),
        "PrometheusVPCEndpointId": str(stack.resources["PrometheusVPCEndpoint"].physical_id),
        "HyperpodPrometheusWorkspaceId": workspace["WorkspaceId"],
        "HyperpodPrometheusWorkspaceArn": workspace["Arn"],
        "HyperpodPrometheusWorkspaceEndpoint": workspace["PrometheusEndpoint"],
    }


OBSERVABILITY_STACK = Template(
    "observability-template.yaml",
    "Sagemaker Hyperpod Observability Stack",
    _parts,
    _outputs,
    named_roles=True,
)

# --- what the main template has of it --------------------------------------------------------------------


def _role(stack: Stack, properties: Mapping[str, str], depends: tuple[str, ...]) -> Part:
    del stack, depends
    name = properties["RoleName"]
    managed = [_BASIC, _ADMIN, "AWSCloudFormationFullAccess"]
    return role("ObservabilityCustomResourceRole", "lambda.amazonaws.com", name=name, managed=managed)


def _function(stack: Stack, properties: Mapping[str, str], depends: tuple[str, ...]) -> Part:
    del stack
    return function("ObservabilityCustomResourceFunction", properties["FunctionName"], depends)


def _stack_name(run: Run) -> str:
    return f"{run.stack.parameters['ResourceNamePrefix']}-observability"


def _resource(stack: Stack, properties: Mapping[str, str], depends: tuple[str, ...]) -> Part:
    del properties

    def asked(run: Run) -> dict[str, str]:
        from mlcc_rehearsal.cloud.cloudformation.main_stack import properties_of_resource

        return properties_of_resource(run.stack, "ObservabilityCustomResource")

    def create(run: Run) -> Work:
        values: dict[str, Any] = asked(run)
        run.resource.properties = {**run.resource.properties, **values}
        invoked(run, run.physical("ObservabilityCustomResourceFunction"))
        url = values.pop("StackTemplateUrl")
        name = _stack_name(run)
        yield from separate.create(run, name, OBSERVABILITY_STACK, values, url=url)
        made = separate.find(run, name)
        if made is None or made.status != "CREATE_COMPLETE":
            raise unsaid(run)
        run.made(f"{stack.name}-ObservabilityCustomResource", StackId=made.id)

    def delete(run: Run) -> Work:
        invoked(run, run.physical("ObservabilityCustomResourceFunction"))
        yield from separate.delete(run, _stack_name(run))

    def update(run: Run, before: dict[str, Any]) -> Work:
        """Unverified: what the function does with changed properties was not seen."""
        del run, before
        yield durations.seconds("cloudformation.custom_resource")

    return Part(
        "ObservabilityCustomResource",
        "Custom::ObservabilityStack",
        create,
        delete,
        depends,
        {},
        update=update,
    )


PARTS: dict[str, Callable[[Stack, Mapping[str, str], tuple[str, ...]], Part]] = {
    "ObservabilityCustomResourceRole": _role,
    "ObservabilityCustomResourceFunction": _function,
    "ObservabilityCustomResource": _resource,
}
"""Resources of the main template that are no nested stacks, by their logical ids."""
