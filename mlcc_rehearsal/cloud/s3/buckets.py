"""Buckets whose policies are evaluated with conditions."""

from __future__ import annotations

from typing import Any

from moto.iam.access_control import PermissionResult
from moto.s3.models import FakeBucket

from mlcc_rehearsal.cloud import laws_operator
from mlcc_rehearsal.cloud.account import current_request, find_account
from mlcc_rehearsal.cloud.iam_evaluation import Decision, Principal, Request
from mlcc_rehearsal.cloud.s3.policies import evaluate_bucket_policy

_RESULTS = {
    Decision.ALLOWED: PermissionResult.PERMITTED,
    Decision.EXPLICIT_DENY: PermissionResult.DENIED,
    Decision.IMPLICIT_DENY: PermissionResult.NEUTRAL,
}


class RehearsedBucket(FakeBucket):
    """moto's bucket; moto itself knows policies without principals and conditions only."""

    def get_permission(self, action: str, resource: str) -> Any:
        """What the bucket's policy says to the caller of the present request."""
        account = find_account(self.account_id)
        if account is None or self.policy is None:
            return PermissionResult.NEUTRAL
        caller = current_request.get()
        principal = Principal("AWS", caller.principal) if caller and caller.principal else None
        asked = Request(action, resource, {}, principal)
        decision = evaluate_bucket_policy(account, self.policy, asked).decision
        if decision is Decision.EXPLICIT_DENY:
            laws_operator.BUCKET_POLICY.broken(PermissionError(action))
        return _RESULTS[decision]
