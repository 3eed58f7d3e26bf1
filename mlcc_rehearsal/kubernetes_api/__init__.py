"""A small Kubernetes API server for the rehearsal's EKS clusters: see ``api.KubernetesApi``."""

from mlcc_rehearsal.kubernetes_api.api import KubernetesApi
from mlcc_rehearsal.kubernetes_api.authentication import Caller
from mlcc_rehearsal.kubernetes_api.objects import ObjectStore
from mlcc_rehearsal.kubernetes_api.status import ApiError

__all__ = ["ApiError", "Caller", "KubernetesApi", "ObjectStore"]
