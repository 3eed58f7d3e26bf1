"""Tags of everything EKS makes, by ARN."""

from __future__ import annotations

from typing import Any

from mlcc_rehearsal.cloud import laws
from mlcc_rehearsal.cloud.eks.errors import InvalidParameterException, ResourceNotFoundException
from mlcc_rehearsal.cloud.eks.models import EksBackend
from mlcc_rehearsal.cloud.eks.operations import operation

_MOST = 50


def checked(tags: dict[str, str] | None) -> dict[str, str]:
    """A copy of ``tags``; :raises InvalidParameterException: when there are too many or one is reserved."""
    tags = dict(tags or {})
    _check_count(tags)
    for key in tags:
        if key.lower().startswith("aws:"):
            message = f"Tag keys cannot start with the reserved prefix aws: ({key})"
            raise laws.EKS_PARAMETERS.broken(InvalidParameterException(message))
    return tags


def _check_count(tags: dict[str, str]) -> None:
    # Tags that AWS sets itself do not count (Amazon EC2 user guide, "Tag restrictions").
    own = [key for key in tags if not key.lower().startswith("aws:")]
    if len(own) > _MOST:
        raise laws.EKS_PARAMETERS.broken(
            InvalidParameterException(f"Too many tags: {len(own)}, at most {_MOST}")
        )


def _find(eks: EksBackend, arn: str) -> dict[str, Any]:
    for known, description, _ in eks.described():
        if known == arn:
            return description
    raise ResourceNotFoundException(f"Resource was not found: {arn}")


@operation("TagResource")
def tag_resource(eks: EksBackend, parameters: dict[str, Any]) -> dict[str, Any]:
    """Add tags to what the ARN names."""
    description = _find(eks, parameters["resourceArn"])
    together = {**description.get("tags", {}), **checked(parameters["tags"])}
    _check_count(together)
    description["tags"] = together
    return {}


@operation("UntagResource")
def untag_resource(eks: EksBackend, parameters: dict[str, Any]) -> dict[str, Any]:
    """Take tags away from what the ARN names; keys that it does not have are ignored."""
    description = _find(eks, parameters["resourceArn"])
    for key in parameters["tagKeys"]:
        description.get("tags", {}).pop(key, None)
    return {}


@operation("ListTagsForResource")
def list_tags_for_resource(eks: EksBackend, parameters: dict[str, Any]) -> dict[str, Any]:
    """The tags of what the ARN names."""
    return {"tags": _find(eks, parameters["resourceArn"]).get("tags", {})}
