"""A cluster with nodes, roles, bucket and prerequisites, as the inference operator wants to find it."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

from moto.sagemaker.models import sagemaker_backends

from mlcc_rehearsal.cloud import Cloud
from mlcc_rehearsal.cloud.sagemaker.models import HyperPodCluster
from mlcc_rehearsal.kubernetes_api.objects import ObjectStore
from tests.unit.rehearsal_cloud.conftest import Desk, Network

NAMESPACE = "hyperpod-inference-system"
ADDON = "amazon-sagemaker-hyperpod-inference"
ROLE = "SageMakerHyperPodInference-demo"
MANAGER = "hyperpod-inference-controller-manager"
BUCKET = "hyperpod-tls-mlcc-demo-0123abcd"
PREREQUISITES = ("cert-manager", "aws-mountpoint-s3-csi-driver", "aws-fsx-csi-driver", "metrics-server")


class OperatorDesk(Desk):
    """A desk with an EKS cluster ``demo`` and a HyperPod cluster of that name on it."""

    def __init__(self, cloud: Cloud) -> None:
        super().__init__(cloud)
        self.account = cloud.options.account_id
        self.there: Network | None = None

    # --- what is there ---------------------------------------------------------------------------------

    def prepare(self, *, nodes: int = 2, pods: int = 50, prerequisites: bool = True) -> None:
        self.there = self.cluster(self.network(nat=False))
        for number in range(nodes):
            self.node(f"hyperpod-{number}", pods=pods)
        self.pass_time(30)
        self.provider()
        self.client("s3").create_bucket(
            Bucket=BUCKET, CreateBucketConfiguration={"LocationConstraint": self.region}
        )
        self.execution_role()
        self.hyperpod_cluster()
        if prerequisites:
            self.prerequisites()

    def prerequisites(self, *names: str) -> None:
        for name in names or PREREQUISITES:
            self.eks.create_addon(clusterName="demo", addonName=name)
        self.pass_time(60)
        for name in names or PREREQUISITES:
            assert self.addon(name)["status"] == "ACTIVE", name

    @property
    def objects(self) -> ObjectStore:
        from moto.eks.models import eks_backends

        clusters: Any = eks_backends[self.account][self.region].clusters
        store = clusters["demo"].kubernetes.objects
        assert store is not None
        return store

    def node(self, name: str, *, pods: int = 50, arch: str = "amd64") -> None:
        labels = {"kubernetes.io/arch": arch, "kubernetes.io/os": "linux", "kubernetes.io/hostname": name}
        size = {"cpu": "16", "memory": "32Gi", "pods": str(pods)}
        self.objects.put(
            {
                "apiVersion": "v1",
                "kind": "Node",
                "metadata": {"name": name, "labels": labels},
                "spec": {},
                "status": {
                    "capacity": size,
                    "allocatable": size,
                    "conditions": [{"type": "Ready", "status": "True"}],
                },
            }
        )

    def provider(self) -> str:
        issuer = self.issuer
        self.iam.create_open_id_connect_provider(
            Url=f"https://{issuer}", ClientIDList=["sts.amazonaws.com"], ThumbprintList=["0" * 40]
        )
        return issuer

    @property
    def issuer(self) -> str:
        described = self.eks.describe_cluster(name="demo")["cluster"]
        return str(described["identity"]["oidc"]["issuer"]).removeprefix("https://")

    def web_trust(self, *subjects: str, service: str | None = None) -> dict[str, Any]:
        issuer = self.issuer
        operator = "StringLike" if any("*" in subject for subject in subjects) else "StringEquals"
        condition: dict[str, dict[str, Any]] = {"StringEquals": {f"{issuer}:aud": "sts.amazonaws.com"}}
        condition.setdefault(operator, {})[f"{issuer}:sub"] = list(subjects)
        statements: list[dict[str, Any]] = [
            {
                "Effect": "Allow",
                "Principal": {"Federated": f"arn:aws:iam::{self.account}:oidc-provider/{issuer}"},
                "Action": "sts:AssumeRoleWithWebIdentity",
                "Condition": condition,
            }
        ]
        if service:
            statements.append(
                {"Effect": "Allow", "Principal": {"Service": service}, "Action": "sts:AssumeRole"}
            )
        return {"Version": "2012-10-17", "Statement": statements}

    def execution_trust(self) -> dict[str, Any]:
        subject = f"system:serviceaccount:{NAMESPACE}:{MANAGER}"
        return self.web_trust(subject, service="sagemaker.amazonaws.com")

    def grants(self) -> list[dict[str, Any]]:
        """The statements of rule 9, beside the managed policy."""
        certificates = f"arn:aws:acm:{self.region}:{self.account}:certificate/*"

        def allow(sid: str, actions: list[str], resource: str, **condition: Any) -> dict[str, Any]:
            statement = {"Sid": sid, "Effect": "Allow", "Action": actions, "Resource": resource}
            return {**statement, **({"Condition": {"StringEquals": condition}} if condition else {})}

        return [
            allow(
                "EndpointConfigs",
                ["sagemaker:DescribeEndpointConfig"],
                f"arn:aws:sagemaker:{self.region}:{self.account}:endpoint-config/*",
            ),
            allow("Tag", ["acm:AddTagsToCertificate"], certificates),
            allow(
                "Import",
                ["acm:ImportCertificate"],
                certificates,
                **{"aws:RequestTag/CreatedBy": "HyperPodInference"},
            ),
            allow("Bucket", ["s3:ListBucket"], f"arn:aws:s3:::{BUCKET}"),
            allow(
                "Objects",
                ["s3:GetObject", "s3:PutObject", "s3:PutObjectTagging", "s3:DeleteObject"],
                f"arn:aws:s3:::{BUCKET}/*",
            ),
            allow(
                "Pass",
                ["iam:PassRole"],
                f"arn:aws:iam::{self.account}:role/{ROLE}",
                **{"iam:PassedToService": "sagemaker.amazonaws.com"},
            ),
        ]

    def execution_role(self, name: str = ROLE, *without: str) -> str:
        arn = self.role(name, self.execution_trust(), "AmazonSageMakerHyperPodInferenceAccess")
        self.grant(name, *without)
        return arn

    def grant(self, name: str = ROLE, *without: str) -> None:
        statements = [each for each in self.grants() if each["Sid"] not in without]
        document = {"Version": "2012-10-17", "Statement": statements}
        self.iam.put_role_policy(
            RoleName=name, PolicyName="mlcc-inference-operator", PolicyDocument=json.dumps(document)
        )

    def hyperpod_cluster(self, identifier: str = "abcdef012345", status: str = "InService") -> str:
        arn = f"arn:aws:sagemaker:{self.region}:{self.account}:cluster/{identifier}"
        clusters: Any = sagemaker_backends[self.account][self.region].clusters
        now = self.cloud.clock.timestamp()
        clusters["demo-hyperpod"] = HyperPodCluster("demo-hyperpod", arn, now, {}, [], status=status)
        return arn

    def delete_hyperpod_cluster(self) -> None:
        sagemaker_backends[self.account][self.region].clusters.pop("demo-hyperpod")

    # --- the operator ----------------------------------------------------------------------------------

    def values(self, **changes: Any) -> dict[str, Any]:
        values: dict[str, Any] = {
            "executionRoleArn": f"arn:aws:iam::{self.account}:role/{ROLE}",
            "tlsCertificateS3Bucket": BUCKET,
            "hyperpodClusterArn": f"arn:aws:sagemaker:{self.region}:{self.account}:cluster/abcdef012345",
            "alb": {"enabled": True, "serviceAccount": {"create": True, "roleArn": self.alb_role}},
            "keda": {"enabled": True, "auth": {"aws": {"irsa": {"enabled": True, "roleArn": self.alb_role}}}},
            "inferenceGateway": {"enabled": False},
        }
        return {key: value for key, value in {**values, **changes}.items() if value is not None}

    @property
    def alb_role(self) -> str:
        return f"arn:aws:iam::{self.account}:role/alb-controller"

    def install(self, version: str = "v2.1.0-eksbuild.1", **changes: Any) -> None:
        conflicts = changes.pop("resolveConflicts", "OVERWRITE")
        self.eks.create_addon(
            clusterName="demo",
            addonName=ADDON,
            addonVersion=version,
            resolveConflicts=conflicts,
            configurationValues=json.dumps(self.values(**changes)),
        )

    def addon(self, name: str = ADDON) -> dict[str, Any]:
        found: dict[str, Any] = self.eks.describe_addon(clusterName="demo", addonName=name)["addon"]
        return found

    def status(self, name: str = ADDON) -> str:
        return str(self.addon(name)["status"])

    def pods(self, prefix: str = "", namespace: str = NAMESPACE) -> list[dict[str, Any]]:
        found = self.objects.list("v1", "Pod", namespace)
        return [pod for pod in found if pod["metadata"]["name"].startswith(prefix)]

    def log(self) -> str:
        """What the newest controller pod has written."""
        pods = self.pods(MANAGER)
        assert pods, "no controller pod"
        return self.objects._logs.get(NAMESPACE, pods[-1]["metadata"]["name"], "manager")

    def until(self, seen: Callable[[], Any], seconds: float = 1800, step: float = 20) -> float:
        """Let modelled time pass until something is seen; how long that took."""
        passed = 0.0
        while not seen():
            assert passed < seconds, f"not seen within {seconds} modelled seconds: {self.log_or_status()}"
            self.pass_time(step)
            time.sleep(0.005)  # Kubernetes' own loops run in a thread of theirs
            passed += step
        return passed

    def log_or_status(self) -> str:
        return f"{self.status()}\n{self.log() if self.pods(MANAGER) else 'no controller'}"
