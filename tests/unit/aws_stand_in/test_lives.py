"""Types that the engine tests do not use: made, unchanged, changed, unmade against the rehearsal cloud."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import boto3
import pytest

from mlcc_rehearsal.cloud import Cloud, CloudOptions
from mlcc_rehearsal.plugins.aws import catalogue, checking, difference, state
from mlcc_rehearsal.plugins.aws.calling import Call, Clients

ACCOUNT, REGION = "444455556666", "us-west-2"
TAGS = checking.TagSettings(default={"team": "ml"})
BUCKET = "a-bucket-of-lives"


def statement(action: str) -> dict[str, Any]:
    resource = f"arn:aws:s3:::{BUCKET}/*"
    allow = {"Effect": "Allow", "Principal": "*", "Action": action, "Resource": resource}
    return {"Version": "2012-10-17", "Statement": [allow]}


def encryption(algorithm: str) -> list[dict[str, Any]]:
    return [{"applyServerSideEncryptionByDefault": {"sseAlgorithm": algorithm}}]


# type: inputs, what changes in place
LIVES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "aws:cloudwatch/logGroup:LogGroup": ({"name": "/a"}, {"retentionInDays": 7, "tags": {"a": "b"}}),
    "aws:ec2/launchTemplate:LaunchTemplate": (
        {"metadataOptions": {"httpTokens": "required"}, "imageId": "ami-12c6146b"},
        {"metadataOptions": {"httpTokens": "optional"}, "description": "second"},
    ),
    "aws:iam/policy:Policy": ({"name": "p", "policy": statement("s3:GetObject")}, {"tags": {"a": "b"}}),
    "aws:s3/bucketObjectv2:BucketObjectv2": (
        {"bucket": BUCKET, "key": "a/b.txt", "content": "one"},
        {"content": "two", "tags": {"a": "b"}},
    ),
    "aws:s3/bucketOwnershipControls:BucketOwnershipControls": (
        {"bucket": BUCKET, "rule": {"objectOwnership": "BucketOwnerEnforced"}},
        {"rule": {"objectOwnership": "BucketOwnerPreferred"}},
    ),
    "aws:s3/bucketPolicy:BucketPolicy": (
        {"bucket": BUCKET, "policy": statement("s3:GetObject")},
        {"policy": statement("s3:PutObject")},
    ),
    "aws:s3/bucketPublicAccessBlock:BucketPublicAccessBlock": (
        {"bucket": BUCKET, "blockPublicAcls": True},
        {"ignorePublicAcls": True},
    ),
    "aws:s3/bucketServerSideEncryptionConfiguration:BucketServerSideEncryptionConfiguration": (
        {"bucket": BUCKET, "rules": encryption("AES256")},
        {"rules": encryption("aws:kms")},
    ),
    "aws:ssm/parameter:Parameter": (
        {"name": "/p", "type": "String", "value": "one"},
        {"value": "two", "description": "words", "tags": {"a": "b"}},
    ),
}


@pytest.fixture(scope="module")
def clients() -> Iterator[Clients]:
    with (
        pytest.MonkeyPatch.context() as patch,
        Cloud.start(CloudOptions(account_id=ACCOUNT, region=REGION, speed=600, kubernetes=False)) as cloud,
    ):
        patch.setenv("MLCC_CLOCK_SPEED", "600")
        patch.setenv("AWS_ENDPOINT_URL", cloud.endpoint)
        session = boto3.Session(cloud.access_key_id, cloud.secret_access_key, region_name=REGION)
        made = Clients(session, {})
        made.client("s3", REGION).create_bucket(
            Bucket=BUCKET, CreateBucketConfiguration={"LocationConstraint": REGION}
        )
        yield made


def checked(token: str, news: dict[str, Any], olds: dict[str, Any] | None = None) -> dict[str, Any]:
    request = checking.Request("thing", news, olds=olds or {}, seed=b"seed")
    inputs, failures = checking.check(catalogue.resources()[token], request, TAGS, REGION)
    assert failures == []
    return inputs


@pytest.mark.parametrize("token", sorted(LIVES))
def test_a_resource_is_made_as_asked_changed_in_place_and_unmade(clients: Clients, token: str) -> None:
    definition = catalogue.resources()[token]
    first, change = LIVES[token]

    def call(**more: Any) -> Call:
        return Call(clients, region=REGION, account_id=ACCOUNT, **more)

    def outputs(made: Call) -> dict[str, Any]:
        found = definition.read(made)
        assert found is not None
        return state.outputs(definition, found, made.inputs, TAGS, REGION)

    inputs = checked(token, first)
    made = call(inputs=inputs)
    made.id = definition.create(made)
    now = outputs(made)
    assert difference.compare(definition, now, inputs).changes == (), "made as asked"
    if definition.tagging is not None:
        assert now["tagsAll"] == {"team": "ml"}

    wanted = checked(token, {**first, **change}, inputs)
    found = difference.compare(definition, now, wanted)
    assert found.changes
    assert found.replaces == []
    changed = call(inputs=wanted, state=now, id=made.id, changes=found.paths)
    if definition.update is not None:
        definition.update(changed)
    if definition.tagging is not None and change.get("tags"):
        definition.tagging.tag(changed, change["tags"])
    now = outputs(changed)
    assert difference.compare(definition, now, wanted).changes == (), "changed as asked"

    imported, known = definition.imports.parse(made.id)
    again = call(state=known, id=imported)
    assert definition.read(again) is not None, "found by its import id alone"
    definition.delete(call(state=now, id=made.id))
    assert definition.read(call(state=now, id=made.id)) is None
    definition.delete(call(state=now, id=made.id))


def test_a_sixth_version_of_a_policy_pushes_out_the_oldest(clients: Clients) -> None:
    definition = catalogue.resources()["aws:iam/policy:Policy"]
    actions = [f"s3:Get{number}" for number in range(8)]
    made = Call(
        clients,
        region=REGION,
        account_id=ACCOUNT,
        inputs=checked(definition.token, {"name": "many", "policy": statement(actions[0])}),
    )
    made.id = definition.create(made)
    assert definition.update is not None
    for action in actions[1:]:
        made.inputs = checked(definition.token, {"name": "many", "policy": statement(action)})
        made.changes = frozenset({"policy"})
        definition.update(made)
    versions = made.aws("iam", "list_policy_versions", PolicyArn=made.id)["Versions"]
    assert len(versions) == 5
    assert {version["VersionId"] for version in versions if version["IsDefaultVersion"]} == {"v8"}
    definition.delete(made)


def test_a_bucket_with_versions_goes_only_by_force(clients: Clients) -> None:
    definition = catalogue.resources()["aws:s3/bucket:Bucket"]
    given = {"bucket": "full-of-versions", "versioning": {"enabled": True}}
    made = Call(clients, region=REGION, account_id=ACCOUNT, inputs=checked(definition.token, given))
    made.id = definition.create(made)
    for body in ("one", "two"):
        made.aws("s3", "put_object", Bucket=made.id, Key="k", Body=body)
    made.aws("s3", "delete_object", Bucket=made.id, Key="k")
    with pytest.raises(Exception, match="BucketNotEmpty"):
        definition.delete(made)
    made.state = {"forceDestroy": True}
    definition.delete(made)
    assert definition.read(made) is None
