"""What a rehearsal cloud is started with."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path


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
    :raises ValueError: for an account id that is not twelve digits or a speed that is not positive.
    """

    account_id: str = "123456789012"
    region: str = "us-west-2"
    speed: float = 60.0
    faults: Path | None = None
    api_log: Path | None = None
    port: int = 0
    kubernetes: bool = True

    def __post_init__(self) -> None:
        if not re.fullmatch(r"\d{12}", self.account_id):
            raise ValueError(f"account_id must be twelve digits, got {self.account_id!r}")
        if not self.speed > 0:
            raise ValueError(f"speed must be more than 0, got {self.speed!r}")
