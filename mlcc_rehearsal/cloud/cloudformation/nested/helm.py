"""helm-chart-template.yaml: a function that installs HyperPod's base chart, and what the chart leaves.

Of the chart's workloads only names and kinds are laid down (unverified: they are read off the chart's
values, aws/sagemaker-hyperpod-cli ``helm_chart/HyperPodHelmChart``).
"""

from __future__ import annotations

import base64
import gzip
import json
from typing import Any

from mlcc_rehearsal.cloud.cloudformation.nested.eks import call_eks, eks_of
from mlcc_rehearsal.cloud.cloudformation.nested.functions import function, invoked, layer
from mlcc_rehearsal.cloud.cloudformation.nested.roles import role
from mlcc_rehearsal.cloud.cloudformation.parts import Part, Run, Template, wait
from mlcc_rehearsal.cloud.cloudformation.stacks import Stack
from mlcc_rehearsal.cloud.cloudformation.tasks import Work, custom_failed

CHART, CHART_VERSION = "hyperpod-helm-chart", "0.1.0"


def _function_name(stack: Stack) -> str:
    return f"{stack.parameters['ResourceNamePrefix']}helmfunc"


def release(name: str, namespace: str, values: dict[str, Any], moment: str) -> dict[str, Any]:
    """The Secret in which Helm keeps a release.

    Source: helm.sh/helm/v3 ``pkg/storage/driver``: base64 of gzip of JSON, base64 again as Secret data.
    """
    data = {
        "name": name,
        "namespace": namespace,
        "version": 1,
        "info": {
            "first_deployed": moment,
            "last_deployed": moment,
            "deleted": "",
            "description": "Install complete",
            "status": "deployed",
        },
        "chart": {
            "metadata": {
                "name": CHART,
                "version": CHART_VERSION,
                "appVersion": CHART_VERSION,
                "apiVersion": "v2",
            },
            "templates": [],
            "values": {},
        },
        "config": values,
        "manifest": "",
    }
    packed = base64.b64encode(base64.b64encode(gzip.compress(json.dumps(data).encode()))).decode()
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "type": "helm.sh/release.v1",
        "metadata": {
            "name": f"sh.helm.release.v1.{name}.v1",
            "namespace": namespace,
            "labels": {"name": name, "owner": "helm", "status": "deployed", "version": "1"},
        },
        "data": {"release": packed},
    }


def values_of(operators: str) -> dict[str, Any]:
    """The values that ``--set`` makes of the parameter HelmOperators (``a.b=c,d=e``)."""
    values: dict[str, Any] = {}
    for pair in filter(None, operators.split(",")):
        path, _, value = pair.partition("=")
        *parents, last = path.strip().split(".")
        place = values
        for parent in parents:
            place = place.setdefault(parent, {})
        place[last] = {"true": True, "false": False}.get(value, value)
    return values


def _install(run: Run) -> Work:
    parameters = run.stack.parameters
    invoked(run, _function_name(run.stack))
    run.made(f"{run.stack.name}-helm")
    yield from wait("cloudformation.helm_chart")
    cluster = eks_of(run).clusters.get(parameters["EKSClusterName"])
    if cluster is None or cluster.status not in ("ACTIVE", "UPDATING"):
        raise custom_failed(
            "An error occurred (ResourceNotFoundException) when calling the DescribeCluster operation: No "
            f"cluster found for name: {parameters['EKSClusterName']}."
        )
    if cluster.kubernetes is not None:
        moment = run.account.clock.timestamp().isoformat()
        values = values_of(parameters["HelmOperators"])
        cluster.kubernetes.put(
            release(parameters["HelmRelease"], parameters["Namespace"], values, moment),
            *_workloads(parameters["HelmRelease"], parameters["Namespace"], values),
        )
    invoked(run, _function_name(run.stack))


def _uninstall(run: Run) -> Work:
    parameters = run.stack.parameters
    invoked(run, _function_name(run.stack))
    cluster = eks_of(run).clusters.get(parameters["EKSClusterName"])
    if cluster is not None and cluster.kubernetes is not None:
        values = values_of(parameters["HelmOperators"])
        cluster.kubernetes.delete(
            *_workloads(parameters["HelmRelease"], parameters["Namespace"], values),
            release(parameters["HelmRelease"], parameters["Namespace"], {}, ""),
        )
    yield 30.0


def _workloads(name: str, namespace: str, values: dict[str, Any]) -> list[dict[str, Any]]:
    """Workloads that the values switch on; without requests, so they only take places of pods."""
    objects: list[dict[str, Any]] = []
    if values.get("health-monitoring-agent", {}).get("enabled"):
        objects.append({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "aws-hyperpod"}})
        objects.append(_workload("DaemonSet", "health-monitoring-agent", "aws-hyperpod"))
    for key, workload in (
        ("trainingOperators", f"{name}-training-operators"),
        ("mpi-operator", f"{name}-mpi-operator"),
    ):
        if values.get(key, {}).get("enabled"):
            objects.append(_workload("Deployment", workload, namespace))
    return objects


def _workload(kind: str, name: str, namespace: str) -> dict[str, Any]:
    labels = {"app.kubernetes.io/name": name}
    spec: dict[str, Any] = {
        "selector": {"matchLabels": labels},
        "template": {
            "metadata": {"labels": labels},
            "spec": {"containers": [{"name": "main", "image": name}]},
        },
    }
    if kind == "Deployment":
        spec["replicas"] = 1
    else:
        spec["template"]["spec"]["tolerations"] = [{"operator": "Exists"}]
    return {
        "apiVersion": "apps/v1",
        "kind": kind,
        "metadata": {"name": name, "namespace": namespace, "labels": labels},
        "spec": spec,
    }


def access_entry(logical_id: str, cluster: str, of_role: str) -> Part:
    """An access entry with cluster-admin for a function's role."""

    def create(run: Run) -> Work:
        principal = run.stack.resources[of_role].attributes["Arn"]
        call_eks(run, "CreateAccessEntry", clusterName=cluster, principalArn=principal)
        call_eks(
            run,
            "AssociateAccessPolicy",
            clusterName=cluster,
            principalArn=principal,
            policyArn="arn:aws:eks::aws:cluster-access-policy/AmazonEKSClusterAdminPolicy",
            accessScope={"type": "cluster"},
        )
        run.made(f"{principal}|{cluster}", principal=principal)
        yield 5.0

    def delete(run: Run) -> Work:
        found = eks_of(run).clusters.get(cluster)
        principal = run.resource.attributes.get("principal")
        if found is not None and principal in found.access_entries and found.status != "DELETING":
            call_eks(run, "DeleteAccessEntry", clusterName=cluster, principalArn=principal)
        yield 3.0

    return Part(logical_id, "AWS::EKS::AccessEntry", create, delete, (of_role,), {"ClusterName": cluster})


def _parts(stack: Stack) -> list[Part]:
    parameters = stack.parameters
    environment = {
        "CLUSTER_NAME": parameters["EKSClusterName"],
        "GITHUB_REPO_URL": parameters["HelmRepoUrl"],
        "CHART_PATH": parameters["HelmRepoPath"],
        "OPERATORS": parameters["HelmOperators"],
        "NAMESPACE": parameters["Namespace"],
        "RELEASE_NAME": parameters["HelmRelease"],
        "CREATE_RIG": parameters["CreateRIG"],
    }
    return [
        role(
            "HelmCustomResourceRole",
            "lambda.amazonaws.com",
            managed=["service-role/AWSLambdaBasicExecutionRole"],
        ),
        access_entry("HelmCustomResourceAccessEntry", parameters["EKSClusterName"], "HelmCustomResourceRole"),
        layer("HelmCustomResourceLayer"),
        function(
            "HelmCustomResourceFunction",
            _function_name(stack),
            ("HelmCustomResourceLayer", "HelmCustomResourceAccessEntry"),
            environment,
        ),
        Part(
            "HelmCustomResource",
            "AWS::CloudFormation::CustomResource",
            _install,
            _uninstall,
            ("HelmCustomResourceFunction",),
        ),
    ]


HELM_CHART = Template(
    "helm-chart-template.yaml",
    "Helm Chart Stack",
    _parts,
    lambda _: {"HelmChartDeploymentComplete": "HelmChartDeploymentComplete"},
    artifacts=("helm-lambda-layer.zip", "helm-lambda-function.zip"),
)
