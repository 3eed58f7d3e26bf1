"""mlcc-hyperpod and mlcc-demo lose their state, on the real engine; see test_lost_state.py."""

from __future__ import annotations

from typing import ClassVar

from tests.engine.hyperpod_lives import Life
from tests.engine.lost_state import (
    LostState,
    assert_just_the_fargate_profile_was_replaced,
    assert_just_the_roles_with_a_path_were_replaced,
)


class TestHyperPod(LostState):
    """The first seed takes the template's stack with both clusters."""

    stack: ClassVar[str] = "mlcc-hyperpod"
    seeds: ClassVar[tuple[int, ...]] = (15,)
    more_seeds: ClassVar[tuple[int, ...]] = (2, 25)
    retained: ClassVar[tuple[str, ...]] = (
        "bucket hyperpod-tls-mlcc-hyperpod-88de702d",
        "role mlcc-hyperpod-hyperpod-instance-role",
    )

    def test_a_change_without_an_update_replaces_just_that(self, life: Life) -> None:
        assert_just_the_roles_with_a_path_were_replaced(life)

    def test_the_stack_that_exists_gets_no_update(self, life: Life) -> None:
        """An UpdateStack can push back what the cluster was made with (facts, rules 6 and 7)."""
        assert not [call for call in life.calls if call["operation"] == "UpdateStack"]


class TestDemo(LostState):
    """Both targets side by side."""

    stack: ClassVar[str] = "mlcc-demo"
    seeds: ClassVar[tuple[int, ...]] = (1,)
    more_seeds: ClassVar[tuple[int, ...]] = (2, 3)
    retained: ClassVar[tuple[str, ...]] = (
        "bucket hyperpod-tls-mlcc-demo-88de702d",
        "role mlcc-demo-eks-cluster-role",
        "role mlcc-demo-eks-node-role",
        "role mlcc-demo-fargate-pod-exec-role",
        "role mlcc-demo-hyperpod-instance-role",
    )

    def test_a_change_without_an_update_replaces_just_that(self, life: Life) -> None:
        assert_just_the_fargate_profile_was_replaced(life)
