"""How the services here take the place of moto's, by moto's own means.

moto keeps, for each service, a ``BackendDict`` that makes backends of one class on demand, and derives the
service's addresses from that class.  Setting the class of the dictionary is all that is needed; the last
cloud of the process that stops sets moto's own class again.

CloudFormation is put in with the first call to it, and loaded meanwhile: moto's loads dozens of services,
which takes a second of real time, and at a high speed that is minutes of modelled time.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from moto.core.base_backend import BackendDict
from moto.ec2.models import ec2_backends
from moto.eks.models import eks_backends
from moto.elb.models import elb_backends
from moto.elbv2.models import elbv2_backends
from moto.iam.models import iam_backends
from moto.s3.models import s3_backends
from moto.sagemaker.models import sagemaker_backends
from moto.ssm.models import ssm_backends
from moto.sts.models import sts_backends

from mlcc_rehearsal.cloud.ec2.models import RehearsedEC2Backend
from mlcc_rehearsal.cloud.eks.models import EksBackend
from mlcc_rehearsal.cloud.iam.models import RehearsedIAMBackend
from mlcc_rehearsal.cloud.load_balancers.models import RehearsedELBBackend, RehearsedELBv2Backend
from mlcc_rehearsal.cloud.s3.models import RehearsedS3Backend
from mlcc_rehearsal.cloud.sagemaker.models import RehearsedSageMakerBackend
from mlcc_rehearsal.cloud.ssm.models import RehearsedSSMBackend
from mlcc_rehearsal.cloud.sts.models import RehearsedSTSBackend

_EXTENSIONS: tuple[tuple[Any, type[Any]], ...] = (
    (ec2_backends, RehearsedEC2Backend),
    (eks_backends, EksBackend),
    (elb_backends, RehearsedELBBackend),
    (elbv2_backends, RehearsedELBv2Backend),
    (iam_backends, RehearsedIAMBackend),
    (s3_backends, RehearsedS3Backend),
    (ssm_backends, RehearsedSSMBackend),
    (sts_backends, RehearsedSTSBackend),
    (sagemaker_backends, RehearsedSageMakerBackend),
)


def _cloudformation() -> tuple[Any, type[Any]]:
    from moto.cloudformation.models import cloudformation_backends

    from mlcc_rehearsal.cloud.cloudformation.models import RehearsedCloudFormationBackend

    return cloudformation_backends, RehearsedCloudFormationBackend


# By botocore's name of the service.
_LATER: dict[str, Callable[[], tuple[Any, type[Any]]]] = {"cloudformation": _cloudformation}


class _Extensions:
    """Counts the clouds that need the extensions, and remembers moto's own classes."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._users = 0
        self._originals: list[tuple[Any, type[Any]]] = []
        self._come: set[str] = set()

    def install(self) -> None:
        with self._lock:
            if self._users == 0:
                for backends, extension in _EXTENSIONS:
                    self._put(backends, extension)
            self._users += 1

    def need(self, service: str) -> None:
        with self._lock:
            if service in _LATER and service not in self._come and self._users:
                self._come.add(service)
                self._put(*_LATER[service]())

    def has(self, service: str) -> bool:
        return service in self._come

    def _put(self, backends: Any, extension: type[Any]) -> None:
        self._originals.append((backends, backends.backend))
        backends.backend = extension
        # A backend that moto made of its own class before would lack the laws.
        backends.clear()

    def uninstall(self) -> None:
        with self._lock:
            self._users -= 1
            if self._users == 0:
                for backends, original in self._originals:
                    backends.backend = original
                    backends.clear()
                self._originals.clear()
                self._come.clear()


_extensions = _Extensions()


def install() -> None:
    """Put the extensions in; every call needs one of :func:`uninstall`."""
    _extensions.install()


def uninstall() -> None:
    """Undo one :func:`install`; the last one puts moto's own classes back."""
    _extensions.uninstall()


def need(service: str) -> None:
    """Put in the extension of a service that comes with its first call; does nothing for any other."""
    _extensions.need(service)


def load_the_rest() -> None:
    """Load, in a thread of its own, what is put in with its first call."""

    def load() -> None:
        for pair in _LATER.values():
            pair()

    threading.Thread(target=load, name="rehearsal-loading", daemon=True).start()


def has(service: str) -> bool:
    """Whether a service that comes with its first call has come."""
    return _extensions.has(service)


def forget_account(account_id: str) -> None:
    """Drop everything that moto keeps of an account."""
    used: list[Any] = BackendDict._instances  # type: ignore[misc]  # moto's own list of dictionaries in use
    for backends in list(used):
        backends.pop(account_id, None)
    # Bucket names are kept beside the accounts, because they are global.
    owners: dict[str, Any] = s3_backends.bucket_accounts
    for bucket in [name for name, owner in owners.items() if account_id in owner]:
        del owners[bucket]
