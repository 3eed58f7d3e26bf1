"""Imports what a rehearsal runs, so that the set-up leaves its byte code behind.

Rehearsals write nothing in the checkout, byte code included; without this, each of their processes would
compile moto and the parts of the SDKs in use anew (two to four seconds each). The SDKs load their modules
when something is looked up in them, so it takes more than an import; and moto loads a service with its first
call, so whole packages are compiled where only a few modules are not in use.
"""

import compileall
from importlib.util import find_spec

import kubernetes.client
import moto.cloudformation.models
from pulumi_kubernetes.core.v1 import ConfigMap
from pulumi_kubernetes.helm.v3 import Release
from pulumi_kubernetes.storage.v1 import StorageClass

import mlcc_rehearsal.aws_cli
import mlcc_rehearsal.cloud
import mlcc_rehearsal.kubernetes_api
import mlcc_rehearsal.plugins.aws.plugin
import mlcc_rehearsal.plugins.eks.plugin
import mlcc_rehearsal.plugins.kubernetes.plugin
from mlcc_rehearsal.plugins.aws import catalogue, schema

for token in catalogue.resources():
    schema.resource(token)
for token in catalogue.functions():
    schema.function(token)

_WHOLE = (
    *("mlcc_infra", "mlcc_rehearsal", "boto3", "s3transfer", "grpc", "pulumi.dynamic", "flask"),
    *("typer", "annotated_doc", "shellingham"),
    *(
        f"moto.{service}"
        for service in (
            *("acm", "amp", "cloudformation", "ec2", "eks", "elb", "elbv2", "fsx", "iam", "logs"),
            *("s3", "s3bucket_path", "sagemaker", "ssm", "sts"),
        )
    ),
)
for package in _WHOLE:
    for folder in getattr(find_spec(package), "submodule_search_locations", None) or ():
        compileall.compile_dir(folder, quiet=1)

# The other two are in the types of the EKS component's properties, which a program resolves.
__all__ = ["ConfigMap", "Release", "StorageClass", "kubernetes", "mlcc_rehearsal", "moto"]
