"""The kinds a cluster serves without any custom resource definition.

One line a kind: group/version, kind, plural, short names, scope, subresources, categories. The list
follows ``kubectl api-resources -o wide`` of Kubernetes 1.35, less what the rehearsal has no use for.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

READ_WRITE = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")


@dataclass(frozen=True)
class Resource:
    """One served resource: what discovery says of it and where its objects lie."""

    group: str
    version: str
    kind: str
    plural: str
    singular: str
    namespaced: bool
    short_names: tuple[str, ...] = ()
    subresources: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    verbs: tuple[str, ...] = READ_WRITE
    custom: bool = False

    @property
    def api_version(self) -> str:
        """``v1`` or ``group/version`` as objects carry it."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def has_status(self) -> bool:
        """Whether ``status`` is written through its own subresource only."""
        return "status" in self.subresources


_TABLE = """
v1 ConfigMap configmaps cm namespaced - -
v1 Endpoints endpoints ep namespaced - -
v1 Event events ev namespaced - -
v1 LimitRange limitranges limits namespaced - -
v1 Namespace namespaces ns cluster status -
v1 Node nodes no cluster status -
v1 PersistentVolumeClaim persistentvolumeclaims pvc namespaced status -
v1 PersistentVolume persistentvolumes pv cluster status -
v1 Pod pods po namespaced status,log,eviction,binding all
v1 PodTemplate podtemplates - namespaced - -
v1 ReplicationController replicationcontrollers rc namespaced status,scale all
v1 ResourceQuota resourcequotas quota namespaced status -
v1 Secret secrets - namespaced - -
v1 ServiceAccount serviceaccounts sa namespaced - -
v1 Service services svc namespaced status all
ADMISSION MutatingWebhookConfiguration mutatingwebhookconfigurations - cluster - EXT
ADMISSION ValidatingAdmissionPolicy validatingadmissionpolicies - cluster status EXT
ADMISSION ValidatingAdmissionPolicyBinding validatingadmissionpolicybindings - cluster - EXT
ADMISSION ValidatingWebhookConfiguration validatingwebhookconfigurations - cluster - EXT
apiextensions.k8s.io/v1 CustomResourceDefinition customresourcedefinitions crd,crds cluster status EXT
apiregistration.k8s.io/v1 APIService apiservices - cluster status EXT
apps/v1 ControllerRevision controllerrevisions - namespaced - -
apps/v1 DaemonSet daemonsets ds namespaced status all
apps/v1 Deployment deployments deploy namespaced status,scale all
apps/v1 ReplicaSet replicasets rs namespaced status,scale all
apps/v1 StatefulSet statefulsets sts namespaced status,scale all
autoscaling/v2 HorizontalPodAutoscaler horizontalpodautoscalers hpa namespaced status all
batch/v1 CronJob cronjobs cj namespaced status all
batch/v1 Job jobs - namespaced status all
certificates.k8s.io/v1 CertificateSigningRequest certificatesigningrequests csr cluster status,approval -
coordination.k8s.io/v1 Lease leases - namespaced - -
discovery.k8s.io/v1 EndpointSlice endpointslices - namespaced - -
networking.k8s.io/v1 IngressClass ingressclasses - cluster - -
networking.k8s.io/v1 Ingress ingresses ing namespaced status -
networking.k8s.io/v1 NetworkPolicy networkpolicies netpol namespaced - -
node.k8s.io/v1 RuntimeClass runtimeclasses - cluster - -
policy/v1 PodDisruptionBudget poddisruptionbudgets pdb namespaced status -
rbac.authorization.k8s.io/v1 ClusterRoleBinding clusterrolebindings - cluster - -
rbac.authorization.k8s.io/v1 ClusterRole clusterroles - cluster - -
rbac.authorization.k8s.io/v1 RoleBinding rolebindings - namespaced - -
rbac.authorization.k8s.io/v1 Role roles - namespaced - -
scheduling.k8s.io/v1 PriorityClass priorityclasses pc cluster - -
storage.k8s.io/v1 CSIDriver csidrivers - cluster - -
storage.k8s.io/v1 CSINode csinodes - cluster - -
storage.k8s.io/v1 CSIStorageCapacity csistoragecapacities - namespaced - -
storage.k8s.io/v1 StorageClass storageclasses sc cluster - -
storage.k8s.io/v1 VolumeAttachment volumeattachments - cluster status -
"""

_SHORTHANDS = {"ADMISSION": "admissionregistration.k8s.io/v1", "EXT": "api-extensions"}
_REVIEWS = (
    ("authentication.k8s.io", "SelfSubjectReview", "selfsubjectreviews"),
    ("authorization.k8s.io", "SelfSubjectAccessReview", "selfsubjectaccessreviews"),
    ("authorization.k8s.io", "SelfSubjectRulesReview", "selfsubjectrulesreviews"),
)


def builtin_resources() -> Iterator[Resource]:
    """Every built-in resource, in the order discovery lists them."""
    for line in _TABLE.strip().splitlines():
        words = (_SHORTHANDS.get(word, word) for word in line.split())
        api_version, kind, plural, short, scope, subresources, categories = words
        group, _, version = api_version.rpartition("/")
        yield Resource(
            group=group,
            version=version,
            kind=kind,
            plural=plural,
            singular=kind.lower(),
            namespaced=scope == "namespaced",
            short_names=_words(short),
            subresources=_words(subresources),
            categories=_words(categories),
        )
    for group, kind, plural in _REVIEWS:
        yield Resource(group, "v1", kind, plural, kind.lower(), namespaced=False, verbs=("create",))


def _words(text: str) -> tuple[str, ...]:
    return () if text == "-" else tuple(text.split(","))
