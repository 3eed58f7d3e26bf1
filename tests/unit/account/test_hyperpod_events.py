"""What a cluster's events say of a group: the newest that tells something, however many came before."""

from __future__ import annotations

from typing import Any

from mlcc_infra.account.hyperpod_events import latest
from tests.unit.account.hyperpod_fakes import SageMaker


class Session:
    """A session whose only client is a fake of SageMaker."""

    def __init__(self, sagemaker: SageMaker) -> None:
        self.sagemaker = sagemaker

    def client(self, service: str) -> SageMaker:
        assert service == "sagemaker"
        return self.sagemaker


def session_of(*texts: tuple[str, str]) -> Any:
    sagemaker = SageMaker()
    for level, text in texts:
        sagemaker.say(text, "gpu", level)
    return Session(sagemaker)


NOISE = [("Info", f"scaling, try {number}") for number in range(150)]
SHORT = ("Error", "no capacity for ml.p5.48xlarge")
CAME = ("Info", "Instance creation succeeded")


def test_the_newest_trouble_is_told_though_a_page_of_others_came_before() -> None:
    assert latest(session_of(*NOISE, SHORT), "demo", "gpu") == SHORT[1]


def test_trouble_before_the_newest_success_is_over() -> None:
    assert latest(session_of(SHORT, *NOISE, CAME), "demo", "gpu") == ""
    assert latest(session_of(CAME, *NOISE, SHORT), "demo", "gpu") == SHORT[1]


def test_a_group_without_events_has_no_trouble() -> None:
    assert latest(session_of(*NOISE), "demo", "gpu") == ""
    assert latest(session_of(SHORT), "demo", "another") == ""
