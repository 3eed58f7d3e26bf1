"""Checks of name, region, targets, identity, adoption and tags."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from difflib import get_close_matches
from typing import Final

from mlcc_infra.naming import MAX_PROFILE_LENGTH, PROFILE_PATTERN, name_problems
from mlcc_infra.profile.base import KINDS
from mlcc_infra.profile.checks import Findings
from mlcc_infra.profile.principals import read_principal
from mlcc_infra.profile.problems import closest, set_command
from mlcc_infra.regions import REGIONS
from mlcc_infra.tagging import MOST_OWN_TAGS, case_problems, tag_problems

_PATTERN_TEXT: Final = "lower-case letters, digits and hyphens, no hyphen at either end"


def check_name(findings: Findings) -> None:
    """The profile's name, and every name derived from it (names of roles, clusters, buckets, stacks)."""
    profile = findings.profile
    key = "mlcc:profile"
    remedy = set_command(key, f"<at most {MAX_PROFILE_LENGTH} characters>", stack=findings.stack)
    if not PROFILE_PATTERN.fullmatch(profile.name):
        findings.refuse(key, profile.name, f"a name of other characters than {_PATTERN_TEXT}", remedy)
        return
    offenders = name_problems(profile.name)
    if offenders:
        listed = "".join(f"\n           - {offender}" for offender in offenders)
        findings.refuse(
            key,
            profile.name,
            f"{len(profile.name)} characters, so that {len(offenders)} names do not fit:{listed}",
            f"choose a name of at most {MAX_PROFILE_LENGTH} characters: {remedy}",
        )
    if profile.name.endswith("-hp"):
        findings.refuse(
            key,
            profile.name,
            f"a name ending in -hp: its cluster mlcc-{profile.name}-eks would be the HyperPod cluster of "
            f"profile {profile.name.removesuffix('-hp')!r}",
            remedy,
        )
    if profile.name.endswith("-eks") and (profile.has("hyperpod-eks") or profile.has("operator-only")):
        findings.warn(
            key,
            profile.name,
            f"a name ending in -eks: its role mlcc-{profile.name}-alb-controller-role has the name that the "
            f"vanilla cluster of profile {profile.name.removesuffix('-eks')!r} gives to its own",
            "choose another name if there is, or will be, such a profile in the account",
        )
    if re.fullmatch(r"[0-9a-f]{8}", profile.name):
        findings.refuse(
            key, profile.name, "eight hex digits, which look like the hash in bucket names", remedy
        )


def check_region(findings: Findings) -> None:
    """The region must be in the one table; HyperPod's own list is good for a warning only."""
    profile = findings.profile
    if not profile.region:
        return
    region = REGIONS.get(profile.region)
    if region is None:
        near = get_close_matches(profile.region, list(REGIONS), n=3, cutoff=0.6)
        findings.refuse(
            "aws:region",
            profile.region,
            "a region that this release does not know",
            set_command("aws:region", near[0] if near else "us-west-2", stack=findings.stack)
            + (f" (similar: {', '.join(near)})" if near else ""),
        )
        return
    for target, offered in (
        ("hyperpod-eks", region.hyperpod and region.inference_operator),
        ("operator-only", region.inference_operator),
    ):
        if profile.has(target) and not offered:
            places = ", ".join(name for name, entry in REGIONS.items() if entry.inference_operator)
            findings.warn(
                "aws:region",
                profile.region,
                f"a region where {target} was not seen on offer (unverified)",
                f"check AWS's list; seen in {places}",
            )


def check_targets(findings: Findings) -> None:
    """Each target once; hyperpod-eks and operator-only would both own the operator's roles and parameters."""
    targets = findings.profile.targets
    for target in dict.fromkeys(targets):
        if targets.count(target) > 1:
            findings.refuse(
                "mlcc:targets", list(targets), f"{target} twice", "name each target once in mlcc:targets"
            )
    if "hyperpod-eks" in targets and "operator-only" in targets:
        findings.refuse(
            "mlcc:targets",
            list(targets),
            "hyperpod-eks together with operator-only: both make the operator's roles, bucket and parameters",
            "keep one of them; give the other a stack of its own",
        )


def check_account_id(findings: Findings) -> None:
    """Twelve digits; a shorter text has lost its leading zeros to YAML and is never padded."""
    account = findings.profile.account_id
    if account is None or re.fullmatch(r"[0-9]{12}", account):
        return
    key = "mlcc:accountId"
    command = set_command(key, "<twelve digits>", stack=findings.stack)
    if re.fullmatch(r"[0-9]{1,11}", account):
        found = (
            f"{len(account)} digits where an account id has twelve; YAML drops the leading zero of a number"
        )
        findings.refuse(key, account, found, f'quote it, as in accountId: "012345678901": {command}')
    else:
        found = "no account id of twelve digits"
        findings.refuse(key, account, found, f'quote it, as in accountId: "012345678901": {command}')


def check_admins(findings: Findings) -> None:
    """ARNs that EKS takes; sessions are turned into roles with a warning."""
    profile = findings.profile
    seen: dict[str, int] = {}
    for position, entry in enumerate(profile.admins):
        key = f"mlcc:admins[{position}]"
        principal = read_principal(entry)
        if principal.problem:
            findings.refuse(key, entry, principal.problem, principal.remedy)
            continue
        if principal.note:
            findings.warn(key, entry, principal.note, f"write {principal.arn} with its full path")
        if principal.arn in seen:
            same = f"the same administrator as mlcc:admins[{seen[principal.arn]}]"
            findings.warn(key, entry, same, "name each once")
        seen.setdefault(principal.arn, position)
        if profile.account_id and principal.account != profile.account_id:
            findings.warn(
                key,
                entry,
                f"an identity of account {principal.account}, while the profile is for {profile.account_id}",
                "check the account in the ARN",
            )


def check_own(findings: Findings) -> None:
    """Known kinds, each entry a kind or `<kind>/<name>`."""
    for position, entry in enumerate(findings.profile.own):
        kind, slash, name = entry.partition("/")
        if kind not in KINDS or (slash and not name):
            findings.refuse(
                f"mlcc:own[{position}]",
                entry,
                f"an unknown kind{closest(kind, KINDS)}" if kind not in KINDS else "a kind without a name",
                f"give a kind or <kind>/<name>, with one of {', '.join(KINDS)}",
            )


def check_tags(findings: Findings) -> None:
    """What AWS accepts as tags, with room for this product's own."""
    tags = findings.profile.tags
    for name, reason in (*tag_problems(tags, own_tags=MOST_OWN_TAGS), *case_problems(tags)):
        key = f'mlcc:tags["{name}"]' if name else "mlcc:tags"
        findings.refuse(key, tags.get(name, len(tags)), reason, "change or remove the tag")


def check_company_rules(findings: Findings) -> None:
    """The permissions boundary has to be in the account, the partition and reachable for every role."""
    profile = findings.profile
    boundary = profile.permissions_boundary
    if boundary is None:
        return
    partition, account = boundary.split(":")[1], boundary.split(":")[4]
    region = REGIONS.get(profile.region)
    if region is not None and partition != region.partition:
        found = f"a policy of partition {partition}, while {profile.region} is in {region.partition}"
        findings.refuse("mlcc:permissionsBoundary", boundary, found, f"use arn:{region.partition}:iam::…")
    if profile.account_id and account not in ("aws", profile.account_id):
        findings.refuse(
            "mlcc:permissionsBoundary",
            boundary,
            f"a policy of account {account}; a boundary must be in the role's account {profile.account_id}",
            "give the ARN of a policy in that account",
        )


def check_adopt(findings: Findings) -> None:
    """`never` and `forceDelete` at once is allowed, but says two things; owning what is never adopted too."""
    profile = findings.profile
    for position, entry in enumerate(profile.own):
        kind = entry.partition("/")[0]
        if kind in KINDS and profile.adopt.mode(kind) == "never":
            findings.warn(
                f"mlcc:own[{position}]",
                entry,
                f"something that is never adopted, as mlcc:adopt is `never` for {kind}",
                "remove it from mlcc:own, or set mlcc:adopt to `auto`",
            )
    if profile.force_delete:
        findings.warn(
            "mlcc:forceDelete",
            True,
            "destroy will delete the retained things too: service roles and TLS bucket",
            f"pulumi config rm mlcc:forceDelete -s {findings.stack}",
        )


def duplicates(values: Iterable[str]) -> tuple[str, ...]:
    """The values that occur more than once, in order."""
    listed = list(values)
    return tuple(dict.fromkeys(value for value in listed if listed.count(value) > 1))


CHECKS: Final[tuple[Callable[[Findings], None], ...]] = (
    check_name,
    check_region,
    check_targets,
    check_account_id,
    check_admins,
    check_adopt,
    check_own,
    check_tags,
    check_company_rules,
)
