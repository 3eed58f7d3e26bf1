"""A HyperPod cluster in memory, as far as UpdateCluster and the calls that look at it go."""

from __future__ import annotations

import copy
import datetime
from typing import Any

import boto3
from botocore.exceptions import ClientError

from mlcc_rehearsal.kubernetes_api import KubernetesApi

ROLE = "arn:aws:iam::123456789012:role/mlcc-demo-hyperpod-instance-role"
ARN = "arn:aws:sagemaker:us-west-2:123456789012:cluster/abcdefghijkl"
LIFECYCLE = {"SourceS3Uri": "s3://sagemaker-mlcc-demo-88de702d/lifecycle", "OnCreate": "on_create.sh"}


def described(specification: dict[str, Any], current: int | None = None) -> dict[str, Any]:
    """A group as DescribeCluster shows what was asked for."""
    shown = copy.deepcopy(specification)
    count = shown.pop("InstanceCount")
    kubernetes = shown.pop("KubernetesConfig", None)
    if kubernetes is not None:
        shown["KubernetesConfig"] = {
            f"{state}{kind}": kubernetes.get(kind) or empty
            for state in ("Current", "Desired")
            for kind, empty in (("Labels", {}), ("Taints", []))
        }
    if "MinInstanceCount" in shown:
        shown["MinCount"] = shown.pop("MinInstanceCount")
    if "InstanceRequirements" in shown:
        types = shown.pop("InstanceRequirements")["InstanceTypes"]
        shown["InstanceRequirements"] = {"CurrentInstanceTypes": types, "DesiredInstanceTypes": types}
    have = count if current is None else current
    return {**shown, "TargetCount": count, "CurrentCount": have, "Status": "InService"}


def group(name: str, count: int = 2, instance_type: str = "ml.c5.4xlarge", **more: Any) -> dict[str, Any]:
    """A group as the template made it."""
    return {
        "InstanceGroupName": name,
        "InstanceType": instance_type,
        "InstanceCount": count,
        "ExecutionRole": ROLE,
        "LifeCycleConfig": dict(LIFECYCLE),
        **more,
    }


class SageMaker:
    """boto3's client. `omitted` is what happens to groups that a call leaves out: `stay` or `go`."""

    def __init__(self, *groups: dict[str, Any], omitted: str = "stay") -> None:
        self.omitted = omitted
        self.updates: list[dict[str, Any]] = []
        self.groups = {item["InstanceGroupName"]: described(item) for item in groups}
        self.events: list[dict[str, Any]] = []
        self.details: dict[str, str] = {}
        self.status = "InService"
        self.statuses: list[str] = []
        self.absent = False
        self.short: dict[str, int] = {}
        self.node_status: dict[str, str] = {}
        self.conflicts = 0
        self.more: dict[str, Any] = {}

    def _gone(self, operation: str) -> None:
        if self.absent:
            raise ClientError({"Error": {"Code": "ResourceNotFound", "Message": "no"}}, operation)

    def describe_cluster(self, **_given: str) -> dict[str, Any]:
        self._gone("DescribeCluster")
        groups = [
            {**item, "CurrentCount": min(item["TargetCount"], self.short.get(name, item["TargetCount"]))}
            for name, item in self.groups.items()
        ]
        return {
            "ClusterName": "mlcc-demo-hyperpod",
            "ClusterArn": ARN,
            "ClusterStatus": self.statuses.pop(0) if self.statuses else self.status,
            "InstanceGroups": copy.deepcopy(groups),
            "VpcConfig": {"Subnets": ["subnet-1", "subnet-2"], "SecurityGroupIds": ["sg-1"]},
            **self.more,
        }

    def nodes(self) -> list[dict[str, Any]]:
        return [
            {
                "InstanceGroupName": item["InstanceGroupName"],
                "InstanceId": f"i-{item['InstanceGroupName']}{number}",
                "InstanceStatus": {"Status": self.node_status.get(item["InstanceGroupName"], "Running")},
            }
            for item in self.describe_cluster()["InstanceGroups"]
            for number in range(item["CurrentCount"])
        ]

    def update_cluster(self, **given: Any) -> dict[str, Any]:
        if self.conflicts:
            self.conflicts -= 1
            raise ClientError({"Error": {"Code": "ConflictException", "Message": "busy"}}, "UpdateCluster")
        call = {key: value for key, value in given.items() if key != "ClusterName"}
        self.updates.append(copy.deepcopy(call))
        sent = {item["InstanceGroupName"]: described(item) for item in call["InstanceGroups"]}
        kept = self.groups if self.omitted == "stay" else {}
        self.groups = {**kept, **sent}
        for name in call.get("InstanceGroupsToDelete", ()):
            self.groups.pop(name, None)
        return {"ClusterArn": ARN}

    def list_cluster_events(self, **given: Any) -> dict[str, Any]:
        self._gone("ListClusterEvents")
        after = given.get("EventTimeAfter")
        found = [
            event
            for event in self.events
            if given.get("InstanceGroupName") in (None, event.get("InstanceGroupName"))
            and (after is None or event["EventTime"] > after)
        ]
        if given["SortOrder"] == "Descending":
            found.reverse()
        return {"Events": found[: given.get("MaxResults", 100)]}

    def describe_cluster_event(self, **given: str) -> dict[str, Any]:
        message = self.details.get(given["EventId"])
        metadata = {"InstanceGroupScaling": {"FailureMessage": message}} if message else {}
        return {"EventDetails": {"EventDetails": {"EventMetadata": metadata}}}

    def say(self, text: str, group: str | None = None, level: str = "Error", detail: str = "") -> None:
        """Append an event."""
        number = len(self.events)
        moment = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC) + datetime.timedelta(minutes=number)
        event = {"EventId": f"e{number}", "EventTime": moment, "Description": text, "EventLevel": level}
        self.events.append({**event, "InstanceGroupName": group} if group else event)
        if detail:
            self.details[f"e{number}"] = detail

    def get_paginator(self, operation: str) -> Any:
        client = self

        class Paginator:
            def paginate(self, **given: Any) -> list[dict[str, Any]]:
                if operation == "list_cluster_nodes":
                    return [{"ClusterNodeSummaries": client.nodes()}]
                return [client.list_cluster_events(**given)]

        return Paginator()


class Ec2:
    """DescribeSubnets of two subnets."""

    def describe_subnets(self, **given: list[str]) -> dict[str, Any]:
        zones = {"subnet-1": "usw2-az1", "subnet-2": "usw2-az2", "subnet-9": "usw2-az9"}
        found = given["SubnetIds"]
        return {"Subnets": [{"SubnetId": item, "AvailabilityZoneId": zones[item]} for item in found]}


class Eks:
    """DescribeCluster of one cluster; none when `cluster` is None."""

    def __init__(self, cluster: dict[str, Any] | None) -> None:
        self.cluster = cluster

    def describe_cluster(self, **_given: str) -> dict[str, Any]:
        if self.cluster is None:
            missing = {"Error": {"Code": "ResourceNotFoundException", "Message": "no"}}
            raise ClientError(missing, "DescribeCluster")
        return {"cluster": self.cluster}


class Session:
    """An AccountSession of fake clients; tokens are signed as `access_key_id` would."""

    region = "us-west-2"

    def __init__(self, access_key_id: str = "AKIAADMN00000000", **clients: Any) -> None:
        self._real = boto3.Session(access_key_id, "secret", region_name=self.region)
        self.clients: dict[str, Any] = {"sts": self._real.client("sts"), **clients}

    def client(self, service: str) -> Any:
        return self.clients[service]

    def credentials(self) -> Any:
        return self._real.get_credentials()

    def events(self) -> Any:
        return self._real.events


def eks_cluster(api: KubernetesApi, name: str = "demo", **more: Any) -> dict[str, Any]:
    """EKS's description of the cluster whose API this is."""
    return {
        "name": name,
        "status": "ACTIVE",
        "endpoint": api.endpoint,
        "certificateAuthority": {"data": api.certificate_authority_data},
        **more,
    }


def node(name: str, group_name: str | None = None, **more: Any) -> dict[str, Any]:
    """A Ready amd64 node of HyperPod."""
    labels = {"kubernetes.io/arch": "amd64"}
    if group_name:
        labels["sagemaker.amazonaws.com/instance-group-name"] = group_name
    status = {"conditions": [{"type": "Ready", "status": "True"}], **more.pop("status", {})}
    metadata = {"name": name, "labels": {**labels, **more.pop("labels", {})}}
    return {"apiVersion": "v1", "kind": "Node", "metadata": metadata, "spec": more, "status": status}
