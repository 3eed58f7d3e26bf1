"""Checks of the vanilla EKS cluster; its node groups have a module of their own."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from mlcc_infra import versions
from mlcc_infra.profile.check_account import duplicates
from mlcc_infra.profile.check_network import PRIVATE_RANGES, block, block_reason
from mlcc_infra.profile.checks import Findings
from mlcc_infra.profile.eks import Addon
from mlcc_infra.profile.problems import closest, remove_command, set_command

MAX_FARGATE_SELECTORS: Final = 5
"""Selectors of one Fargate profile (botocore, CreateFargateProfile)."""
MAX_PUBLIC_BLOCKS: Final = 40
"""Blocks for the public endpoint of a cluster (EKS user guide, service quotas)."""
RETENTION_DAYS: Final = (
    *(1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545),
    *(731, 1096, 1827, 2192, 2557, 2922, 3288, 3653),
)
"""Days for which CloudWatch keeps logs, and no others (botocore, logs, PutRetentionPolicy)."""
_NAMESPACE: Final = re.compile(r"^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$")
_GATEWAY_CONTROLLER: Final = "hyperpod-inference-system"


def check_kubernetes(findings: Findings, key: str, version: str) -> None:
    """Whether EKS still makes and keeps clusters of this minor."""
    support = versions.kubernetes_support(version, findings.today)
    release = versions.KUBERNETES.get(version)
    command = set_command(key, versions.DEFAULT_KUBERNETES, stack=findings.stack)
    if support is versions.Support.UNSUPPORTED:
        ended = f" since {release.extended_until}" if release else ""
        findings.refuse(key, version, f"a Kubernetes version that EKS no longer supports{ended}", command)
    elif support is versions.Support.EXTENDED and release:
        since, until = release.standard_until, release.extended_until
        found = f"in extended support, at extra cost, since {since} (until {until})"
        findings.warn(key, version, found, command)
    elif support is versions.Support.UNKNOWN:
        found = (
            f"a Kubernetes version that this release does not know; it knows {', '.join(versions.KUBERNETES)}"
        )
        findings.warn(key, version, found, command)


def check_version(findings: Findings) -> None:
    """Kubernetes version of the vanilla cluster."""
    if not findings.profile.has("vanilla-eks"):
        return
    version = findings.profile.eks.version
    check_kubernetes(findings, "mlcc:eks.version", version)
    release = versions.KUBERNETES.get(version)
    if (
        findings.profile.eks.support_type == "STANDARD"
        and release
        and findings.today > release.standard_until
    ):
        findings.refuse(
            "mlcc:eks.supportType",
            "STANDARD",
            f"standard support of {version} ended on {release.standard_until}: EKS upgrades it by itself",
            set_command("mlcc:eks.supportType", "EXTENDED", stack=findings.stack)
            + ", or choose a newer version",
        )


def check_endpoint(findings: Findings) -> None:
    """At least one way in, and blocks for the public one."""
    endpoint = findings.profile.eks.endpoint
    key = "mlcc:eks.endpoint"
    if not endpoint.public and not endpoint.private:
        found = "neither a public nor a private endpoint"
        findings.refuse(key, None, found, set_command(f"{key}.private", "true", stack=findings.stack))
    blocks = endpoint.public_access_cidrs
    given = "public_access_cidrs" in endpoint.model_fields_set
    for position, text in enumerate(blocks):
        place = f"{key}.publicAccessCidrs[{position}]"
        network = block(text)
        if network is None:
            findings.refuse(place, text, block_reason(text), "give an IPv4 block such as 203.0.113.0/24")
        elif any(network.subnet_of(private) for private in PRIVATE_RANGES):
            findings.refuse(
                place,
                text,
                "a private block, which EKS refuses for the public endpoint: no private address reaches it",
                "give the addresses that your network has on the internet, such as 203.0.113.0/24; what is "
                "in the VPC, or connected to it, uses the private endpoint",
            )
    if len(blocks) > MAX_PUBLIC_BLOCKS:
        found = f"{len(blocks)} blocks; EKS takes {MAX_PUBLIC_BLOCKS} without a raised quota (unverified)"
        findings.warn(f"{key}.publicAccessCidrs", len(blocks), found, "join neighbouring blocks")
    if endpoint.public and not blocks:
        findings.refuse(
            f"{key}.publicAccessCidrs",
            [],
            "a public endpoint that nobody may use",
            set_command(f"{key}.public", "false", stack=findings.stack),
        )
    if not endpoint.public and given:
        command = remove_command(f"{key}.publicAccessCidrs", stack=findings.stack)
        findings.refuse(
            f"{key}.publicAccessCidrs", list(blocks), "blocks for an endpoint that is off", command
        )
    if endpoint.public and "0.0.0.0/0" in blocks and findings.profile.has("vanilla-eks"):
        findings.warn(
            f"{key}.publicAccessCidrs",
            list(blocks),
            "the Kubernetes API answers to the whole internet (who calls still has to authenticate)",
            set_command(f"{key}.publicAccessCidrs[0]", "<your block>", stack=findings.stack),
        )
    if not endpoint.private and "0.0.0.0/0" not in blocks:
        findings.warn(
            f"{key}.private",
            False,
            "nodes reach the API at the public endpoint, so publicAccessCidrs must have the NAT gateways",
            set_command(f"{key}.private", "true", stack=findings.stack),
        )


def check_logs(findings: Findings) -> None:
    """A retention that CloudWatch knows."""
    days = findings.profile.eks.log_retention_days
    if days in RETENTION_DAYS:
        return
    key = "mlcc:eks.logRetentionDays"
    longer = next(known for known in RETENTION_DAYS if known > days)
    listed = ", ".join(map(str, RETENTION_DAYS))
    found = f"a retention that CloudWatch does not know; it knows {listed}"
    findings.refuse(key, days, found, set_command(key, str(longer), stack=findings.stack))


def check_service_cidr(findings: Findings) -> None:
    """RFC 1918, /12 to /24, apart from the VPC (EKS API, KubernetesNetworkConfigRequest)."""
    profile = findings.profile
    text = profile.eks.service_cidr
    if text is None:
        return
    key = "mlcc:eks.serviceCidr"
    command = set_command(key, "172.20.0.0/16", stack=findings.stack)
    services = block(text)
    if services is None:
        findings.refuse(key, text, block_reason(text), command)
        return
    if not any(services.subnet_of(private) for private in PRIVATE_RANGES):
        found = "a block outside 10.0.0.0/8, 172.16.0.0/12 and 192.168.0.0/16, the only ones that EKS accepts"
        findings.refuse(key, text, found, command)
    if not 12 <= services.prefixlen <= 24:
        findings.refuse(key, text, f"a /{services.prefixlen}; EKS accepts /12 to /24", command)
    vpc = block(profile.network.vpc_cidr or "")
    if vpc is not None and services.overlaps(vpc):
        findings.refuse(key, text, f"a block that overlaps the VPC's {vpc}", command)


def check_fargate(findings: Findings) -> None:
    """At most five selectors in a profile, real namespaces, and none that cannot work on Fargate."""
    namespaces = findings.profile.eks.fargate_namespaces
    key = "mlcc:eks.fargateNamespaces"
    if len(namespaces) > MAX_FARGATE_SELECTORS:
        findings.refuse(
            key,
            list(namespaces),
            f"{len(namespaces)} namespaces; a Fargate profile has at most {MAX_FARGATE_SELECTORS} selectors",
            f"keep {MAX_FARGATE_SELECTORS} at most",
        )
    for name in duplicates(namespaces):
        findings.refuse(key, list(namespaces), f"namespace {name} twice", "name each once")
    for position, name in enumerate(namespaces):
        if not _NAMESPACE.match(name):
            findings.refuse(
                f"{key}[{position}]", name, "no name of a namespace", "lower-case letters, digits, -"
            )
        if name == _GATEWAY_CONTROLLER:
            found = "the inference operator's namespace, whose pods use host paths and the S3 CSI driver"
            findings.refuse(f"{key}[{position}]", name, found, "leave it to nodes")


def check_addon_versions(
    findings: Findings, key: str, kubernetes: str, addons: Mapping[str, Addon], minimum: Mapping[str, str]
) -> None:
    """Each add-on has an exact version, its own or a pin, not below a documented minimum."""
    for name, addon in addons.items():
        place = f'{key}["{name}"].version'
        if not addon.enabled:
            continue
        version = addon.version
        if version is None:
            try:
                version = versions.addon_version(name, kubernetes)
            except KeyError as error:
                example = set_command(place, "<vX.Y.Z-eksbuild.N>", stack=findings.stack)
                found = str(error.args[0]) + closest(name, sorted(versions.ADDONS))
                findings.refuse(
                    place,
                    None,
                    found,
                    f"{example}; `aws eks describe-addon-versions --kubernetes-version {kubernetes} "
                    f"--addon-name {name}` lists what there is",
                )
                continue
        if name == "kube-proxy" and not version.startswith(f"v{kubernetes}."):
            found = f"kube-proxy of another Kubernetes minor than {kubernetes}"
            findings.refuse(place, version, found, remove_command(place, stack=findings.stack))
        least = minimum.get(name)
        if least and versions.addon_version_key(version) < versions.addon_version_key(least):
            findings.refuse(place, version, f"below the documented minimum {least}", f"use {least} or later")
        for reason in null_values(addon.configuration):
            found = f"an empty value at {reason}, which becomes JSON null and fails the add-on's schema"
            findings.refuse(f'{key}["{name}"].configuration', None, found, "remove the key")


def null_values(values: Any, path: str = "") -> tuple[str, ...]:
    """Where a configuration has `null`."""
    if values is None:
        return (path or "the top",)
    if isinstance(values, Mapping):
        return tuple(found for key, value in values.items() for found in null_values(value, f"{path}.{key}"))
    if isinstance(values, (list, tuple)):
        return tuple(
            found for number, value in enumerate(values) for found in null_values(value, f"{path}[{number}]")
        )
    return ()


def check_addons(findings: Findings) -> None:
    """Add-ons of the vanilla cluster."""
    profile = findings.profile
    if not profile.has("vanilla-eks"):
        return
    addons = {name: profile.eks.addons.get(name, Addon()) for name in versions.DEFAULT_ADDONS}
    check_addon_versions(
        findings, "mlcc:eks.addons", profile.eks.version, {**addons, **profile.eks.addons}, {}
    )
    for name in ("vpc-cni", "kube-proxy", "coredns"):
        if not addons[name].enabled:
            found = "a cluster without it: nodes do not become Ready, or names do not resolve"
            findings.warn(
                f'mlcc:eks.addons["{name}"].enabled', False, found, "bring a replacement of your own"
            )
    if versions.OPERATOR_ADDON_NAME in profile.eks.addons:
        findings.refuse(
            f'mlcc:eks.addons["{versions.OPERATOR_ADDON_NAME}"]',
            None,
            "the inference operator on a cluster without HyperPod",
            "use target hyperpod-eks or operator-only",
        )


def check_inference(findings: Findings) -> None:
    """Subjects that name at least one of namespace and service account."""
    inference = findings.profile.eks.inference
    if inference.enabled and not inference.service_accounts:
        findings.refuse(
            "mlcc:eks.inference.serviceAccounts",
            [],
            "a role that no pod may use",
            set_command("mlcc:eks.inference.enabled", "false", stack=findings.stack),
        )
    for position, entry in enumerate(inference.service_accounts):
        if entry == "*:*":
            found = "every service account of the cluster"
            place = f"mlcc:eks.inference.serviceAccounts[{position}]"
            findings.refuse(place, entry, found, "name the namespace or the service account")


CHECKS: Final[tuple[Callable[[Findings], None], ...]] = (
    check_version,
    check_endpoint,
    check_logs,
    check_service_cidr,
    check_fargate,
    check_addons,
    check_inference,
)
