"""The eks stand-in on the real engine: the published component's children, options and outputs."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.engine.rehearsed import ROOT, rehearse

pytestmark = pytest.mark.engine

PROGRAM = """
import json
import pulumi
import pulumi_aws as aws
import pulumi_eks as eks

config = pulumi.Config()
variant = config.get("variant") or "full"
provider = aws.Provider("aws", region="us-west-2")
own = pulumi.ResourceOptions(provider=provider)

vpc = aws.ec2.Vpc("vpc", cidr_block="10.0.0.0/16", opts=own)
subnets = [
    aws.ec2.Subnet(f"subnet-{zone}", vpc_id=vpc.id, cidr_block=f"10.0.{number}.0/24",
                   availability_zone=f"us-west-2{zone}", opts=own)
    for number, zone in enumerate("ab")
]
trust = {"Version": "2012-10-17", "Statement": [{
    "Effect": "Allow", "Principal": {"Service": "eks.amazonaws.com"},
    "Action": ["sts:AssumeRole", "sts:TagSession"]}]}
role = aws.iam.Role("role", assume_role_policy=json.dumps(trust), opts=own)
attached = aws.iam.RolePolicyAttachment(
    "attached", role=role.name, policy_arn="arn:aws:iam::aws:policy/AmazonEKSClusterPolicy", opts=own)
admin = aws.iam.Role("admin", assume_role_policy=json.dumps(trust), opts=own)


def adopt(args):
    if not (config.get_bool("adopt") and args.name.endswith("-kube-proxy")):
        return None
    imported = pulumi.ResourceOptions(import_="lean:kube-proxy")
    return pulumi.ResourceTransformResult(args.props, pulumi.ResourceOptions.merge(args.opts, imported))


bare = {"skip_default_security_groups": True, "use_default_vpc_cni": True, "service_role": role,
        "kube_proxy_addon_options": eks.KubeProxyAddonOptionsArgs(enabled=bool(config.get_bool("adopt")))}
extra = {
    "full": {"access_entries": {"admin": eks.AccessEntryArgs(
                 principal_arn=admin.arn, kubernetes_groups=["admins"],
                 access_policies={"view": eks.AccessPolicyAssociationArgs(
                     policy_arn="arn:aws:eks::aws:cluster-access-policy/AmazonEKSViewPolicy",
                     access_scope=aws.eks.AccessPolicyAssociationAccessScopeArgs(type="cluster"))})},
             "enabled_cluster_log_types": ["api"], "service_role": role},
    "lean": bare,
    "coredns": {**bare, "coredns_addon_options": eks.CoreDnsAddonOptionsArgs(enabled=True)},
    "own-role": {**bare, "service_role": None},
    "fargate": {"fargate": True},
    "oidc": {"create_oidc_provider": True},
    "managed-node-group": bare,
}[variant]
name = config.get("name") or "c"
cluster = eks.Cluster(
    name, name=pulumi.get_stack(), version="1.35", authentication_mode=eks.AuthenticationMode.API,
    skip_default_node_group=True, vpc_id=vpc.id, private_subnet_ids=[subnet.id for subnet in subnets],
    tags={"team": "ml"}, provider_credential_opts=eks.KubeconfigOptionsArgs(profile_name="corp"), **extra,
    opts=pulumi.ResourceOptions(
        providers=[provider], depends_on=[attached], transforms=[adopt],
        protect=config.get_bool("protect"), aliases=[pulumi.Alias(name="c")] if name != "c" else None))
if variant == "managed-node-group":
    eks.ManagedNodeGroup("nodes", cluster=cluster, node_role=role, opts=own)
for output in ("kubeconfig", "kubeconfig_json", "cluster_security_group_id", "node_security_group_id",
               "oidc_issuer",
               "oidc_provider_arn", "oidc_provider_url", "cluster_ingress_rule_id", "instance_roles",
               "fargate_profile_id", "auto_mode_node_role_name"):
    pulumi.export(output, getattr(cluster, output))
pulumi.export("arn", cluster.eks_cluster.arn)
pulumi.export("core_vpc", cluster.core.vpc_id)
pulumi.export("core_subnets", cluster.core.subnet_ids)
pulumi.export("core_role", cluster.core.cluster_iam_role.name)
pulumi.export("vpc", vpc.id)
pulumi.export("role", role.name)
pulumi.export("scoped", cluster.get_kubeconfig(profile_name="other"))
"""

ACTS = """
set -u
act() { local name=$1; shift; "$@" > $name.txt 2>&1; echo "$name $?" >> codes; }
state() { pulumi stack export -s $1 > $2.json; }
act preview pulumi preview -s full
act up pulumi up -s full --yes --skip-preview
pulumi stack output -s full --json > outputs.json
state full up
act no-op pulumi up -s full --yes --skip-preview --refresh --expect-no-changes
act lean pulumi up -s lean --yes --skip-preview &
act destroy pulumi destroy -s full --yes --skip-preview
wait
state lean lean
"$PYTHON" -c "import boto3; boto3.client('eks').create_addon(clusterName='lean', addonName='kube-proxy')"
pulumi config set adopt true -s lean
act adopt pulumi up -s lean --yes --skip-preview
state lean adopt
pulumi config set name d -s lean
pulumi config set protect true -s lean
act rename pulumi up -s lean --yes --skip-preview
state lean rename
for variant in coredns own-role fargate oidc managed-node-group; do
    pulumi stack init --no-select -s $variant
    pulumi config set variant $variant -s $variant
    act $variant pulumi preview -s $variant
done
"""


@pytest.fixture(scope="module")
def life(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("eks")
    options = {"name": "python", "options": {"virtualenv": sys.prefix}}
    project = {"name": "standin", "runtime": options, "stackConfigDir": "stacks"}
    (folder / "Pulumi.yaml").write_text(json.dumps(project))
    (folder / "__main__.py").write_text(PROGRAM)
    (folder / "stacks").mkdir()
    for stack in ("full", "lean"):
        settings = {"standin:variant": stack, "pulumi:disable-default-providers": ["aws", "kubernetes"]}
        (folder / "stacks" / f"Pulumi.{stack}.yaml").write_text(json.dumps({"config": settings}))
    (folder / "acts.sh").write_text(ACTS)
    done = rehearse(
        ["bash", "acts.sh"],
        folder=folder,
        project=folder,
        speed=600,
        environment={"PYTHON": sys.executable, "PYTHONPATH": str(ROOT)},
    )
    assert done.code == 0, done.output
    return folder


def code(life: Path, act: str) -> int:
    codes = dict(line.split() for line in (life / "codes").read_text().splitlines())
    return int(codes[act])


def text(life: Path, act: str) -> str:
    return " ".join((life / f"{act}.txt").read_text().split())


def resources(life: Path, act: str) -> dict[str, dict[str, Any]]:
    """The component and what is below it, by logical name."""
    state = json.loads((life / f"{act}.json").read_text())
    found = {}
    for resource in state["deployment"]["resources"]:
        if "eks:index:Cluster" in resource["urn"]:
            found[resource["urn"].split("::")[-1]] = resource
    return found


@pytest.fixture(scope="module")
def full(life: Path) -> dict[str, dict[str, Any]]:
    return resources(life, "up")


@pytest.fixture(scope="module")
def outputs(life: Path) -> dict[str, Any]:
    answer: dict[str, Any] = json.loads((life / "outputs.json").read_text())
    return answer


@pytest.mark.parametrize("act", ["preview", "up", "no-op", "lean", "destroy", "adopt", "rename", "coredns"])
def test_every_act_succeeds(life: Path, act: str) -> None:
    assert code(life, act) == 0, (life / f"{act}.txt").read_text()


def test_the_children_are_the_published_components(full: dict[str, dict[str, Any]]) -> None:
    parents = {
        name: (resource["type"], resource["parent"].split("::")[-1]) for name, resource in full.items()
    }
    group, rule = "aws:ec2/securityGroup:SecurityGroup", "aws:ec2/securityGroupRule:SecurityGroupRule"
    addon = "aws:eks/addon:Addon"
    assert parents == {
        "c": ("eks:index:Cluster", "standin-full"),
        "c-eksClusterSecurityGroup": (group, "c"),
        "c-eksClusterInternetEgressRule": (rule, "c"),
        "c-eksCluster": ("aws:eks/cluster:Cluster", "c"),
        "c-kube-proxy": (addon, "c"),
        "c-vpc-cni": (addon, "c-vpc-cni"),
        "c-admin": ("aws:eks/accessEntry:AccessEntry", "c"),
        "c-admin-view": ("aws:eks/accessPolicyAssociation:AccessPolicyAssociation", "c-admin"),
        "c-eks-k8s": ("pulumi:providers:kubernetes", "c"),
        "c-nodeSecurityGroup": (group, "c"),
        "c-eksNodeIngressRule": (rule, "c"),
        "c-eksNodeClusterIngressRule": (rule, "c"),
        "c-eksExtApiServerClusterIngressRule": (rule, "c"),
        "c-eksNodeInternetEgressRule": (rule, "c"),
        "c-eksClusterIngressRule": (rule, "c"),
    }


def test_the_cni_lies_in_a_component_of_its_own(life: Path) -> None:
    state = json.loads((life / "up.json").read_text())
    types = {resource["urn"].split("::")[2] for resource in state["deployment"]["resources"]}
    assert "eks:index:Cluster$eks:index:VpcCniAddon" in types
    assert "eks:index:Cluster$eks:index:VpcCniAddon$aws:eks/addon:Addon" in types


def test_the_cluster_gets_the_components_inputs(full: dict[str, dict[str, Any]]) -> None:
    inputs = full["c-eksCluster"]["inputs"]
    assert inputs["name"] == "full"
    assert inputs["accessConfig"] == {
        "authenticationMode": "API",
        "bootstrapClusterCreatorAdminPermissions": True,
    }
    assert inputs["bootstrapSelfManagedAddons"] is True
    assert inputs["tags"] == {"Name": "c-eksCluster", "team": "ml"}
    assert inputs["enabledClusterLogTypes"] == ["api"]
    assert inputs["vpcConfig"]["securityGroupIds"] == [full["c-eksClusterSecurityGroup"]["id"]]


def test_addons_get_the_components_defaults(full: dict[str, dict[str, Any]]) -> None:
    for name, addon in (("c-kube-proxy", "kube-proxy"), ("c-vpc-cni", "vpc-cni")):
        inputs = full[name]["inputs"]
        assert (inputs["addonName"], inputs["preserve"]) == (addon, True)
        assert inputs["resolveConflictsOnCreate"] == inputs["resolveConflictsOnUpdate"] == "OVERWRITE"
        assert inputs["addonVersion"].startswith("v1.")
    assert json.loads(full["c-vpc-cni"]["inputs"]["configurationValues"])["env"]["WARM_ENI_TARGET"] == "1"


def test_access_entries_become_resources(full: dict[str, dict[str, Any]]) -> None:
    assert full["c-admin"]["inputs"]["kubernetesGroups"] == ["admins"]
    assert full["c-admin-view"]["inputs"]["policyArn"].endswith("/AmazonEKSViewPolicy")
    assert full["c-admin"]["urn"] in full["c-admin-view"]["dependencies"]


def test_children_use_the_callers_provider(full: dict[str, dict[str, Any]]) -> None:
    for name, resource in full.items():
        if resource["type"].startswith("aws:"):
            assert "pulumi:providers:aws::aws::" in resource["provider"], name


def test_the_kubernetes_provider_names_the_profile_and_the_shared_kubeconfig_does_not(
    full: dict[str, dict[str, Any]], outputs: dict[str, Any]
) -> None:
    own = json.loads(full["c-eks-k8s"]["inputs"]["kubeconfig"])["users"][0]["user"]["exec"]["args"]
    assert own[-2:] == ["--profile", "corp"]
    assert "--profile" not in json.dumps(outputs["kubeconfig"])
    assert json.loads(outputs["kubeconfig_json"]) == outputs["kubeconfig"]
    assert json.loads(outputs["scoped"])["users"][0]["user"]["exec"]["args"][-2:] == ["--profile", "other"]


def test_outputs_are_the_components(full: dict[str, dict[str, Any]], outputs: dict[str, Any]) -> None:
    issuer = full["c-eksCluster"]["outputs"]["identities"][0]["oidcs"][0]["issuer"]
    assert outputs["oidc_provider_url"] == issuer
    assert outputs["oidc_issuer"] == issuer.removeprefix("https://")
    assert outputs["cluster_security_group_id"] == full["c-eksClusterSecurityGroup"]["id"]
    assert outputs["node_security_group_id"] == full["c-nodeSecurityGroup"]["id"]
    assert outputs["cluster_ingress_rule_id"].startswith("sgr-")
    assert outputs["arn"] == full["c-eksCluster"]["outputs"]["arn"]
    assert outputs["instance_roles"] == []
    for name in ("oidc_provider_arn", "fargate_profile_id", "auto_mode_node_role_name"):
        assert outputs.get(name, "") == ""


def test_the_core_leads_to_the_clusters_surroundings(outputs: dict[str, Any]) -> None:
    assert outputs["core_vpc"] == outputs["vpc"]
    assert outputs["core_role"] == outputs["role"]
    assert len(outputs["core_subnets"]) == 2


def test_options_leave_children_out(life: Path) -> None:
    assert set(resources(life, "lean")) == {"c", "c-eksCluster", "c-eks-k8s"}


def test_options_bring_children_in(life: Path) -> None:
    assert "aws:eks:Addon c-coredns create" in text(life, "coredns")
    assert "eks:index:ServiceRole c-eksRole create" in text(life, "own-role")
    assert "aws:iam:RolePolicyAttachment c-eksRole-4b490823 create" in text(life, "own-role")


def test_a_child_is_adopted_by_a_transform(life: Path) -> None:
    adopted = resources(life, "adopt")["c-kube-proxy"]
    assert adopted["id"] == "lean:kube-proxy"
    assert "imported" in text(life, "adopt")


def test_renaming_with_an_alias_replaces_nothing(life: Path) -> None:
    before, after = resources(life, "adopt"), resources(life, "rename")
    assert {name.removeprefix("d") for name in after} == {name.removeprefix("c") for name in before}
    for name, resource in after.items():
        assert resource.get("id") == before["c" + name.removeprefix("d")].get("id"), name


def test_protection_reaches_the_children(life: Path) -> None:
    after = resources(life, "rename")
    assert all(after[name].get("protect") for name in ("d", "d-eksCluster", "d-kube-proxy"))


@pytest.mark.parametrize(
    ("act", "words"),
    [
        ("fargate", "fargate"),
        ("oidc", "aws.iam.OpenIdConnectProvider from its oidc_issuer output"),
        ("managed-node-group", "eks:index:ManagedNodeGroup would be added in mlcc_rehearsal/plugins/eks/"),
    ],
)
def test_what_is_not_modelled_is_refused_by_name(life: Path, act: str, words: str) -> None:
    assert code(life, act) != 0
    assert words in text(life, act)


def test_without_an_aws_command_the_component_says_what_the_published_one_says() -> None:
    script = (
        "from mlcc_rehearsal.plugins.eks.plugin import EksComponents\n"
        "try: EksComponents('0').construct('c', 'eks:index:Cluster', {'skipDefaultNodeGroup': True})\n"
        "except Exception as error: print(error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        env={"PATH": "/nonexistent", "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.startswith("Could not find aws CLI for EKS.")
