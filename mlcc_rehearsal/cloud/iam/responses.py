"""moto's IAM responses with the operations that it lacks."""

from __future__ import annotations

from moto.core.responses import ActionResult
from moto.iam.responses import IamResponse

from mlcc_rehearsal.cloud.account import account_of
from mlcc_rehearsal.cloud.iam.simulation import simulate_custom, simulate_principal


class RehearsedIamResponse(IamResponse):
    """Adds policy simulation."""

    def simulate_principal_policy(self) -> ActionResult:
        """What a user, group or role may do."""
        account = account_of(self.current_account)
        return ActionResult(simulate_principal(account, self.backend, self.params))

    def simulate_custom_policy(self) -> ActionResult:
        """What given policies allow."""
        return ActionResult(simulate_custom(self.params))
