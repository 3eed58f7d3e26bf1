"""Preflight checks of the HyperPod target: the template, its stack, capacity by zone."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

from botocore.exceptions import ClientError

from mlcc_infra.account.lookups.cloudformation import describe_stack
from mlcc_infra.account.lookups.eks import describe_cluster
from mlcc_infra.account.lookups.sagemaker import describe_hyperpod
from mlcc_infra.account.preflight import CheckResult, Verdict
from mlcc_infra.account.reader import Reader, error_code
from mlcc_infra.account.stack_failure import first_cause
from mlcc_infra.profile import Profile
from mlcc_infra.profile.problems import Problem
from mlcc_infra.template import check_pin, frozen_differences, frozen_words

# States from which a stack can only be deleted (CloudFormation user guide, stack status codes).
DEAD_STATES = frozenset({"ROLLBACK_COMPLETE", "ROLLBACK_FAILED", "CREATE_FAILED", "DELETE_FAILED"})
STUCK_STATES = frozenset({"UPDATE_ROLLBACK_FAILED", "IMPORT_ROLLBACK_FAILED"})
_NO_TEMPLATE = ("404", "NoSuchKey", "NoSuchBucket")


def check_template(reader: Reader, profile: Profile, url: str, *, made: bool) -> list[CheckResult]:
    """The template is there, and is the one that is pinned; read from S3 with the caller's identity.

    Where the stack is `made` it does not read the template any more, so that another one than this release's
    is worth a warning only when the profile pins the digest that it saw itself.
    """
    bucket, key = split_url(url)
    client = reader.session.client("s3")
    try:
        body = client.get_object(Bucket=bucket, Key=key)["Body"].read()
    except ClientError as error:
        if error_code(error) not in _NO_TEMPLATE:
            raise
        return [
            CheckResult(
                name="template",
                verdict=Verdict.REFUSED,
                found=f"there is no template at {url}",
                needed="AWS's main-stack-eks-based-template.yaml, or a mirror of it in the region",
                remedy="correct mlcc:hyperpod.template, or use a region where HyperPod is offered",
            )
        ]
    outcome = check_pin(profile, hashlib.sha256(body).hexdigest())
    if made and outcome.verdict == "warning" and profile.hyperpod.template.digest is None:
        said = f"{outcome.found}; the stack is made and does not read it any more"
        return [CheckResult(name="template", verdict=Verdict.OK, found=said)]
    return [
        CheckResult(
            name="template",
            verdict=Verdict(outcome.verdict),
            found=f"{outcome.found}, at {url}",
            needed=outcome.needed,
            remedy=outcome.remedy,
        )
    ]


def split_url(url: str) -> tuple[str, str]:
    """Bucket and key of a virtual-hosted S3 address, `https://<bucket>.s3.<region>.amazonaws.com/<key>`."""
    parts = urlsplit(url)
    return (parts.hostname or "").split(".s3.", 1)[0], parts.path.lstrip("/")


def check_parameters(problems: Sequence[Problem]) -> list[CheckResult]:
    """What the template's contract says against the parameters, as results."""
    return [
        CheckResult(name=problem.key, verdict=Verdict.REFUSED, found=problem.found, remedy=problem.remedy)
        for problem in problems
    ]


def check_stack(
    reader: Reader, stack_name: str, parameters: Mapping[str, str], *, recorded: bool, stack: str
) -> list[CheckResult]:
    """The stack can be worked with; what it was made with and would be made with now is compared.

    `recorded` tells whether the Pulumi state has it: a dead stack that it has is replaced by the engine,
    one that it lacks has to go first.
    """
    found = describe_stack(reader, stack_name)
    if found is None:
        return []
    status = str(found["StackStatus"])
    if status in STUCK_STATES:
        return [
            CheckResult(
                name="stack",
                verdict=Verdict.REFUSED,
                found=f"stack {stack_name} is {status}: {found.get('StackStatusReason', 'no reason given')}",
                needed="a stack that takes changes",
                remedy=f"aws cloudformation continue-update-rollback --stack-name {stack_name} "
                "(its help tells how to skip what cannot be rolled back), then run again",
            )
        ]
    why = _why(reader, found) if status in DEAD_STATES else ""
    if status in DEAD_STATES and not recorded:
        return [
            CheckResult(
                name="stack",
                verdict=Verdict.REFUSED,
                found=f"stack {stack_name} is {status}{why}, and this stack's state does not have it",
                needed="no dead stack of that name",
                remedy=f"aws cloudformation delete-stack --stack-name {stack_name}, then run again",
            )
        ]
    if status in DEAD_STATES:
        return [
            CheckResult(
                name="stack",
                verdict=Verdict.WARNING,
                found=f"stack {stack_name} is {status}{why}; it is deleted and made anew",
            )
        ]
    live = {entry["ParameterKey"]: entry.get("ParameterValue", "") for entry in found.get("Parameters", [])}
    differences = frozen_differences(live, parameters)
    if not differences:
        return [CheckResult(name="stack", verdict=Verdict.OK, found=f"{stack_name} is {status}")]
    text, remedy = frozen_words(differences, stack=stack)
    return [CheckResult(name="stack", verdict=Verdict.WARNING, found=text, remedy=remedy)]


def check_names_of_stack(
    reader: Reader, *, stack_name: str, eks_cluster: str, hyperpod_cluster: str
) -> list[CheckResult]:
    """What a stack is about to make under fixed names is not there yet.

    A cluster's name is taken for the whole region (EKS and SageMaker API references, CreateCluster), and the
    template comes to its clusters late. What is there is a predecessor's, which had its HyperPod cluster of
    that name on another EKS cluster, or was retained by a stack that could not be deleted.
    """
    if describe_stack(reader, stack_name) is not None:
        return []
    there = {
        "EKS": (eks_cluster, describe_cluster(reader, eks_cluster), "aws eks delete-cluster --name"),
        "HyperPod": (
            hyperpod_cluster,
            describe_hyperpod(reader, hyperpod_cluster),
            "aws sagemaker delete-cluster --cluster-name",
        ),
    }
    return [
        CheckResult(
            name="names of the stack",
            verdict=Verdict.REFUSED,
            found=f"there is a {kind} cluster {name}, and stack {stack_name} is about to make one",
            needed="no cluster of that name: one that exists cannot become part of a stack",
            remedy=f"keep it and give this stack another mlcc:profile; or {command} {name}, then run again",
        )
        for kind, (name, found, command) in there.items()
        if found is not None
    ]


def check_operator_owner(
    stack_name: str, live: Mapping[str, str], *, by_template: bool, stack: str
) -> list[CheckResult]:
    """Who installs the operator was decided when the stack was made (docs/rules.md, rules 6 and 10).

    `live` are the parameters of a living stack, empty without one. The stack is frozen: with the other
    `mlcc:operator.install` our operator would go, or come, while the stack's stays as it is; and an update
    that takes AWS's away deletes cert-manager, whoever owns it by then.
    """
    installs = live.get("EnableHPInferenceFeature", "").lower() == "true"
    if not live or installs == by_template:
        return []
    was, now = ("template", "graph") if installs else ("graph", "template")
    return [
        CheckResult(
            name="mlcc:operator.install",
            verdict=Verdict.REFUSED,
            found=f"`{now}`, while stack {stack_name} was made with `{was}` and is never updated",
            needed=f"`{was}` for as long as this stack lives",
            remedy=f"set it back to `{was}`; or remove the models and make the cluster anew: "
            f"pulumi destroy -s {stack} with `{was}`, then pulumi up -s {stack} with `{now}`",
        )
    ]


def _why(reader: Reader, stack: Mapping[str, Any]) -> str:
    """The first real cause, in brackets; empty when no event tells or the caller may not read events."""
    try:
        cause = first_cause(reader.session, stack["StackId"])
    except ClientError as error:
        return f" (its events could not be read: {error_code(error)})"
    return f" ({cause})" if cause else ""


def dead_stack_id(reader: Reader, stack_name: str) -> str | None:
    """The id of the stack of that name when it can only be deleted, else None."""
    found = describe_stack(reader, stack_name)
    return str(found["StackId"]) if found and found["StackStatus"] in DEAD_STATES else None
