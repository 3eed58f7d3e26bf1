"""Imports what a rehearsal runs, so that the set-up leaves its byte code behind.

Rehearsals write nothing in the checkout, byte code included; without this, each of their processes would
compile moto and the parts of pulumi_aws in use anew (about two seconds each).
"""

import moto.cloudformation.models

import mlcc_rehearsal.aws_cli
import mlcc_rehearsal.cloud
import mlcc_rehearsal.kubernetes_api
import mlcc_rehearsal.plugins.aws.plugin
import mlcc_rehearsal.plugins.eks.plugin
import mlcc_rehearsal.plugins.kubernetes.plugin
from mlcc_rehearsal.plugins.aws import catalogue

catalogue.resources()

__all__ = ["mlcc_rehearsal", "moto"]
