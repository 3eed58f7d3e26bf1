"""The component ``eks:index:VpcCniAddon`` in the cluster, and the configuration it hands to the add-on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pulumi
import pulumi_aws as aws

from mlcc_rehearsal.plugins.eks.addons import addon_version, configuration_json, conflicts, is_given

# Option, environment variable of the CNI's container, value when the option is not given (None: left out).
_ENVIRONMENT: tuple[tuple[str, str, str | None], ...] = (
    ("nodePortSupport", "AWS_VPC_CNI_NODE_PORT_SUPPORT", None),
    ("warmIpTarget", "WARM_IP_TARGET", None),
    ("warmPrefixTarget", "WARM_PREFIX_TARGET", None),
    ("enablePrefixDelegation", "ENABLE_PREFIX_DELEGATION", None),
    ("logLevel", "AWS_VPC_K8S_CNI_LOGLEVEL", "DEBUG"),
    ("logFile", "AWS_VPC_K8S_CNI_LOG_FILE", "/host/var/log/aws-routed-eni/ipamd.log"),
    ("vethPrefix", "AWS_VPC_K8S_CNI_VETHPREFIX", "eni"),
    ("eniMtu", "AWS_VPC_ENI_MTU", "9001"),
    ("eniConfigLabelDef", "ENI_CONFIG_LABEL_DEF", None),
    ("pluginLogLevel", "AWS_VPC_K8S_PLUGIN_LOG_LEVEL", "DEBUG"),
    ("pluginLogFile", "AWS_VPC_K8S_PLUGIN_LOG_FILE", "/var/log/aws-routed-eni/plugin.log"),
    ("enablePodEni", "ENABLE_POD_ENI", "false"),
    ("cniConfigureRpfilter", "AWS_VPC_K8S_CNI_CONFIGURE_RPFILTER", None),
    # `customNetworkConfig` sets the same variable first; the component then overwrites it in any case.
    ("cniCustomNetworkCfg", "AWS_VPC_K8S_CNI_CUSTOM_NETWORK_CFG", "false"),
)


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def environment(options: Mapping[str, Any]) -> tuple[dict[str, str], dict[str, str]]:
    """The environment of the CNI's container and its init container. ValueError for contradictions."""
    if options.get("cniExternalSnat") and options.get("externalSnat"):
        raise ValueError("Please specify one of `cniExternalSnat` or `externalSnat` in your VpcCniOptions")
    main = {
        variable: _text(options[option]) if options.get(option) else default
        for option, variable, default in _ENVIRONMENT
    }
    warm = options.get("warmEniTarget")
    main["WARM_ENI_TARGET"] = _text(1 if warm is None else warm)
    main["AWS_VPC_K8S_CNI_EXTERNALSNAT"] = _text(
        options.get("externalSnat") or options.get("cniExternalSnat") or False
    )
    init = {"DISABLE_TCP_EARLY_DEMUX": _text(options.get("disableTcpEarlyDemux") or False)}
    return {name: value for name, value in main.items() if value is not None}, init


def configuration(options: Mapping[str, Any]) -> dict[str, Any]:
    """The add-on's configuration: what `configurationValues` says, over what the other options come to."""
    main, init = environment(options)
    merged = dict(options.get("configurationValues") or {})
    if options.get("enableNetworkPolicy") is not None:
        merged.setdefault("enableNetworkPolicy", _text(options["enableNetworkPolicy"]))
    given = merged.get("env")
    merged["env"] = {**main, **given} if isinstance(given, Mapping) else main
    given_init = merged.get("init")
    if not isinstance(given_init, Mapping):
        merged["init"] = {"env": init}
    elif isinstance(given_init.get("env"), Mapping):
        merged["init"] = {**given_init, "env": {**init, **given_init["env"]}}
    else:
        merged["init"] = {"env": init, **given_init}
    return merged


class VpcCniAddon(pulumi.ComponentResource):
    """The component and its one child."""

    def __init__(
        self,
        name: str,
        *,
        options: Mapping[str, Any],
        cluster: aws.eks.Cluster,
        tags: Any,
        opts: pulumi.ResourceOptions,
    ) -> None:
        super().__init__("eks:index:VpcCniAddon", name, None, opts)
        version = options.get("addonVersion")
        if not is_given(version):
            version = addon_version("vpc-cni", cluster.version, parent=self)
        self.addon = aws.eks.Addon(
            name,
            cluster_name=cluster.name,
            addon_name="vpc-cni",
            addon_version=version,
            resolve_conflicts_on_create=conflicts(options, "resolveConflictsOnCreate"),
            resolve_conflicts_on_update=conflicts(options, "resolveConflictsOnUpdate"),
            preserve=True,
            configuration_values=configuration_json(
                pulumi.Output.from_input(dict(options)).apply(configuration)
            ),
            service_account_role_arn=options.get("serviceAccountRoleArn"),
            tags=tags,
            opts=pulumi.ResourceOptions(parent=self),
        )
        self.register_outputs({"addon": self.addon})
