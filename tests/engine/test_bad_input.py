"""A profile that cannot work: everything wrong with it at once, and not one write."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.engine.rehearsed import Rehearsal, copy_project, rehearse

PROFILE = """\
config:
  pulumi:disable-default-providers: [aws, kubernetes]
  aws:region: us-west-2
  mlcc:profile: a-profile-whose-name-is-much-too-long-for-iam
  mlcc:accountId: 12345678901
  mlcc:targets: [vanilla-eks, vanilla-gke]
  mlcc:colour: blue
  aws:defaultTags: {tags: {team: ml}}
  mlcc:tags: {Team: ml, team: ml}
  mlcc:eks:
    serviceCidr: 176.22.0.0/16
    endpoint: {publicAccessCidrs: [10.0.0.0/8]}
    logRetentionDays: 31
    nodeGroups: [{name: arm, instanceTypes: [m6g.large], amiType: AL2023_x86_64_STANDARD}]
    fargateNamespaces: [a, b, c, d, e, f]
  mlcc:network:
    cidr: 10.0.0.0/16
    zones: [use2-az1, use2-az2]
    privateSubnetCidrs: [10.0.0.0/19, 10.0.16.0/20]
"""
MISTAKES = (
    ("mlcc:colour", "unknown key"),
    ("mlcc:profile", "at most 35"),
    ("mlcc:network.zones", "use2-az1"),
    ("mlcc:accountId", "quote"),
    ("mlcc:network.privateSubnetCidrs", "overlap"),
    ("mlcc:targets", "vanilla-gke"),
    ("aws:defaultTags", "default provider"),
    ("mlcc:tags", "in case only"),
    ("mlcc:eks.serviceCidr", "172.16.0.0/12"),
    ("mlcc:eks.endpoint.publicAccessCidrs[0]", "a private block"),
    ("mlcc:eks.logRetentionDays", "CloudWatch"),
    ("mlcc:eks.nodeGroups[0].amiType", "while m6g.large is not"),
    ("mlcc:eks.fargateNamespaces", "at most 5"),
)


@pytest.fixture(scope="module")
def refused(tmp_path_factory: pytest.TempPathFactory) -> Rehearsal:
    folder = tmp_path_factory.mktemp("bad")
    project = copy_project(folder)
    (project / "stacks" / "Pulumi.mlcc-demo.yaml").write_text(PROFILE)
    return rehearse(
        ["pulumi", "up", "-s", "mlcc-demo", "--yes", "--color", "never"], folder=folder, project=project
    )


def test_up_ends_with_a_failure(refused: Rehearsal) -> None:
    assert refused.code not in (0, None)


@pytest.mark.parametrize(("key", "words"), MISTAKES, ids=[key for key, _ in MISTAKES])
def test_every_mistake_is_named_with_its_key_and_reason(refused: Rehearsal, key: str, words: str) -> None:
    text = " ".join(refused.output.split())
    assert key in text
    assert words in text, refused.output


def test_every_mistake_comes_with_a_remedy(refused: Rehearsal) -> None:
    assert refused.output.count("do:") >= len(MISTAKES)


def test_nothing_was_written_to_the_account(refused: Rehearsal) -> None:
    assert refused.mutating() == []


def test_there_is_no_traceback(refused: Rehearsal) -> None:
    assert "Traceback" not in refused.output


def test_a_wrong_account_is_refused_before_anything_else(tmp_path: Path) -> None:
    project = copy_project(tmp_path)
    stack = project / "stacks" / "Pulumi.mlcc-demo.yaml"
    stack.write_text(stack.read_text() + '\n  mlcc:accountId: "210987654321"\n')
    run = rehearse(
        ["pulumi", "up", "-s", "mlcc-demo", "--yes", "--color", "never"], folder=tmp_path, project=project
    )
    assert run.code != 0
    assert "210987654321" in run.output
    assert "123456789012" in run.output
    assert "Traceback" not in run.output
    assert run.mutating() == []
