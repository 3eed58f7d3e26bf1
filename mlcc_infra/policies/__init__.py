"""Trust and permission documents as pure functions, and the tables of roles they belong to."""

from __future__ import annotations

from mlcc_infra.policies.buckets import deny_plain_http
from mlcc_infra.policies.documents import (
    Document,
    Statement,
    allow,
    bucket_read,
    differences,
    document,
    document_problems,
    equivalent,
    inline_problems,
    parse,
    policy_text,
    statements,
)
from mlcc_infra.policies.roles import LiveRole, RoleContext, RoleEntry, needed
from mlcc_infra.policies.service_account_roles import (
    POLICIES,
    SERVICE_ACCOUNT_ROLES,
    alb_controller_policy,
)
from mlcc_infra.policies.service_roles import SERVICE_ROLES
from mlcc_infra.policies.trust import (
    issuer_host_path,
    oidc_provider_arn,
    service_statement,
    subject,
    trust,
    trusted_services,
    web_identity_statement,
)

__all__ = [
    "POLICIES",
    "SERVICE_ACCOUNT_ROLES",
    "SERVICE_ROLES",
    "Document",
    "LiveRole",
    "RoleContext",
    "RoleEntry",
    "Statement",
    "alb_controller_policy",
    "allow",
    "bucket_read",
    "deny_plain_http",
    "differences",
    "document",
    "document_problems",
    "equivalent",
    "inline_problems",
    "issuer_host_path",
    "needed",
    "oidc_provider_arn",
    "parse",
    "policy_text",
    "service_statement",
    "statements",
    "subject",
    "trust",
    "trusted_services",
    "web_identity_statement",
]
