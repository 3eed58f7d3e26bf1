"""SSM parameters under the profile's prefix."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from mlcc_infra.account.decisions import Wanted
from mlcc_infra.account.import_ids import import_id
from mlcc_infra.account.reader import Found, Reader
from mlcc_infra.tagging import tag_list


def parameters_under(reader: Reader, prefix: str) -> frozenset[str]:
    """Names of the parameters under a path such as `/mlcc/demo/eks/`."""
    return reader.once(
        ("ssm", prefix),
        lambda: frozenset(
            item["Name"]
            for item in reader.pages(
                "ssm", "get_parameters_by_path", "Parameters", Path=prefix.rstrip("/"), Recursive=True
            )
        ),
    )


def _parameter(reader: Reader, wanted: Wanted) -> Found | None:
    name = wanted.lookup["name"]
    if name not in parameters_under(reader, wanted.lookup["prefix"]):
        return None
    answer = reader.session.client("ssm").list_tags_for_resource(ResourceType="Parameter", ResourceId=name)
    identifier = import_id("aws:ssm/parameter:Parameter", name=name)
    return Found(import_id=identifier, resource_id=identifier, tags=tag_list(answer["TagList"]))


LOOKUPS: Mapping[str, Callable[[Reader, Wanted], Found | None]] = {
    "aws:ssm/parameter:Parameter": _parameter,
}
