"""Targets compose components into what a profile asks for."""

from __future__ import annotations

from mlcc_infra.targets.deployment import deploy, deploy_stack, plan_deployment

__all__ = ["deploy", "deploy_stack", "plan_deployment"]
