"""Tags of clusters."""

from __future__ import annotations

from typing import Any

from mlcc_rehearsal.cloud import laws_hyperpod
from mlcc_rehearsal.cloud.sagemaker.errors import ValidationException
from mlcc_rehearsal.cloud.sagemaker.models import RehearsedSageMakerBackend
from mlcc_rehearsal.cloud.sagemaker.operations import operation, page

_MOST = 50


def checked(
    tags: list[dict[str, str]] | None, known: list[dict[str, str]] | None = None
) -> list[dict[str, str]]:
    """Known tags and new ones, a new one in the place of a known one with its key.

    :raises ValidationException: when there are too many or one is reserved.
    """
    for tag in tags or []:
        if tag["Key"].lower().startswith("aws:"):
            message = "Tag keys starting with aws: are reserved for system use"
            raise laws_hyperpod.HYPERPOD_PARAMETERS.broken(ValidationException(message))
    found = {tag["Key"]: tag["Value"] for tag in [*(known or []), *(tags or [])]}
    if len(found) > _MOST:
        raise laws_hyperpod.HYPERPOD_PARAMETERS.broken(
            ValidationException(f"The number of tags exceeds the limit of {_MOST}.")
        )
    return [{"Key": key, "Value": value} for key, value in found.items()]


@operation("AddTags")
def add_tags(backend: RehearsedSageMakerBackend, parameters: dict[str, Any]) -> dict[str, Any]:
    """Add tags to a cluster, by its ARN."""
    cluster = backend.find(parameters["ResourceArn"])
    cluster.tags = checked(parameters["Tags"], cluster.tags)
    return {"Tags": cluster.tags}


@operation("ListTags")
def list_tags(backend: RehearsedSageMakerBackend, parameters: dict[str, Any]) -> dict[str, Any]:
    """The tags of a cluster."""
    return page(backend.find(parameters["ResourceArn"]).tags, parameters, "Tags", default=50)


@operation("DeleteTags")
def delete_tags(backend: RehearsedSageMakerBackend, parameters: dict[str, Any]) -> dict[str, Any]:
    """Take tags away from a cluster."""
    cluster = backend.find(parameters["ResourceArn"])
    cluster.tags = [tag for tag in cluster.tags if tag["Key"] not in parameters["TagKeys"]]
    return {}
