"""What the profile wants of everything that could be taken over, in the words of `differences.COMPARED`. Pure
but for what the reader remembers of clusters."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from mlcc_infra.account.decisions import Decision, ResourceKey, Wanted
from mlcc_infra.account.lookups.eks import describe_cluster
from mlcc_infra.account.reader import Reader
from mlcc_infra.addon_configuration import configuration_text
from mlcc_infra.components.eks_node_groups import TAINT_EFFECTS
from mlcc_infra.components.iam_role import RoleSpec
from mlcc_infra.components.network import NetworkArgs
from mlcc_infra.components.service_account_role import CustomerPolicy
from mlcc_infra.components.service_roles import ServiceRolesArgs
from mlcc_infra.naming import Names
from mlcc_infra.policies import Document, deny_plain_http, parse
from mlcc_infra.profile import Profile
from mlcc_infra.tagging import TAG_RESOURCE, tags
from mlcc_infra.targets.hyperpod_eks_plan import HyperPodEksPlan
from mlcc_infra.targets.operator_only_plan import OperatorOnlyPlan
from mlcc_infra.targets.operator_plan import OperatorPlan
from mlcc_infra.targets.vanilla_eks_plan import BASE, VanillaEksPlan
from mlcc_infra.versions import OPERATOR_ADDON_NAME

PUBLIC_ACCESS = ("BlockPublicAcls", "BlockPublicPolicy", "IgnorePublicAcls", "RestrictPublicBuckets")


@dataclass(frozen=True, kw_only=True)
class WantedRole:
    """A role as a plan wants it: `trust` is None where the cluster whose issuer it names is not there yet."""

    spec: RoleSpec
    trust: Document | None
    policy: CustomerPolicy | None = None
    policy_arn: str | None = None


@dataclass
class Expectations:
    """What is wanted, by the names that the look-ups use."""

    profile: Profile
    names: Names
    partition: str
    roles: dict[str, WantedRole] = field(default_factory=dict)
    policies: dict[str, str] = field(default_factory=dict)
    addons: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)
    node_groups: dict[str, dict[str, Any]] = field(default_factory=dict)
    by_key: dict[ResourceKey, dict[str, Any]] = field(default_factory=dict)
    modules: dict[ResourceKey, str] = field(default_factory=dict)

    def of(self, decision: Decision) -> dict[str, Any]:
        """The properties wanted of one resource; tags but for those that only a component knows."""
        item = decision.wanted
        common = tags(
            profile=self.names.profile,
            region=self.names.region,
            stack=self.profile.stack,
            module=self.modules[item.key],
            resource=item.key[1],
            origin=decision.origin,
            extra=self.profile.tags,
        )
        common.pop(TAG_RESOURCE)
        by_type = _BY_TYPE.get(item.key[0])
        known = by_type(self, item) if by_type is not None else {}
        return {**known, **self.by_key.get(item.key, {}), "tags": common}


def expectations(
    profile: Profile,
    names: Names,
    reader: Reader,
    *,
    partition: str,
    vanilla: VanillaEksPlan | None,
    hyperpod: HyperPodEksPlan | None,
    operator_only: OperatorOnlyPlan | None,
) -> Expectations:
    """Collect what the plans want."""
    wanted = Expectations(profile=profile, names=names, partition=partition)
    for module, plan in (("eks", vanilla), ("hyperpod", hyperpod), ("hyperpod", operator_only)):
        if plan is not None:
            wanted.modules |= dict.fromkeys((item.key for item in plan.wanted), module)
    if vanilla is not None:
        _vanilla(wanted, vanilla, reader)
    if hyperpod is not None:
        if hyperpod.roles is not None:
            _service_roles(wanted, hyperpod.roles)
        if hyperpod.operator is not None:
            _operator(wanted, hyperpod.operator, reader, hyperpod.eks_cluster_name)
        for item in hyperpod.wanted:
            if item.kind == "stack":
                wanted.by_key[item.key] = {"parameter": hyperpod.parameters}
    if operator_only is not None:
        _operator(wanted, operator_only.operator, reader, operator_only.eks_cluster_name)
    return wanted


def _service_roles(wanted: Expectations, args: ServiceRolesArgs) -> None:
    for entry in args.roles:
        wanted.roles[entry.role_name(args.role_context)] = WantedRole(
            spec=args.spec(entry), trust=entry.trust_on(args.role_context, args.live_role(entry))
        )


def _issuer(reader: Reader, cluster: str) -> str | None:
    found = describe_cluster(reader, cluster) or {}
    issuer = ((found.get("identity") or {}).get("oidc") or {}).get("issuer")
    return str(issuer) if issuer else None


def _account_role(
    wanted: Expectations,
    spec: RoleSpec,
    trust: Callable[[str], str] | None,
    policy: CustomerPolicy | None,
    issuer: str | None,
) -> None:
    arn = (
        f"arn:{wanted.partition}:iam::{wanted.names.account}:policy/{policy.policy_name}" if policy else None
    )
    if policy is not None and arn is not None:
        wanted.policies[arn] = policy.document
    wanted.roles[spec.role_name] = WantedRole(
        spec=spec,
        trust=parse(trust(issuer)) if trust is not None and issuer is not None else None,
        policy=policy,
        policy_arn=arn,
    )


def _vanilla(wanted: Expectations, plan: VanillaEksPlan, reader: Reader) -> None:
    _service_roles(wanted, plan.roles)
    config, names = wanted.profile.eks, wanted.names
    issuer = _issuer(reader, names.eks_cluster)
    for role in plan.service_account_roles:
        _account_role(wanted, role.spec, role.trust, role.policy, issuer)
    for addon, version in config.addon_versions().items():
        wanted.addons[names.eks_cluster, addon] = {
            "add-on version": version,
            "configuration": configuration_text(config.addon_configuration(addon)) or "",
        }
    role_arns = {
        key: f"arn:{wanted.partition}:iam::{names.account}:role{_at(wanted, key)}" for key in wanted.roles
    }
    for group in config.node_groups:
        wanted.node_groups[group.name] = {
            "Kubernetes version": config.version,
            "fewest nodes": group.min_size,
            "nodes": group.desired_size,
            "most nodes": group.max_size,
            "labels": dict(group.labels),
            "taints": sorted(
                f"{taint.key}={taint.value}:{TAINT_EFFECTS[taint.effect]}" for taint in group.taints
            ),
            "instance types": list(group.instance_types),
            "AMI type": plan.ami_types[group.name],
            "capacity type": group.capacity_type,
            "disk": group.disk_size,
            "node role": role_arns[names.eks_node_role],
        }
    cluster: dict[str, Any] = {
        "Kubernetes version": config.version,
        "authentication mode": "API",
        "public endpoint": config.endpoint.public,
        "private endpoint": config.endpoint.private,
        "control plane logs": config.log_types,
        "support type": config.support_type,
        "service role": role_arns[names.eks_cluster_role],
    }
    if config.endpoint.public:
        cluster["public access"] = config.endpoint.public_access_cidrs
    if config.service_cidr:
        cluster["service block"] = config.service_cidr
    for item in plan.wanted:
        if item.kind == "cluster" and "cluster" in item.lookup:
            wanted.by_key[item.key] = cluster
        elif item.kind == "cluster":
            wanted.by_key[item.key] = {"days kept": config.log_retention_days}
        elif item.kind == "fargate-profile":
            wanted.by_key[item.key] = {
                "namespaces": sorted(config.fargate_namespaces),
                "pod execution role": role_arns[names.fargate_pod_exec_role],
            }
    _network(wanted, plan, cluster)


def _at(wanted: Expectations, role: str) -> str:
    return f"{wanted.roles[role].spec.path}{role}"


def _network(wanted: Expectations, plan: VanillaEksPlan, cluster: dict[str, Any]) -> None:
    network = plan.network
    if not isinstance(network, NetworkArgs):
        cluster["VPC"] = network.vpc_id
        return
    name = f"{BASE}-network"
    wanted.by_key["aws:ec2/vpc:Vpc", f"{name}-vpc"] = {"block": network.cidr}
    for zone in network.zones:
        for tier, cidr in (("public", zone.public_cidr), ("private", zone.private_cidr)):
            key = ("aws:ec2/subnet:Subnet", f"{name}-{tier}-{zone.zone_id}")
            wanted.by_key[key] = {"block": cidr, "zone": zone.zone_id}


def _operator(wanted: Expectations, plan: OperatorPlan, reader: Reader, cluster: str) -> None:
    issuer = _issuer(reader, cluster)
    for role in plan.roles:
        if role.spec is not None:
            _account_role(wanted, role.spec, role.trust, role.policy, issuer)
    for addon, (version, configuration) in plan.prerequisites.items():
        wanted.addons[cluster, addon] = {
            "add-on version": version,
            "configuration": configuration_text(configuration) or "",
        }
    # Its configuration names clusters and roles that may be yet to come; it is sent whole in any case.
    wanted.addons[cluster, OPERATOR_ADDON_NAME] = {"add-on version": wanted.profile.operator.version}


# --- by type: what a look-up's own words tell -----------------------------------------------------------


def _role(wanted: Expectations, item: Wanted) -> dict[str, Any]:
    role = wanted.roles.get(item.lookup["role"])
    if role is None:
        return {}
    spec = role.spec
    known: dict[str, Any] = {
        "path": spec.path,
        "description": spec.description,
        "permissions boundary": spec.permissions_boundary,
        "policies": [*spec.managed_policy_arns, *([role.policy_arn] if role.policy_arn else [])],
        "inline policies": list(spec.inline),
    }
    return known if role.trust is None else {**known, "trust": role.trust}


def _inline(wanted: Expectations, item: Wanted) -> dict[str, Any]:
    role = wanted.roles.get(item.lookup["role"])
    document = role.spec.inline.get(item.lookup["policy"]) if role is not None else None
    return {"document": document} if isinstance(document, str) else {}


def _policy(wanted: Expectations, item: Wanted) -> dict[str, Any]:
    document = wanted.policies.get(item.lookup["arn"])
    return {"document": document} if document is not None else {}


def _bucket_policy(wanted: Expectations, item: Wanted) -> dict[str, Any]:
    return {"bucket policy": deny_plain_http(item.lookup["bucket"], partition=wanted.partition)}


def _constant(**properties: Any) -> Callable[[Expectations, Wanted], dict[str, Any]]:
    named = {name.replace("_", " "): value for name, value in properties.items()}
    return lambda _wanted, _item: dict(named)


_BY_TYPE: Mapping[str, Callable[[Expectations, Wanted], dict[str, Any]]] = {
    "aws:iam/role:Role": _role,
    "aws:iam/rolePolicy:RolePolicy": _inline,
    "aws:iam/policy:Policy": _policy,
    "aws:iam/openIdConnectProvider:OpenIdConnectProvider": _constant(audiences=["sts.amazonaws.com"]),
    "aws:s3/bucketPolicy:BucketPolicy": _bucket_policy,
    "aws:s3/bucketPublicAccessBlock:BucketPublicAccessBlock": _constant(
        public_access_block=dict.fromkeys(PUBLIC_ACCESS, True)
    ),
    "aws:s3/bucketServerSideEncryptionConfiguration:BucketServerSideEncryptionConfiguration": _constant(
        encryption="AES256"
    ),
    "aws:s3/bucketOwnershipControls:BucketOwnershipControls": _constant(ownership="BucketOwnerEnforced"),
    "aws:eks/addon:Addon": lambda wanted, item: dict(
        wanted.addons.get((item.lookup["cluster"], item.lookup["name"]), {})
    ),
    "aws:eks/nodeGroup:NodeGroup": lambda wanted, item: dict(wanted.node_groups.get(item.lookup["name"], {})),
    "aws:ssm/parameter:Parameter": _constant(type="String"),
}
