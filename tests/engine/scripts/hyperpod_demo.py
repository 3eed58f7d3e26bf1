"""Both targets of stack mlcc-demo made side by side, used, and destroyed with what users left in them.

Usage: hyperpod_demo.py FILE.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import boto3

sys.path.insert(0, str(Path(__file__).parents[3]))

from mlcc_infra.account.cluster_client import ClusterApi
from tests.engine.account_listing import list_account
from tests.engine.scripts.hyperpod_acts import NO_GPU, Play, advance, cluster, faults, until

VANILLA, HYPERPOD = "mlcc-demo-eks", "mlcc-demo-hp-eks"
INFERENCE = "/apis/inference.sagemaker.aws.amazon.com/v1/namespaces/default"
INGRESSES = "/apis/networking.k8s.io/v1/namespaces/default/ingresses"
SERVICES = "/api/v1/namespaces/default/services"


def ingress() -> dict[str, Any]:
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "Ingress",
        "metadata": {
            "name": "web",
            "namespace": "default",
            "annotations": {"alb.ingress.kubernetes.io/scheme": "internet-facing"},
        },
        "spec": {
            "ingressClassName": "alb",
            "defaultBackend": {"service": {"name": "front", "port": {"number": 80}}},
        },
    }


def service() -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "front", "namespace": "default"},
        "spec": {"type": "LoadBalancer", "selector": {"app": "front"}, "ports": [{"port": 80}]},
    }


def model() -> dict[str, Any]:
    return {
        "apiVersion": "inference.sagemaker.aws.amazon.com/v1",
        "kind": "InferenceEndpointConfig",
        "metadata": {"name": "mistral", "namespace": "default"},
        "spec": {"modelName": "mistral", "modelSourceConfig": {}, "worker": {"image": "server:1"}},
    }


def use(api: ClusterApi) -> None:
    api.create(INGRESSES, ingress())
    api.create(SERVICES, service())


def balancers() -> int:
    found = boto3.client("elbv2").describe_load_balancers()["LoadBalancers"]
    classic = boto3.client("elb").describe_load_balancers()["LoadBalancerDescriptions"]
    return len(found) + len(classic)


def certificates() -> int:
    return len(boto3.client("acm").list_certificates()["CertificateSummaryList"])


def main() -> None:
    play = Play("mlcc-demo", sys.argv[1])
    with play.written():
        # As in the life of mlcc-hyperpod alone, so that the times can be compared.
        faults(*NO_GPU)
        play.up("up")
        faults()
        advance(1200)
        with cluster(VANILLA) as api:
            use(api)
        with cluster(HYPERPOD) as api:
            use(api)
            api.create(f"{INFERENCE}/inferenceendpointconfigs", model())
        # An Ingress and a Service each, and the Ingress of the model.
        until(lambda: balancers() == 5 and certificates() == 1, step=30, limit=3600)
        play.note("used", {"account": list_account()})
        play.destroy("destroy")
        play.note("retained", play.retained())


if __name__ == "__main__":
    main()
