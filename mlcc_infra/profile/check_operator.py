"""Checks of the inference operator."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from mlcc_infra import versions
from mlcc_infra.naming import Names
from mlcc_infra.operator_configuration import GATEWAY_SINCE, OWN_KEYS, knows_gateway
from mlcc_infra.profile.check_eks import check_addon_versions, null_values
from mlcc_infra.profile.checks import Findings
from mlcc_infra.profile.eks import Addon
from mlcc_infra.profile.problems import closest, remove_command, set_command

EXECUTION_ROLE_PREFIX: Final = "SageMakerHyperPodInference"
TLS_BUCKET_PREFIX: Final = "hyperpod-tls"
_CLUSTER_ARN_FROM: Final = versions.addon_version_key("v1.2.0-eksbuild.1")
FREE_CONFIGURATION: Final = ("affinity", "nodeSelector", "tolerations", "inferenceOperator")
"""Configuration keys that AWS's chart or docs name besides; the live schema decides at deployment."""


def check_cluster(findings: Findings) -> None:
    """`operator-only` names the cluster; nothing else may."""
    profile = findings.profile
    cluster = profile.operator.cluster
    key = "mlcc:operator.cluster"
    if profile.has("operator-only") and cluster is None:
        findings.refuse(
            key,
            None,
            "target operator-only without a cluster to put the operator on",
            set_command(f"{key}.eksClusterName", "<name>", stack=findings.stack)
            + "; "
            + set_command(f"{key}.hyperPodClusterArn", "<arn>", stack=findings.stack),
        )
    if cluster is None:
        return
    if not profile.has("operator-only"):
        command = remove_command(key, stack=findings.stack)
        findings.refuse(key, cluster.eks_cluster_name, "a cluster without target operator-only", command)
        return
    region, account = cluster.hyperpod_cluster_arn.split(":")[3:5]
    place = f"{key}.hyperPodClusterArn"
    if profile.region and region != profile.region:
        found = f"a cluster in {region}, while the stack is in {profile.region}"
        findings.refuse(place, cluster.hyperpod_cluster_arn, found, "use a stack with that aws:region")
    if profile.account_id and account != profile.account_id:
        found = f"a cluster of account {account}, while the profile is for {profile.account_id}"
        findings.refuse(place, cluster.hyperpod_cluster_arn, found, "check the account in the ARN")


def check_one_owner(findings: Findings) -> None:
    """One load balancer controller and one cert-manager a cluster: webhooks and CRDs are cluster-wide."""
    profile = findings.profile
    cluster = profile.operator.cluster
    names = Names(profile.name, "0" * 12, profile.region)
    if cluster is None or not profile.has("vanilla-eks") or cluster.eks_cluster_name != names.eks_cluster:
        return
    if profile.eks.load_balancer_controller.enabled and profile.operator.load_balancer_controller.enabled:
        findings.refuse(
            "mlcc:operator.loadBalancerController.enabled",
            True,
            f"two load balancer controllers on {names.eks_cluster}: their webhooks have the same names, and "
            "the certificate of one does not fit the other",
            set_command("mlcc:operator.loadBalancerController.enabled", "false", stack=findings.stack),
        )
    for name in versions.PREREQUISITE_MINIMUM:
        given = profile.eks.addons.get(name)
        wanted = profile.operator.addons.get(name, Addon())
        if given is not None and given.enabled and wanted.enabled:
            findings.refuse(
                f'mlcc:operator.addons["{name}"].enabled',
                True,
                f"add-on {name} twice on {names.eks_cluster}",
                f"switch it off here or in mlcc:eks.addons of {findings.stack}",
            )


def check_operator_version(findings: Findings) -> None:
    """A version whose configuration is known, and what it needs."""
    operator = findings.profile.operator
    key = "mlcc:operator.version"
    if operator.version not in versions.OPERATOR_ADDON_VERSIONS:
        listed = ", ".join(versions.OPERATOR_ADDON_VERSIONS)
        found = f"a version whose configuration this release does not know; it knows {listed}"
        command = set_command(key, versions.OPERATOR_ADDON, stack=findings.stack)
        findings.refuse(key, operator.version, found, command)
        return
    number = versions.addon_version_key(operator.version)
    if operator.gateway.enabled and not knows_gateway(operator.version):
        found = f"the inference gateway with add-on {operator.version}; it came with {GATEWAY_SINCE}"
        command = set_command(key, versions.OPERATOR_ADDON, stack=findings.stack)
        findings.refuse("mlcc:operator.gateway.enabled", True, found, command)
    if number < _CLUSTER_ARN_FROM:
        found = "an old add-on: AWS's upgrade notes ask for v1.2.0 or later"
        findings.warn(
            key, operator.version, found, set_command(key, versions.OPERATOR_ADDON, stack=findings.stack)
        )


def check_install(findings: Findings) -> None:
    """Who installs it, on which cluster."""
    profile = findings.profile
    if profile.operator.install != "template":
        return
    key = "mlcc:operator.install"
    command = set_command(key, "graph", stack=findings.stack)
    if not profile.has("hyperpod-eks"):
        found = "AWS's template, which target operator-only does not use"
        findings.refuse(key, "template", found, command)
    bucket = profile.operator.tls_bucket
    if bucket and not bucket.startswith(TLS_BUCKET_PREFIX):
        found = (
            f"AWS's template with TLS bucket {bucket}: the role that it makes may only use buckets whose "
            f"name starts with {TLS_BUCKET_PREFIX}"
        )
        remove = remove_command("mlcc:operator.tlsBucket", stack=findings.stack)
        findings.refuse("mlcc:operator.tlsBucket", bucket, found, remove)
    if profile.operator.gateway.enabled or profile.operator.roles.execution:
        found = "AWS's template, which installs v1.0.0 with roles of its own and without a gateway"
        findings.refuse(key, "template", found, command)
    else:
        found = "AWS's template installs v1.0.0 without a cluster ARN, and reports success whatever happens"
        findings.warn(key, "template", found, command)


def check_roles(findings: Findings) -> None:
    """Own roles: prefix and path of the execution role, one account."""
    profile = findings.profile
    roles = profile.operator.roles
    execution = roles.execution
    if execution is not None:
        key = "mlcc:operator.roles.execution"
        path_and_name = execution.split(":role/", 1)[1]
        name = path_and_name.rsplit("/", 1)[-1]
        if not name.startswith(EXECUTION_ROLE_PREFIX):
            findings.refuse(
                key,
                execution,
                f"a role whose name does not start with {EXECUTION_ROLE_PREFIX}: AWS's policy passes no "
                "other, and the add-on refuses it",
                remove_command(key, stack=findings.stack) + ", so that the role is made",
            )
        if "/" in path_and_name:
            found = "a role with a path; AWS looks for it at role/<name>"
            findings.refuse(key, execution, found, "use a role at /")
    for name, alias in (
        (field, str(info.alias)) for field, info in type(roles).model_fields.items() if info.alias
    ):
        arn = getattr(roles, name)
        if arn and profile.account_id and arn.split(":")[4] != profile.account_id:
            found = f"a role of another account than {profile.account_id}"
            findings.refuse(f"mlcc:operator.roles.{alias}", arn, found, "check the account in the ARN")


def check_tls_bucket(findings: Findings) -> None:
    """AWS's managed policy covers `hyperpod-tls*` only; another name works through our own grant."""
    bucket = findings.profile.operator.tls_bucket
    if bucket is None:
        return
    key = "mlcc:operator.tlsBucket"
    if "tls" not in bucket:
        findings.warn(
            key,
            bucket,
            "a name without `tls`, which the add-on's schema may refuse (unverified)",
            f"use a name that starts with {TLS_BUCKET_PREFIX}",
        )
    if "." in bucket:
        found = "a name with dots, on which TLS to S3 by host name fails"
        findings.refuse(key, bucket, found, f"use a name that starts with {TLS_BUCKET_PREFIX}, without dots")


def check_configuration(findings: Findings) -> None:
    """More configuration: known keys, none of those this product sets, no empty values."""
    configuration = findings.profile.operator.configuration
    for name, value in configuration.items():
        key = f"mlcc:operator.configuration.{name}"
        if name in OWN_KEYS:
            found = "a configuration key that this product sets from the other keys of mlcc:operator"
            findings.refuse(key, value, found, remove_command(key, stack=findings.stack))
        elif name not in FREE_CONFIGURATION:
            hint = closest(name, (*FREE_CONFIGURATION, *OWN_KEYS))
            found = f"no configuration key of the add-on{hint}"
            findings.refuse(key, value, found, f"known keys: {', '.join(FREE_CONFIGURATION)}")
        for reason in null_values(value):
            found = f"an empty value at {reason}, which becomes JSON null and fails the add-on's schema"
            findings.refuse(key, value, found, "remove the key")


def check_prerequisites(findings: Findings) -> None:
    """Prerequisite add-ons: pinned, at least the documented minimum, and no others."""
    profile = findings.profile
    kubernetes = profile.hyperpod.kubernetes_version
    known = tuple(versions.PREREQUISITE_MINIMUM)
    for name in profile.operator.addons:
        if name not in known:
            key = f'mlcc:operator.addons["{name}"]'
            found = f"no prerequisite of the operator{closest(name, known)}"
            findings.refuse(key, None, found, f"prerequisites are {', '.join(known)}")
    addons: Mapping[str, Addon] = {name: profile.operator.addons.get(name, Addon()) for name in known}
    check_addon_versions(findings, "mlcc:operator.addons", kubernetes, addons, versions.PREREQUISITE_MINIMUM)


def check_needed_parts(findings: Findings) -> None:
    """The add-on's load balancer controller is what endpoints are reached through."""
    operator = findings.profile.operator
    if not operator.load_balancer_controller.enabled and findings.profile.has("hyperpod-eks"):
        findings.warn(
            "mlcc:operator.loadBalancerController.enabled",
            False,
            "no load balancer controller on the HyperPod cluster: endpoints get no load balancer",
            set_command("mlcc:operator.loadBalancerController.enabled", "true", stack=findings.stack),
        )


_CHECKS: Final[tuple[Callable[[Findings], None], ...]] = (
    check_operator_version,
    check_install,
    check_roles,
    check_tls_bucket,
    check_configuration,
    check_prerequisites,
    check_needed_parts,
)


def check_operator(findings: Findings) -> None:
    """All of the above, where a target brings the operator."""
    check_cluster(findings)
    check_one_owner(findings)
    if findings.profile.has("hyperpod-eks") or findings.profile.has("operator-only"):
        for check in _CHECKS:
            check(findings)


CHECKS: Final[tuple[Callable[[Findings], None], ...]] = (check_operator,)
