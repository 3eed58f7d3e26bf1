"""Fixtures of the engine tests."""

from tests.engine.hyperpod_lives import (
    demo_life,
    existing_stack_life,
    features_life,
    hyperpod_life,
    killed_life,
    killed_stack_life,
    operator_life,
    predecessor_life,
    recovery_life,
    vanilla_life,
)

__all__ = [
    "demo_life",
    "existing_stack_life",
    "features_life",
    "hyperpod_life",
    "killed_life",
    "killed_stack_life",
    "operator_life",
    "predecessor_life",
    "recovery_life",
    "vanilla_life",
]
