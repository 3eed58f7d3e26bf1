"""moto's STS with trust policies that are really evaluated."""

from __future__ import annotations

import base64
import json
from typing import Any

from moto.sts.models import STSBackend

from mlcc_rehearsal.cloud import laws
from mlcc_rehearsal.cloud.account import account_of, caller, current_request
from mlcc_rehearsal.cloud.errors import AwsError
from mlcc_rehearsal.cloud.iam.roles import find_role, seen_trust
from mlcc_rehearsal.cloud.iam_evaluation import ContextValue, Principal, Request, evaluate_trust


class RehearsedSTSBackend(STSBackend):
    """STS of a rehearsed account."""

    @property
    def _url_module(self) -> Any:
        # moto derives it from the class's own module, which has none.
        from moto.sts import urls

        return urls

    def assume_role(self, *args: Any, **kwargs: Any) -> Any:
        """:raises AwsError: AccessDenied when the role's trust policy does not allow the caller."""
        arn = kwargs.get("role_arn") or args[2]
        principal = caller()
        if principal is not None:
            context: dict[str, ContextValue] = {"aws:PrincipalArn": principal}
            if kwargs.get("external_id"):
                context["sts:ExternalId"] = kwargs["external_id"]
            if not self._allowed(arn, "sts:AssumeRole", Principal.aws(principal), context):
                message = f"User: {principal} is not authorized to perform: sts:AssumeRole on resource: {arn}"
                raise laws.ASSUME_ROLE_TRUST.broken(AwsError("AccessDenied", message, status=403))
        return super().assume_role(*args, **kwargs)

    def assume_role_with_web_identity(self, **kwargs: Any) -> Any:
        """Assume a role with a service account's token (a JWT whose signature is not checked here).

        :raises AwsError: InvalidIdentityToken without a provider for its issuer, AccessDenied when the role's
            trust policy does not allow the subject and audience.
        """
        request = current_request.get()
        token = str(request.parameters.get("WebIdentityToken", "")) if request else ""
        claims = _claims(token)
        if claims is None:
            message = (
                "The ID Token provided is not a valid JWT. (You may see this error if you sent an Access "
                "Token)"
            )
            raise laws.WEB_IDENTITY_PROVIDER.broken(AwsError("InvalidIdentityToken", message, status=400))
        self._check_web_identity(str(kwargs["role_arn"]), claims)
        return STSBackend.assume_role(self, **kwargs)

    def _check_web_identity(self, arn: str, claims: dict[str, Any]) -> None:
        from moto.iam.models import iam_backends

        issuer = str(claims.get("iss", "")).removeprefix("https://")
        providers = iam_backends[self.account_id][self.partition].open_id_providers
        provider_arn = f"arn:{self.partition}:iam::{self.account_id}:oidc-provider/{issuer}"
        if provider_arn not in providers:
            message = f"No OpenIDConnect provider found in your account for https://{issuer}"
            raise laws.WEB_IDENTITY_PROVIDER.broken(AwsError("InvalidIdentityToken", message, status=400))
        audience = claims.get("aud")
        context: dict[str, ContextValue] = {
            f"{issuer}:sub": str(claims.get("sub", "")),
            f"{issuer}:aud": audience if isinstance(audience, list) else str(audience or ""),
        }
        if not self._allowed(
            arn, "sts:AssumeRoleWithWebIdentity", Principal.federated(provider_arn), context
        ):
            message = "Not authorized to perform sts:AssumeRoleWithWebIdentity"
            raise laws.ASSUME_ROLE_TRUST.broken(AwsError("AccessDenied", message, status=403))

    def _allowed(self, arn: str, action: str, principal: Principal, context: dict[str, ContextValue]) -> bool:
        account = account_of(self.account_id)
        role = find_role(account, arn)
        trust = seen_trust(account, role) if role is not None else None
        return trust is not None and evaluate_trust(trust, Request(action, arn, context, principal)).allowed


def _claims(token: str) -> dict[str, Any] | None:
    parts = token.split(".")
    if len(parts) != 3:
        return None
    try:
        value = json.loads(base64.urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4)))
    except ValueError:
        return None
    return value if isinstance(value, dict) else None
