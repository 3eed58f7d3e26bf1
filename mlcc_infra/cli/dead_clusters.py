"""What commands do about clusters that were deleted behind a stack's back."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mlcc_infra.account.dead_cluster_state import Dropped
    from mlcc_infra.profile import Profile


def drop_what_died(profile: Profile, say: Callable[[str], object]) -> Dropped:
    """Drop from the state what lay in clusters that EKS says are gone, and say it; what was dropped.

    EKS is asked with the identity that the state stores.
    Without this the Kubernetes provider stops every run at it. Raises `UserError` for a cluster that exists
    and does not answer.
    """
    from mlcc_infra.account.dead_cluster_state import drop_in_cluster_state
    from mlcc_infra.account.recorded_state import read_recorded_state
    from mlcc_infra.account.session import AccountSession

    identity = read_recorded_state(profile.stack).identity(profile.aws_profile)
    dropped = drop_in_cluster_state(
        profile.stack, lambda region: AccountSession(region=region, aws_profile=identity)
    )
    if dropped.resources:
        names = ", ".join(urn.rpartition("::")[2] for urn in dropped.resources)
        say(f"{'; '.join(dropped.because)}. Gone with it, and dropped from the state: {names}")
    return dropped
