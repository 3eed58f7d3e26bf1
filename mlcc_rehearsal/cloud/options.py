"""What a rehearsal cloud is started with."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from pathlib import Path

OMITTED_GROUPS = "MLCC_REHEARSAL_OMITTED_GROUPS"


@dataclass(frozen=True, kw_only=True)
class CloudOptions:
    """Settings of one rehearsed account.

    :param account_id: twelve digits, leading zeros kept.
    :param region: the region the operator works in; every region exists in the account.
    :param speed: modelled seconds per real second, more than 0.
    :param faults: YAML or JSON file of faults (see :mod:`mlcc_rehearsal.cloud.faults`), or None.
    :param api_log: file to append one JSON object a line to for each AWS call, or None.
    :param port: TCP port on 127.0.0.1; 0 takes a free one.
    :param kubernetes: whether each cluster gets a Kubernetes API; without, its endpoint leads nowhere.
    :param omitted_groups: whether HyperPod groups that an UpdateCluster leaves out ``stay`` or ``go``: no
        public text says (facts/limits.json, update_cluster_semantics); ``MLCC_REHEARSAL_OMITTED_GROUPS`` is
        the default.
    :raises ValueError: for an account id that is not twelve digits or a speed that is not positive,
        or another word for ``omitted_groups``.
    """

    account_id: str = "123456789012"
    region: str = "us-west-2"
    speed: float = 60.0
    faults: Path | None = None
    api_log: Path | None = None
    port: int = 0
    kubernetes: bool = True
    omitted_groups: str = field(default_factory=lambda: os.environ.get(OMITTED_GROUPS) or "stay")

    def __post_init__(self) -> None:
        if not re.fullmatch(r"\d{12}", self.account_id):
            raise ValueError(f"account_id must be twelve digits, got {self.account_id!r}")
        if not self.speed > 0:
            raise ValueError(f"speed must be more than 0, got {self.speed!r}")
        if self.omitted_groups not in ("stay", "go"):
            raise ValueError(f"{OMITTED_GROUPS} must be stay or go, got {self.omitted_groups!r}")
