"""What AWS's template brings besides the cluster, and what is left to us: FSx, then the operator itself."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.engine.hyperpod_lives import Life

OPERATOR = "amazon-sagemaker-hyperpod-inference"
TLS_BUCKET = "hyperpod-tls-mlcc-hyperpod-88de702d"
OURS = ("cert-manager", "metrics-server", "aws-mountpoint-s3-csi-driver", OPERATOR)
ADDON, PROVIDER = "aws:eks/addon:Addon", "aws:iam/openIdConnectProvider"


def added(life: Life, act: str) -> dict[str, dict[str, Any]]:
    """Add-ons that EKS has, by name."""
    found: dict[str, dict[str, Any]] = life.acts[act]["addons"]
    return found


def declared(life: Life, act: str) -> set[str]:
    """Add-ons in the state."""
    return {resource["outputs"]["addonName"] for resource in life.resources(act, ADDON)}


def left_over(life: Life, act: str) -> dict[str, list[str]]:
    """What `orphans` names, by kind; each with a command that takes it away."""
    found: dict[str, list[str]] = {}
    assert life.acts[act]["unreadable"] == []
    for thing in life.acts[act]["left_over"]:
        assert thing["delete"].startswith("aws ")
        found.setdefault(thing["kind"], []).append(thing["id"])
    return found


@pytest.mark.parametrize("what", ["fsx", "template"])
@pytest.mark.parametrize("act", ["up", "no-op up", "destroy"])
def test_every_act_succeeds(features_life: Life, what: str, act: str) -> None:
    assert features_life.acts[f"{what} {act}"]["code"] == 0, features_life.acts[f"{what} {act}"]["output"]


@pytest.mark.parametrize("what", ["fsx", "template"])
def test_the_second_up_changes_nothing(features_life: Life, what: str) -> None:
    assert features_life.during(f"{what} no-op up") == []


def test_rule_05_the_template_makes_provider_and_driver_of_fsx_and_we_make_the_rest(
    features_life: Life,
) -> None:
    [system] = features_life.acts["fsx account"]["file systems"]
    assert (system["Lifecycle"], system["StorageCapacity"]) == ("AVAILABLE", 1200)
    volumes = {volume["metadata"]["name"]: volume for volume in features_life.acts["fsx account"]["volumes"]}
    assert volumes["fsx-pv"]["spec"]["csi"]["volumeHandle"] == system["FileSystemId"]
    assert features_life.resources("fsx up", PROVIDER) == []
    assert declared(features_life, "fsx up") == set(OURS)
    there = added(features_life, "fsx account")
    assert there["aws-fsx-csi-driver"]["status"] == "ACTIVE"
    assert "mlcc:managed-by" not in there["aws-fsx-csi-driver"]["tags"]
    assert features_life.only("fsx up", "OperatorReady")["outputs"]["state"] == "active"
    # Our roles trust the provider that eksctl has made.
    [(provider, _)] = features_life.acts["fsx account"]["providers"].items()
    roles = features_life.resources("fsx up", "aws:iam/role:Role")
    federated = [
        role["outputs"]["name"] for role in roles if provider in str(role["outputs"]["assumeRolePolicy"])
    ]
    assert "SageMakerHyperPodInference-hyperpod" in federated


def test_rule_05_what_the_template_never_deletes_is_named(features_life: Life) -> None:
    [(provider, _)] = features_life.acts["fsx account"]["providers"].items()
    assert left_over(features_life, "fsx left over") == {"OIDC provider": [provider]}
    kept = {f"{entry['kind']} {entry['name']}" for entry in features_life.acts["fsx left over"]["kept"]} | {
        f"OIDC provider {provider}"
    }
    assert set(features_life.new("fsx destroy")) <= kept


def test_rule_10_the_template_installs_the_add_on_into_our_bucket_and_we_only_describe_it(
    features_life: Life,
) -> None:
    there = added(features_life, "template account")
    assert (there[OPERATOR]["addonVersion"], there[OPERATOR]["status"]) == ("v1.0.0-eksbuild.1", "ACTIVE")
    values = json.loads(there[OPERATOR]["configurationValues"])
    assert values["tlsCertificateS3Bucket"] == TLS_BUCKET
    assert "hyperpodClusterArn" not in values
    assert there["cert-manager"]["addonVersion"] == "v1.18.2-eksbuild.2"
    assert declared(features_life, "template up") == set()
    assert features_life.resources("template up", PROVIDER) == []
    seen = features_life.only("template up", "AddonStatus")["outputs"]
    assert (seen["state"], seen["version"]) == ("active", "v1.0.0-eksbuild.1")
    published = features_life.acts["template up"]["published"]
    assert published["/mlcc/hyperpod/hyperpod/InferenceOperatorStatus"] == "active"
    assert published["/mlcc/hyperpod/hyperpod/TlsBucketName"] == TLS_BUCKET
    role = published["/mlcc/hyperpod/hyperpod/HyperpodInferenceRoleArn"]
    assert role == values["executionRoleArn"]
    [warning] = [line for line in features_life.warnings("template up") if "mlcc:operator.install" in line]
    assert "reports success whatever happens" in warning


def test_rule_10_the_bucket_is_there_before_the_stack(features_life: Life) -> None:
    # It is the one that the life with our own operator retained; its settings are taken over with it.
    taken = features_life.imported("template up")
    assert TLS_BUCKET in taken
    [made] = features_life.at("template up", "CreateStack", "mlcc-hyperpod-hp")
    tagged = features_life.at("template up", "PutBucketTagging", TLS_BUCKET)
    assert all(moment < made for moment in tagged)


def test_rule_10_what_the_template_retains_is_named(features_life: Life) -> None:
    found = left_over(features_life, "template left over")
    parts = sorted(name.rsplit("-", 2)[-2] for name in found["CloudFormation stack"])
    assert parts == ["CertManagerStack", "FsxCsiDriverStack", "MetricsServerStack", "S3CsiDriverStack"]
    named = {line.split(" ", 1)[1] for line in features_life.new("template destroy") if " inf-" in line}
    flat = {name for names in found.values() for name in names}
    assert {name for name in named if "/" not in name} <= flat
    assert not [line for line in features_life.new("template destroy") if line.startswith("log group")]
