"""Which inputs the published component knows, which are modelled here, and what is said of the others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pulumi
import pulumi_eks
from pulumi import _types as types

HERE = "mlcc_rehearsal/plugins/eks/"

#: Inputs of the component that the stand-in models, whatever their value.
MODELLED = frozenset(
    {
        "accessEntries", "authenticationMode", "bootstrapSelfManagedAddons", "clusterSecurityGroup",
        "clusterSecurityGroupTags", "clusterTags", "corednsAddonOptions", "deletionProtection",
        "enableConfigMapMutable", "enabledClusterLogTypes", "encryptionConfigKeyArn", "endpointPrivateAccess",
        "endpointPublicAccess", "ipFamily", "kubeProxyAddonOptions", "kubernetesServiceIpAddressRange",
        "name", "nodeSecurityGroupTags", "privateSubnetIds", "providerCredentialOpts", "publicAccessCidrs",
        "publicSubnetIds", "serviceRole", "skipDefaultNodeGroup", "skipDefaultSecurityGroups", "subnetIds",
        "tags", "upgradePolicy", "useDefaultVpcCni", "version", "vpcCniOptions", "vpcId",
    }
)  # fmt: skip

_NODE_GROUP = (
    "the default node group, which is not modelled: set skip_default_node_group and use aws.eks.NodeGroup"
)
#: Why an input is not modelled, where there is more to say than that.
REASONS = {
    "createOidcProvider": "the component would open a TLS connection to the issuer, in previews too: create "
    "aws.iam.OpenIdConnectProvider from its oidc_issuer output",
    "creationRoleProvider": "the component itself takes it from Node.js programs only",
    **dict.fromkeys(
        (
            "desiredCapacity", "gpu", "instanceProfileName", "instanceType", "maxSize", "minSize",
            "nodeAmiId", "nodeAssociatePublicIpAddress", "nodeGroupOptions", "nodePublicKey",
            "nodeRootVolumeEncrypted", "nodeRootVolumeSize", "nodeSubnetIds", "nodeUserData",
        ),
        f"it shapes {_NODE_GROUP}",
    ),
}  # fmt: skip


@dataclass(frozen=True)
class Refusal:
    """An input that is refused: where it is and why."""

    path: str
    reason: str


def known_names(input_type: type) -> frozenset[str]:
    """The names that an input type of the installed SDK has, as the engine spells them."""
    return frozenset(types.input_type_py_to_pulumi_names(input_type).values())


def is_set(value: Any) -> bool:
    """Whether an input counts as given: null, false and empty collections ask for nothing."""
    if value is None or value is False:
        return False
    return not (isinstance(value, list | dict | str) and not value)


_NESTED: dict[str, type] = {
    "corednsAddonOptions": pulumi_eks.CoreDnsAddonOptionsArgs,
    "kubeProxyAddonOptions": pulumi_eks.KubeProxyAddonOptionsArgs,
    "providerCredentialOpts": pulumi_eks.KubeconfigOptionsArgs,
    "vpcCniOptions": pulumi_eks.VpcCniOptionsArgs,
}


def _unknown(path: str, name: str, input_type: type) -> Refusal:
    kind = input_type.__name__.removesuffix("Args")
    return Refusal(path, f"pulumi_eks.{kind} has no input {name!r} in the installed version")


def _check_nested(inputs: Mapping[str, Any]) -> Iterator[Refusal]:
    for name, input_type in _NESTED.items():
        value = inputs.get(name)
        if isinstance(value, Mapping):
            for key in sorted(set(value) - known_names(input_type)):
                yield _unknown(f"{name}.{key}", key, input_type)
    vpc_cni = inputs.get("vpcCniOptions")
    if isinstance(vpc_cni, Mapping) and is_set(vpc_cni.get("securityContextPrivileged")):
        yield _not_modelled(
            "vpcCniOptions.securityContextPrivileged", "it patches a DaemonSet of the cluster"
        )
    entries = inputs.get("accessEntries")
    for entry_name, entry in (entries if isinstance(entries, Mapping) else {}).items():
        for key in sorted(set(entry) - known_names(pulumi_eks.AccessEntryArgs)):
            yield _unknown(f"accessEntries.{entry_name}.{key}", key, pulumi_eks.AccessEntryArgs)


def _not_modelled(path: str, reason: str = "") -> Refusal:
    text = f"this rehearsal's stand-in does not model it; add it in {HERE}"
    return Refusal(path, f"{text} ({reason})" if reason else text)


def refusals(inputs: Mapping[str, Any]) -> list[Refusal]:
    """Everything in a cluster's inputs that the published component or this stand-in does not take."""
    known = known_names(pulumi_eks.ClusterArgs)
    found = [_unknown(name, name, pulumi_eks.ClusterArgs) for name in sorted(set(inputs) - known)]
    found += [
        _not_modelled(name, REASONS.get(name, ""))
        for name in sorted(set(inputs) & known - MODELLED)
        if is_set(inputs[name])
    ]
    if not inputs.get("skipDefaultNodeGroup"):
        found.append(Refusal("skipDefaultNodeGroup", f"without it the component makes {_NODE_GROUP}"))
    if inputs.get("subnetIds") is not None and (
        inputs.get("publicSubnetIds") is not None or inputs.get("privateSubnetIds") is not None
    ):
        found.append(
            Refusal("subnetIds", "subnetIds, and publicSubnetIds or privateSubnetIds, exclude each other")
        )
    found += _check_authentication(inputs)
    return [*found, *_check_nested(inputs)]


def _check_authentication(inputs: Mapping[str, Any]) -> Iterator[Refusal]:
    mode = inputs.get("authenticationMode")
    if mode not in (None, "CONFIG_MAP", "API_AND_CONFIG_MAP", "API"):
        yield Refusal(
            "authenticationMode",
            f"invalid value {mode!r}; allowed values are CONFIG_MAP, API_AND_CONFIG_MAP, API",
        )
    if is_set(inputs.get("accessEntries")) and mode not in ("API", "API_AND_CONFIG_MAP"):
        yield Refusal("accessEntries", "it needs authenticationMode API or API_AND_CONFIG_MAP")


def check(inputs: Mapping[str, Any]) -> None:
    """Raise pulumi.InputPropertiesError, as published components do, with all refusals at once."""
    found = refusals(inputs)
    if found:
        raise pulumi.InputPropertiesError(
            "the inputs of eks.Cluster were refused",
            [{"property_path": refusal.path, "reason": refusal.reason} for refusal in found],
        )
