"""Field reports, group I: rows that the graph itself answers, registered without an engine."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

import mlcc_infra
from tests.graph import Registered, rehearsed_account
from tests.record_names import STACKS, graph_of, names_of, recorded_names

#: What becomes of an Output that is used as text (pulumi 3, `Output.__str__`), and of its repr.
NOT_A_STRING = re.compile(r"Calling __str__ on an Output|<pulumi\.output\.Output object")
SERVICE_ROLES = {
    "aws:iam/role:Role",
    "aws:iam/rolePolicyAttachment:RolePolicyAttachment",
    "aws:iam/rolePolicy:RolePolicy",
}


@pytest.fixture(scope="module", autouse=True)
def account() -> Iterator[None]:
    with rehearsed_account():
        yield


def strings(value: object) -> Iterator[str]:
    """All text in an input, keys included."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, part in value.items():
            yield str(key)
            yield from strings(part)
    elif isinstance(value, list):
        for part in value:
            yield from strings(part)


def kept(stack: str) -> list[Registered]:
    """The service roles of a stack, with what hangs on them."""
    found = graph_of(stack)
    return [
        resource
        for resource in found
        if resource.type in SERVICE_ROLES and "ServiceRoles" in resource.request.parent
    ]


@pytest.mark.parametrize(("stack", "roles"), [("mlcc-demo", 4), ("mlcc-eks", 3), ("mlcc-hyperpod", 1)])
def test_i7_every_child_of_the_service_roles_is_retained_by_itself(stack: str, roles: int) -> None:
    children = kept(stack)
    assert len([child for child in children if child.type.endswith(":Role")]) == roles
    assert len(children) > roles
    assert [child.name for child in children if not child.request.retainOnDelete] == []
    component = [found for found in graph_of(stack) if found.name == "service-roles"]
    assert [found.request.retainOnDelete for found in component] in ([False], []), (
        "the engine does not hand a component's flag down, so it is not relied on"
    )


@pytest.mark.parametrize("stack", STACKS)
def test_i15_no_name_and_no_input_holds_the_text_of_an_output(stack: str) -> None:
    texts = [
        (resource.key, text)
        for resource in graph_of(stack)
        for text in (resource.name, *strings(resource.inputs))
    ]
    assert len(texts) > 200
    assert [found for found in texts if NOT_A_STRING.search(found[1])] == []


@pytest.mark.parametrize("stack", STACKS)
def test_i10_the_logical_names_of_the_release_are_all_still_there(stack: str) -> None:
    recorded = recorded_names(mlcc_infra.__version__, stack)
    assert len(recorded) > 20
    assert recorded <= names_of(stack, aliases=True)
