"""Server-side apply: ownership, conflicts, what is removed and what stays."""

from typing import Any

from mlcc_rehearsal.kubernetes_api.fields import from_fields_v1, to_fields_v1
from tests.unit.kubernetes_api.support import Client, config_map, deployment

MAP = "/api/v1/namespaces/default/configmaps/one"
WEB = "/apis/apps/v1/namespaces/default/deployments/web"


def owners(obj: dict[str, Any]) -> dict[tuple[str, str], Any]:
    """fieldsV1 by (manager, operation)."""
    return {
        (item["manager"], item["operation"]): item["fieldsV1"] for item in obj["metadata"]["managedFields"]
    }


def test_apply_creates_and_owns_what_it_names(admin: Client) -> None:
    made = admin.apply(MAP, config_map("one", a="1"), "first")
    assert made.code == 201
    assert owners(made.body) == {("first", "Apply"): {"f:data": {"f:a": {}}}}
    again = admin.apply(MAP, config_map("one", a="1"), "first")
    assert again.code == 200
    assert again.body["metadata"]["resourceVersion"] == made.body["metadata"]["resourceVersion"]


def test_a_field_of_another_manager_is_a_conflict_until_forced(admin: Client) -> None:
    admin.apply(MAP, config_map("one", a="1", b="2"), "first")
    refused = admin.apply(MAP, config_map("one", a="9", b="2"), "second")
    assert refused.code == 409
    assert refused.body["message"] == 'Apply failed with 1 conflict: conflict with "first" using v1: .data.a'
    assert refused.body["details"]["causes"] == [
        {"reason": "FieldManagerConflict", "message": 'conflict with "first" using v1', "field": ".data.a"}
    ]
    forced = admin.apply(MAP, config_map("one", a="9", b="2"), "second", force=True)
    assert forced.body["data"] == {"a": "9", "b": "2"}
    assert owners(forced.body) == {
        ("first", "Apply"): {"f:data": {"f:b": {}}},
        ("second", "Apply"): {"f:data": {"f:a": {}, "f:b": {}}},
    }, "b has the same value, so both own it"


def test_several_conflicts_are_listed(admin: Client) -> None:
    admin.apply(MAP, config_map("one", a="1", b="2"), "first")
    refused = admin.apply(MAP, config_map("one", a="8", b="9"), "second")
    assert refused.body["message"] == (
        'Apply failed with 2 conflicts: conflict with "first" using v1:\n- .data.a\n- .data.b'
    )


def test_a_field_left_out_goes_unless_somebody_else_has_it(admin: Client) -> None:
    admin.apply(MAP, config_map("one", a="1", b="2"), "first")
    admin.apply(MAP, config_map("one", b="2", c="3"), "second")
    bare = config_map("one")
    del bare["data"]
    left = admin.apply(MAP, bare, "first")
    assert left.body["data"] == {"b": "2", "c": "3"}
    assert ("first", "Apply") not in owners(left.body)


def test_a_plain_write_takes_ownership_of_what_it_changes(admin: Client) -> None:
    admin.apply(MAP, config_map("one", a="1", b="2"), "first")
    admin.ok("PATCH", f"{MAP}?fieldManager=hand", {"data": {"a": "7"}}, "application/merge-patch+json")
    found = owners(admin.ok("GET", MAP))
    assert found == {("first", "Apply"): {"f:data": {"f:b": {}}}, ("hand", "Update"): {"f:data": {"f:a": {}}}}
    refused = admin.apply(MAP, config_map("one", a="1", b="2"), "first")
    assert 'conflict with "hand" using v1: .data.a' in refused.body["message"]


def test_containers_are_owned_by_name(admin: Client) -> None:
    wanted = deployment("web", 0)
    first = admin.apply(WEB, wanted, "first")
    assert 'k:{"name":"main"}' in str(owners(first.body))
    side = deployment("web", 0)
    del side["spec"]["replicas"]
    side["spec"]["template"]["spec"]["containers"] = [{"name": "side", "image": "busybox:2"}]
    both = admin.apply(WEB, side, "second")
    names = [item["name"] for item in both.body["spec"]["template"]["spec"]["containers"]]
    assert names == ["main", "side"]
    del side["spec"]["template"]["spec"]["containers"]
    gone = admin.apply(WEB, side, "second")
    assert [item["name"] for item in gone.body["spec"]["template"]["spec"]["containers"]] == ["main"]


def test_ownership_can_be_handed_over_by_a_patch_of_managed_fields(admin: Client) -> None:
    made = admin.ok(
        "POST", "/api/v1/namespaces/default/configmaps?fieldManager=old", config_map("one", a="1")
    )
    (entry,) = made["metadata"]["managedFields"]
    handed = [{**entry, "manager": "new", "operation": "Apply"}]
    steps = [{"op": "replace", "path": "/metadata/managedFields", "value": handed}]
    admin.ok("PATCH", MAP, steps, "application/json-patch+json")
    assert set(owners(admin.ok("GET", MAP))) == {("new", "Apply")}
    changed = admin.apply(MAP, config_map("one", a="2"), "new")
    assert changed.body["data"] == {"a": "2"}


def test_a_dry_run_of_apply_shows_the_result_only(admin: Client) -> None:
    admin.apply(MAP, config_map("one", a="1"), "first")
    shown = admin.apply(MAP, config_map("one", a="2"), "first", query="&dryRun=All")
    assert shown.body["data"] == {"a": "2"}
    assert admin.ok("GET", MAP)["data"] == {"a": "1"}


def test_an_apply_without_manager_is_refused(admin: Client) -> None:
    answer = admin.call("PATCH", MAP, config_map("one"), "application/apply-patch+yaml")
    assert answer.code == 422
    assert "fieldManager: Required value: is required for apply patch" in answer.body["message"]


def test_fields_survive_their_written_form() -> None:
    paths = {("f:a",), ("f:l", 'k:{"name":"x"}'), ("f:l", 'k:{"name":"x"}', "f:image"), ("f:s", 'v:"one"')}
    assert from_fields_v1(to_fields_v1(paths)) == paths
