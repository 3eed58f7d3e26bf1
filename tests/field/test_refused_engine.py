"""Field reports: what the account would refuse half an hour later is said at once, all together."""

from __future__ import annotations

import pytest

from tests.engine.hyperpod_lives import Life


@pytest.mark.parametrize(
    "words",
    [
        "may not sagemaker:AddTags on arn:aws:sagemaker:us-west-2:123456789012:cluster/*",
        "it exists and belongs to somebody else: mlcc:profile=other",
        "version v1.9.9-eksbuild.1 is not offered for Kubernetes 1.35",
        "replicas",
    ],
    ids=["b13", "i16", "d6", "d9"],
)
def test_b13_d6_d9_i16_every_reason_is_in_one_refusal(refused_life: Life, words: str) -> None:
    said = refused_life.words("up")
    assert refused_life.acts["up"]["code"] != 0
    assert words in said
    assert "Nothing was changed: 4 things stand in the way of stack mlcc-demo" in said
    assert "Traceback" not in said


def test_b13_not_one_call_changed_anything(refused_life: Life) -> None:
    assert refused_life.during("up") == []
    assert any(
        call["operation"] == "SimulatePrincipalPolicy" for call in refused_life.during("up", mutating=False)
    )
