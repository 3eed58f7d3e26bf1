"""AWS's published HyperPod template: its contract, the parameters to send, the pin.

Pure: neither pulumi nor boto3. The template is `main-stack-eks-based-template.yaml` of
aws/sagemaker-hyperpod-cluster-setup.
"""

from __future__ import annotations

from mlcc_infra.template.conditions import ConditionError, evaluate, flags
from mlcc_infra.template.contract import TEMPLATE, Contract, Output, Parameter, Resource, load_contract
from mlcc_infra.template.groups import group_settings, instance_group, later_groups, stack_groups
from mlcc_infra.template.liveness import (
    Liveness,
    live_outputs,
    live_parameters,
    live_resources,
    liveness,
)
from mlcc_infra.template.parameters import short_prefix, template_parameters
from mlcc_infra.template.pin import PinCheck, check_pin, pinned_digest, profile_template_url, template_url
from mlcc_infra.template.problems import parameter_problems
from mlcc_infra.template.stack import (
    CAPABILITIES,
    FROZEN,
    FrozenDifference,
    frozen_differences,
    frozen_words,
    stack_policy,
)

__all__ = [
    "CAPABILITIES",
    "FROZEN",
    "TEMPLATE",
    "ConditionError",
    "Contract",
    "FrozenDifference",
    "Liveness",
    "Output",
    "Parameter",
    "PinCheck",
    "Resource",
    "check_pin",
    "evaluate",
    "flags",
    "frozen_differences",
    "frozen_words",
    "group_settings",
    "instance_group",
    "later_groups",
    "live_outputs",
    "live_parameters",
    "live_resources",
    "liveness",
    "load_contract",
    "parameter_problems",
    "pinned_digest",
    "profile_template_url",
    "short_prefix",
    "stack_groups",
    "stack_policy",
    "template_parameters",
    "template_url",
]
