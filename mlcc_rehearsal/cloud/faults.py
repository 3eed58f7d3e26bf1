"""Faults: what goes wrong on purpose, read from a YAML or JSON file.

The file holds a list (or a mapping with the key ``faults``) of entries::

    - service: eks                 # botocore's name; "*" is any
      operation: CreateCluster     # shell pattern; default "*"
      match: {name: mlcc-demo-eks} # parameters that must have these values, optional
      calls: [1, 2]                # which matching calls, counted from 1; default all
      share: 0.25                  # or: this share of them, evenly spread (every fourth)
      after: 120                   # from this modelled second on, optional
      until: 600                   # up to this modelled second, optional
      effect: error                # error | throttle | delay | no-capacity | quota
      code: ServiceUnavailableException
      message: try again           # optional
      status: 503                  # optional; the service's model knows its own codes' statuses
      seconds: 30                  # for delay: modelled seconds before the call is carried out

A fault with ``effect: error`` keeps the call from being carried out.

Three kinds strike no call, but what happens between calls::

    - effect: no-capacity          # EC2 has none of a type, for as long as after/until say
      match: {InstanceType: ml.g5.8xlarge, AvailabilityZone: us-west-2a}    # shell patterns; zone optional
    - effect: quota                # "<type> for cluster usage" of the account
      match: {InstanceType: ml.g6.12xlarge}
      limit: 0
    - service: cloudformation-resource    # a resource of a stack being made, by its logical id
      operation: HelmCustomResource
      effect: error
      code: InternalFailure
    - service: cloudformation-resource
      operation: PrivateSubnetStack
      match: {Action: Delete}             # or being deleted; without match only creations are meant
      effect: error
      code: DependencyViolation
"""

from __future__ import annotations

import fnmatch
import json
from pathlib import Path
from typing import Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, model_validator

from mlcc_rehearsal.cloud.errors import AwsError
from mlcc_rehearsal.cloud.requests import NamedRequest

# What each service answers when calls come too fast.
# Source: retry definitions in botocore (data/_retry.json) and the services' models.
_THROTTLES = {
    "ec2": ("RequestLimitExceeded", "Request limit exceeded.", 503),
    "iam": ("Throttling", "Rate exceeded", 400),
    "s3": ("SlowDown", "Please reduce your request rate.", 503),
}
_THROTTLE = ("ThrottlingException", "Rate exceeded", 400)

# The service of a fault that strikes resources of stacks.
RESOURCE = "cloudformation-resource"


class Fault(BaseModel):
    """One entry of a fault file."""

    model_config = ConfigDict(extra="forbid")

    service: str = "*"
    operation: str = "*"
    match: dict[str, Any] = Field(default_factory=dict)
    calls: list[int] | None = None
    share: float | None = Field(default=None, gt=0, le=1)
    after: float = 0.0
    until: float | None = None
    effect: Literal["error", "throttle", "delay", "no-capacity", "quota"] = "error"
    code: str | None = None
    message: str = "an error of the fault file"
    status: int | None = Field(default=None, ge=400, le=599)
    seconds: float = Field(default=0.0, ge=0)
    limit: int | None = Field(default=None, ge=0)
    seen: int = Field(default=0, exclude=True)

    @model_validator(mode="after")
    def _complete(self) -> Fault:
        if self.effect == "error" and not self.code:
            raise ValueError("effect 'error' needs a code")
        if self.service == RESOURCE and self.match.get("Action", "Create") not in ("Create", "Delete"):
            raise ValueError(f"service '{RESOURCE}' matches Action Create or Delete")
        if (self.effect == "quota") != (self.limit is not None):
            raise ValueError("effect 'quota', and no other, needs a limit")
        if self.calls is not None and self.share is not None:
            raise ValueError("give calls or share, not both")
        return self

    def applies(self, request: NamedRequest, now: float) -> bool:
        """Whether the fault strikes this call; counts it when it is one of those meant."""
        if self.effect in ("no-capacity", "quota"):
            return False
        if not fnmatch.fnmatchcase(request.service, self.service):
            return False
        if not fnmatch.fnmatchcase(request.operation, self.operation):
            return False
        if any(str(request.parameters.get(key)) != str(value) for key, value in self.match.items()):
            return False
        return self._in_force(now) and self._meant()

    def strikes(self, effect: str, values: dict[str, str], now: float) -> bool:
        """Whether a fault of this effect holds for these values now; patterns are shell patterns."""
        if self.effect != effect or not self._in_force(now):
            return False
        return all(fnmatch.fnmatchcase(values.get(key, ""), str(value)) for key, value in self.match.items())

    def strikes_resource(self, logical_id: str, action: str, now: float) -> bool:
        """Whether the fault strikes a resource of a stack; counts it when it is one of those meant."""
        if self.service != RESOURCE or not fnmatch.fnmatchcase(logical_id, self.operation):
            return False
        if action != self.match.get("Action", "Create"):
            return False
        return self._in_force(now) and self._meant()

    def _in_force(self, now: float) -> bool:
        return now >= self.after and (self.until is None or now <= self.until)

    def _meant(self) -> bool:
        self.seen += 1
        if self.calls is not None:
            return self.seen in self.calls
        if self.share is not None:
            return int(self.seen * self.share) > int((self.seen - 1) * self.share)
        return True

    def error(self, request: NamedRequest) -> AwsError:
        """The error that the call is answered with."""
        if self.effect == "throttle":
            code, message, status = _THROTTLES.get(request.service, _THROTTLE)
            return AwsError(code, message, status=status)
        return AwsError(str(self.code), self.message, status=self.status)


_FAULTS: TypeAdapter[list[Fault]] = TypeAdapter(list[Fault])


class Faults:
    """The faults in force; asked once for each call, under the cloud's lock."""

    def __init__(self, faults: list[Fault] | None = None) -> None:
        self._faults = faults or []

    @classmethod
    def read(cls, path: Path) -> Faults:
        """Read a fault file.

        :raises ValueError: naming the file and every entry that is wrong.
        """
        text = path.read_text(encoding="utf-8")
        try:
            data = json.loads(text) if path.suffix == ".json" else yaml.safe_load(text)
            return cls(parse(data))
        except (ValueError, yaml.YAMLError) as wrong:
            raise ValueError(f"{path}: not a fault file: {wrong}") from wrong

    def add(self, data: Any) -> int:
        """Put further faults in force, in the form of a fault file; answers how many.

        :raises ValueError: when an entry is wrong; then none is put in force.
        """
        faults = parse(data)
        self._faults.extend(faults)
        return len(faults)

    def clear(self) -> None:
        """Put all faults out of force."""
        self._faults.clear()

    def strike(self, request: NamedRequest, now: float) -> list[Fault]:
        """The faults that strike this call."""
        return [fault for fault in self._faults if fault.applies(request, now)]

    def has_capacity(self, instance_type: str, zone: str, now: float) -> bool:
        """Whether EC2 has instances of a type in a zone now."""
        values = {"InstanceType": instance_type, "AvailabilityZone": zone}
        return not any(fault.strikes("no-capacity", values, now) for fault in self._faults)

    def quota(self, instance_type: str, now: float) -> int | None:
        """The account's quota for a type, or None when no fault sets one."""
        values = {"InstanceType": instance_type}
        found = [fault.limit for fault in self._faults if fault.strikes("quota", values, now)]
        return found[-1] if found else None

    def strike_resource(self, logical_id: str, action: str, now: float) -> Fault | None:
        """The fault that strikes a resource of a stack in ``Create`` or ``Delete``, or None."""
        return next(
            (fault for fault in self._faults if fault.strikes_resource(logical_id, action, now)), None
        )

    def summary(self) -> list[dict[str, Any]]:
        """The faults in force and how many calls each has seen."""
        return [{**fault.model_dump(exclude_defaults=True), "seen": fault.seen} for fault in self._faults]


def parse(data: Any) -> list[Fault]:
    """Faults from the data of a fault file; :raises ValueError: naming what is wrong."""
    if isinstance(data, dict) and "faults" in data:
        data = data["faults"]
    try:
        return _FAULTS.validate_python(data or [])
    except ValidationError as wrong:
        lines = [f"{'.'.join(map(str, e['loc'])) or 'file'}: {e['msg']}" for e in wrong.errors()]
        raise ValueError("; ".join(lines)) from wrong
