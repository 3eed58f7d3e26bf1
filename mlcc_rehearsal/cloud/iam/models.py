"""moto's IAM with propagation, principals that must exist, names and limits."""

from __future__ import annotations

import copy
import datetime
import json
import re
from functools import lru_cache
from typing import Any

from moto.iam.aws_managed_policies import aws_managed_policies_data
from moto.iam.exceptions import (
    DeleteConflictException,
    EntityAlreadyExists,
    LimitExceededException,
    MalformedPolicyDocument,
    ValidationError,
)
from moto.iam.models import AWSManagedPolicy, IAMBackend, ManagedPolicy

from mlcc_rehearsal.cloud import laws
from mlcc_rehearsal.cloud.account import find_account
from mlcc_rehearsal.cloud.iam.roles import PREVIOUS_TRUST

_NAME = re.compile(r"[\w+=,.@-]+", re.ASCII)
_PRINCIPAL = re.compile(r"arn:[^:]+:(?:iam|sts)::(\d{12}):(role|user|assumed-role)/(.+)")
# Source: AWS IAM user guide, quotas (facts/limits.json, iam).
_LONGEST = {"roleName": 64, "policyName": 128, "instanceProfileName": 128, "userName": 64}
_POLICIES_PER_ROLE = 10
_MOST_TAGS = 50
# White space does not count. Source: AWS IAM user guide, quotas (facts/limits.json, iam).
_TRUST_SIZE, _POLICY_SIZE, _INLINE_SIZE = 2048, 6144, 10240
_LONGEST_DESCRIPTION = 1000


@lru_cache(maxsize=4)
def _managed_policies(region: str) -> tuple[AWSManagedPolicy, ...]:
    """AWS's managed policies as moto ships them, parsed once a process."""
    return tuple(
        AWSManagedPolicy.from_data(name, "aws", region, data)
        for name, data in json.loads(aws_managed_policies_data).items()
    )


class RehearsedIAMBackend(IAMBackend):
    """IAM of a rehearsed account."""

    def _init_aws_policies(self) -> list[ManagedPolicy]:
        """AWS's managed policies; none for the account that moto only learns addresses from."""
        if find_account(self.account_id) is None:
            return []
        policies: list[ManagedPolicy] = []
        for each in _managed_policies(self.region_name):
            policy = copy.copy(each)
            policy.account_id = self.account_id
            policies.append(policy)
        return policies

    def create_role(
        self,
        role_name: str,
        assume_role_policy_document: str,
        path: str,
        permissions_boundary: str | None,
        description: str,
        tags: list[dict[str, str]],
        max_session_duration: str | None,
        linked_service: str | None = None,
    ) -> Any:
        """As moto does, once names, principals and tags are right; others see the role seconds later.

        :raises IAMException: ValidationError, MalformedPolicyDocument, EntityAlreadyExists.
        """
        _check_name("roleName", role_name)
        _check_tags(tags)
        if description and len(description) > _LONGEST_DESCRIPTION:
            raise laws.ROLE_NAME.broken(
                _validation(
                    "description", description, f"length less than or equal to {_LONGEST_DESCRIPTION}"
                )
            )
        twin = next((r for r in self.roles.values() if r.name.lower() == role_name.lower()), None)
        if twin is not None:
            raise laws.ROLE_NAME.broken(EntityAlreadyExists(f"Role with name {role_name} already exists."))
        _check_trust(assume_role_policy_document)
        self._check_principals(assume_role_policy_document)
        role = super().create_role(
            role_name,
            assume_role_policy_document,
            path,
            permissions_boundary,
            description,
            tags,
            max_session_duration,
            linked_service,
        )
        account = find_account(self.account_id)
        if account is not None:
            # Naive, in UTC, as moto has it.
            role.create_date = account.clock.timestamp().astimezone(datetime.UTC).replace(tzinfo=None)
        setattr(role, PREVIOUS_TRUST, None)
        self._propagate(role.arn)
        return role

    def update_assume_role_policy(self, role_name: str, policy_document: str) -> None:
        """As moto does, once its principals are right; others see the change seconds later.

        :raises IAMException: MalformedPolicyDocument, LimitExceeded.
        """
        _check_trust(policy_document)
        self._check_principals(policy_document)
        role = self.get_role(role_name)
        account = find_account(self.account_id)
        seen = account is None or account.is_visible(role.arn)
        before = role.assume_role_policy_document
        super().update_assume_role_policy(role_name, policy_document)
        if seen:
            setattr(role, PREVIOUS_TRUST, before)
        if json.loads(before) != json.loads(policy_document):
            self._propagate(role.arn, principal=False)

    def attach_role_policy(self, policy_arn: str, role_name: str) -> None:
        """:raises LimitExceededException: when the role has as many policies as it may have."""
        role = self.get_role(role_name)
        if policy_arn not in role.managed_policies and len(role.managed_policies) >= _POLICIES_PER_ROLE:
            message = f"Cannot exceed quota for PoliciesPerRole: {_POLICIES_PER_ROLE}"
            raise laws.POLICIES_PER_ROLE.broken(LimitExceededException(message))
        super().attach_role_policy(policy_arn, role_name)

    def put_role_policy(self, role_name: str, policy_name: str, policy_json: str) -> None:
        """:raises LimitExceededException: when the role's inline policies are too long together."""
        role = self.get_role(role_name)
        others = [text for name, text in role.policies.items() if name != policy_name]
        if sum(_size(text) for text in (*others, policy_json)) > _INLINE_SIZE:
            message = f"Maximum policy size of {_INLINE_SIZE} bytes exceeded for role {role_name}"
            raise laws.POLICY_SIZE.broken(LimitExceededException(message))
        super().put_role_policy(role_name, policy_name, policy_json)

    def create_policy_version(self, policy_arn: str, policy_document: str, set_as_default: bool) -> Any:
        """:raises LimitExceededException: for a document that is too long."""
        _check_policy(policy_document)
        return super().create_policy_version(policy_arn, policy_document, set_as_default)

    def delete_role(self, role_name: str) -> None:
        """:raises IAMException: DeleteConflict while policies or instance profiles are attached."""
        role = self.get_role(role_name)
        try:
            super().delete_role(role_name)
        except DeleteConflictException as refused:
            raise laws.ROLE_DELETE_CONFLICT.broken(refused) from None
        account = find_account(self.account_id)
        if account is not None:
            account.seen_from.pop(role.arn, None)

    def create_policy(
        self, description: str, path: str, policy_document: str, policy_name: str, tags: Any
    ) -> Any:
        """:raises IAMException: ValidationError for a name, LimitExceeded for a document that is too long."""
        _check_name("policyName", policy_name)
        _check_policy(policy_document)
        return super().create_policy(description, path, policy_document, policy_name, tags)

    def delete_policy(self, policy_arn: str) -> None:
        """:raises DeleteConflictException: while the policy is attached to anything."""
        if self.get_policy(policy_arn).attachment_count:
            message = "Cannot delete a policy attached to entities."
            raise laws.POLICY_DELETE_CONFLICT.broken(DeleteConflictException(message))
        super().delete_policy(policy_arn)

    def create_instance_profile(self, name: str, *args: Any, **kwargs: Any) -> Any:
        """:raises IAMException: ValidationError for a name that is too long."""
        _check_name("instanceProfileName", name)
        return super().create_instance_profile(name, *args, **kwargs)

    def create_user(self, *args: Any, **kwargs: Any) -> Any:
        """As moto does; trust policies may name the user seconds later."""
        user = super().create_user(*args, **kwargs)
        self._propagate(user.arn)
        return user

    def _propagate(self, arn: str, *, principal: bool = True) -> None:
        account = find_account(self.account_id)
        if account is None:
            return
        account.propagate(arn)
        if principal:
            account.propagate(f"principal:{arn}", "iam.principal_propagation")

    def _check_principals(self, document: str) -> None:
        """Refuse a trust policy that names a role or user of this account that nobody sees (yet)."""
        try:
            policy = json.loads(document)
        except ValueError:
            return  # moto's own validation words this one
        statements = policy.get("Statement") if isinstance(policy, dict) else None
        for statement in statements if isinstance(statements, list) else [statements]:
            principal = statement.get("Principal") if isinstance(statement, dict) else None
            named = principal.get("AWS") if isinstance(principal, dict) else None
            for arn in named if isinstance(named, list) else [named]:
                if isinstance(arn, str) and not self._principal_visible(arn):
                    message = f'Invalid principal in policy: "AWS":"{arn}"'
                    raise laws.IAM_PRINCIPAL.broken(MalformedPolicyDocument(message))

    def _principal_visible(self, arn: str) -> bool:
        match = _PRINCIPAL.fullmatch(arn)
        if match is None or match.group(1) != self.account_id or match.group(2) == "assumed-role":
            return True
        entities = self.roles.values() if match.group(2) == "role" else self.users.values()
        if all(entity.arn != arn for entity in entities):
            return False
        account = find_account(self.account_id)
        return account is None or account.is_visible(f"principal:{arn}")


def _size(document: str | dict[str, Any]) -> int:
    text = document if isinstance(document, str) else json.dumps(document)
    return len("".join(text.split()))


def _check_trust(document: str) -> None:
    if _size(document) > _TRUST_SIZE:
        message = f"Cannot exceed quota for ACLSizePerRole: {_TRUST_SIZE}"
        raise laws.POLICY_SIZE.broken(LimitExceededException(message))


def _check_policy(document: str) -> None:
    if _size(document) > _POLICY_SIZE:
        message = f"Cannot exceed quota for PolicySize: {_POLICY_SIZE}"
        raise laws.POLICY_SIZE.broken(LimitExceededException(message))


def _check_name(parameter: str, name: str) -> None:
    longest = _LONGEST[parameter]
    if len(name) > longest:
        raise laws.ROLE_NAME.broken(_validation(parameter, name, f"length less than or equal to {longest}"))
    if not _NAME.fullmatch(name):
        message = (
            f"The specified value for {parameter} is invalid. It must contain only alphanumeric characters "
            "and/or "
            "the following: +=,.@_-"
        )
        raise laws.ROLE_NAME.broken(ValidationError(message))


def _validation(parameter: str, value: str, constraint: str) -> ValidationError:
    return ValidationError(
        f"1 validation error detected: Value '{value}' at '{parameter}' failed to satisfy constraint: "
        f"Member must have {constraint}"
    )


def _check_tags(tags: list[dict[str, str]] | None) -> None:
    if tags and len(tags) > _MOST_TAGS:
        message = (
            "1 validation error detected: Value at 'tags' failed to satisfy constraint: Member must have "
            "length "
            f"less than or equal to {_MOST_TAGS}"
        )
        raise laws.IAM_TAGS.broken(ValidationError(message))
