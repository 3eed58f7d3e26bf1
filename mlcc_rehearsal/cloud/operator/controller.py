"""The operator's pods: what keeps them from starting, what the controller writes, when it asks again."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from mlcc_rehearsal.cloud import durations
from mlcc_rehearsal.cloud.eks.models import Cluster, EksBackend
from mlcc_rehearsal.cloud.iam.service_accounts import web_identity_refusal
from mlcc_rehearsal.cloud.operator import enabling, models, objects, prerequisites
from mlcc_rehearsal.cloud.operator.settings import NAMESPACE, Settings
from mlcc_rehearsal.cloud.operator.watcher import ENABLED, Watcher, watchers_of
from mlcc_rehearsal.kubernetes_api.podlife import FAULT_ANNOTATION

if TYPE_CHECKING:
    from mlcc_rehearsal.kubernetes_api.objects import ObjectStore

Object = dict[str, Any]

_NEVER = float("inf")
_CRASH = "CrashLoopBackOff"
_INITIALIZING = "PodInitializing"
_NO_ARN = (
    "unable to start manager: HYPERPOD_CLUSTER_ARN is empty: the ARN of the HyperPod cluster is required"
)
_NO_EXEC = "exec /hyperpod-inference-manager: exec format error"


@dataclass
class Controller:
    """The controller of one installation: its log, and where it stands with its watcher.

    :ivar pod: uid of the pod whose log is being written.
    :ivar due: modelled moment of the next attempt or look.
    :ivar verified: whether the watcher is known to be enabled.
    :ivar refused_at: when AWS last refused a model's certificate, by the model's uid.
    """

    eks: EksBackend
    cluster: Cluster
    settings: Settings
    pod: str = ""
    due: float = _NEVER
    watcher: Watcher | None = None
    verified: bool = False
    lines: list[str] = field(default_factory=list)
    refused_at: dict[str, float] = field(default_factory=dict)

    def look(self, store: ObjectStore) -> bool:
        """One look at the pods; whether to look again soon (else at ``due``, or when something changes)."""
        pods = store.list("v1", "Pod", NAMESPACE)
        architectures = {
            node["metadata"]["name"]: (node["metadata"].get("labels") or {}).get(
                "kubernetes.io/arch", "amd64"
            )
            for node in store.list("v1", "Node")
        }
        lacking = prerequisites.missing(self.cluster, store)
        for pod in pods:
            self._judge(store, pod, architectures, lacking)
        manager = next((pod for pod in pods if self._is(pod, objects.MANAGER) and _runs(pod)), None)
        if manager is None:
            self.pod, self.due = "", _NEVER
            return True
        if manager["metadata"]["uid"] != self.pod:
            self._start(manager)
        if self.settings.lacks_cluster_arn:
            self.due = _NEVER
        else:
            self._pursue()
        again = models.reconcile(self, store) if self.ready(store) else False
        text = "".join(f"{line}\n" for line in self.lines)
        store.set_log(NAMESPACE, manager["metadata"]["name"], objects.MANAGER_CONTAINER, text)
        return again or bool(lacking)

    def ready(self, store: ObjectStore) -> bool:
        """Whether a manager pod is ready, so that custom resources are attended to."""
        deployment = store.get("apps/v1", "Deployment", NAMESPACE, objects.MANAGER) or {}
        return bool(deployment.get("status", {}).get("readyReplicas"))

    def say(self, text: str, level: str = "INFO", logger: str = "setup") -> None:
        """Write a line to the log."""
        moment = self.eks.account.clock.timestamp().strftime("%Y-%m-%dT%H:%M:%SZ")
        self.lines.append(f"{moment}\t{level}\t{logger}\t{text}")

    def _is(self, pod: Object, deployment: str) -> bool:
        return str(pod["metadata"]["name"]).startswith(f"{deployment}-")

    def _judge(self, store: ObjectStore, pod: Object, architectures: dict[str, str], lacking: str) -> None:
        """Let a pod fail, or no longer fail, for the reason there is."""
        node = pod["spec"].get("nodeName")
        if not node:
            return
        fault, message = self._fault(pod, architectures.get(node, "amd64"), lacking)
        annotations = pod["metadata"].get("annotations") or {}
        checked = [_checked(message if fault == _INITIALIZING else "")]
        known = not pod["spec"].get("initContainers") or pod["status"].get("initContainerStatuses") == checked
        if annotations.get(FAULT_ANNOTATION, "") == fault and known:
            return
        changed = copy.deepcopy(pod)
        kept = {key: value for key, value in annotations.items() if key != FAULT_ANNOTATION}
        changed["metadata"]["annotations"] = {**kept, **({FAULT_ANNOTATION: fault} if fault else {})}
        if pod["spec"].get("initContainers"):
            changed["status"]["initContainerStatuses"] = checked
        store.put(changed)
        if fault == _CRASH and message and not self._is(pod, objects.MANAGER):
            container = pod["spec"]["containers"][0]["name"]
            store.set_log(NAMESPACE, pod["metadata"]["name"], container, f"{message}\n")

    def _fault(self, pod: Object, architecture: str, lacking: str) -> tuple[str, str]:
        if architecture != "amd64":
            return _CRASH, _NO_EXEC  # the law "operator-amd64"
        if self._is(pod, objects.MANAGER):
            if lacking:
                return _INITIALIZING, lacking
            if self.settings.lacks_cluster_arn:
                return _CRASH, _NO_ARN  # the law "operator-cluster-arn"
        if self._is(pod, objects.GATEWAY):
            return self._gateway_fault()
        return "", ""

    def _gateway_fault(self) -> tuple[str, str]:
        """The law "operator-gateway-role"."""
        role = self.settings.gateway_role
        if not role:
            return _CRASH, "unable to start gateway controller: no role to issue certificates with"
        refusal = web_identity_refusal(self.eks, self.cluster, role, NAMESPACE, objects.GATEWAY)
        return (_CRASH, f"unable to start gateway controller: {refusal}") if refusal else ("", "")

    def _start(self, pod: Object) -> None:
        self.pod = pod["metadata"]["uid"]
        self.lines, self.watcher, self.verified = [], None, False
        self.due = self.eks.account.clock.now()
        self.say(f'starting manager\t{{"version": "{self.settings.version}"}}')
        if self.settings.lacks_cluster_arn:
            self.say(_NO_ARN, "ERROR")

    def _pursue(self) -> None:
        """Have the watcher enabled, or look whether it has come, when it is time to."""
        now = self.eks.account.clock.now()
        if self.verified or now < self.due:
            return
        self.due = now + durations.seconds("operator.watcher.retry")
        if self.watcher is None:
            self._ask()
        else:
            self._see()

    def _ask(self) -> None:
        error, delay = enabling.struck(self.eks, self.settings, enabling.UPDATE)
        why = error or enabling.refused(self.eks, self.cluster, self.settings)
        arn = self.settings.cluster_arn
        if why:
            self.say(f"failed to enable inference watcher for HyperPod cluster {arn}: {why}", "ERROR")
            return
        watcher, known = enabling.enable(self.eks, self.settings, further=delay)
        self.watcher = watcher
        if known and watcher.state == ENABLED:
            self.say(f"inference watcher already enabled for HyperPod cluster {arn}")
            self.verified, self.due = True, _NEVER
        else:
            self.say(f'enabling inference watcher for HyperPod cluster {arn}\t{{"status": "Enabling"}}')
            self.due = self.eks.account.clock.now() + min(
                durations.seconds("operator.watcher.retry"),
                max(0.0, watcher.due - self.eks.account.clock.now()),
            )

    def _see(self) -> None:
        assert self.watcher is not None
        arn = self.settings.cluster_arn
        error, delay = enabling.struck(self.eks, self.settings, enabling.DESCRIBE)
        live = watchers_of(self.eks.account, self.eks.region_name).find(self.watcher.name)
        if live is None or live is not self.watcher:
            # The cluster was deleted meanwhile: begin anew, and say why that fails.
            self.watcher, self.due = None, 0.0
            return
        if error:
            self.say(f"waiting for the inference watcher of HyperPod cluster {arn}: {error}")
            return
        if delay:
            return  # nobody answers, for as long as the fault is in force
        if live.state == ENABLED:
            self.say('Desired watcher status reached\t{"status": "Enabled"}')
            self.say(f"watcher enabled successfully for HyperPod cluster {arn}")
            self.verified, self.due = True, _NEVER


def _runs(pod: Object) -> bool:
    return pod.get("status", {}).get("phase") == "Running" and not pod["metadata"].get("deletionTimestamp")


def _checked(message: str) -> Object:
    """Status of the init container: ended well, or failed with ``message``."""
    status: Object = {
        "name": objects.CHECK_CONTAINER,
        "image": objects.CHECK_CONTAINER,
        "imageID": "",
        "ready": not message,
        "restartCount": 5 if message else 0,
    }
    if message:
        ended = {"exitCode": 1, "reason": "Error", "message": message}
        status["state"] = {"waiting": {"reason": _CRASH}}
        status["lastState"] = {"terminated": ended}
    else:
        status["state"] = {"terminated": {"exitCode": 0, "reason": "Completed"}}
    return status
