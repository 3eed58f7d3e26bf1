"""Resources that remove things of some names on destroy."""

from __future__ import annotations

from typing import Any

import pytest

from mlcc_infra.components.bucket_emptying import BucketEmptyingProvider
from mlcc_infra.components.log_group_sweep import LogGroupSweepProvider
from mlcc_infra.components.sweep import SweepArgs, SweepProvider

ARGS = SweepArgs(names=["one"], account="123456789012", region="us-west-2", aws_profile="team")


@pytest.fixture(params=[BucketEmptyingProvider, LogGroupSweepProvider])
def provider(request: pytest.FixtureRequest) -> SweepProvider:
    made: SweepProvider = request.param()
    return made


@pytest.mark.parametrize(
    "change", [{"names": ["two"]}, {"region": "us-east-2"}, {"aws_profile": "other"}, {"aws_profile": None}]
)
def test_each_of_its_settings_is_compared(provider: SweepProvider, change: dict[str, Any]) -> None:
    # What is unset does not reach a provider at all.
    news = {key: value for key, value in {**ARGS.props, **change}.items() if value is not None}
    assert provider.diff("id", ARGS.props, news).changes
    assert not provider.diff("id", news, dict(news)).changes


def test_it_is_remembered_with_an_id_of_its_own_kind(provider: SweepProvider) -> None:
    made = provider.create(ARGS.props)
    assert made.id == f"123456789012/us-west-2/{provider.what}"
    assert made.outs == ARGS.props
