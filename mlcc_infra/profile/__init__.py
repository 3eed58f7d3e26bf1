"""The profile: the typed, validated configuration of one stack.

    profile = load_profile(config, stack="mlcc-demo", region=None, environ=os.environ)

Neither pulumi nor boto3 is needed: what can be decided without AWS is decided here, all of it at once.
"""

from __future__ import annotations

from mlcc_infra.profile.base import ADOPT_MODES, KINDS, TARGETS, AdoptMode, Kind, Target
from mlcc_infra.profile.eks import Addon, Eks, NodeGroup
from mlcc_infra.profile.hyperpod import HyperPod, InstanceGroup
from mlcc_infra.profile.load import KEYS, load_profile, load_stack_file
from mlcc_infra.profile.model import Adopt, Profile
from mlcc_infra.profile.network import Network, NetworkPlan, Subnet, plan_network
from mlcc_infra.profile.operator import Operator
from mlcc_infra.profile.principals import Principal, read_principal
from mlcc_infra.profile.problems import Problem, ProfileError

__all__ = [
    "ADOPT_MODES",
    "KEYS",
    "KINDS",
    "TARGETS",
    "Addon",
    "Adopt",
    "AdoptMode",
    "Eks",
    "HyperPod",
    "InstanceGroup",
    "Kind",
    "Network",
    "NetworkPlan",
    "NodeGroup",
    "Operator",
    "Principal",
    "Problem",
    "Profile",
    "ProfileError",
    "Subnet",
    "Target",
    "load_profile",
    "load_stack_file",
    "plan_network",
    "read_principal",
]
