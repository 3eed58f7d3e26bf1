"""What the verbs do to objects, in Kubernetes' words."""

from tests.unit.kubernetes_api.support import Client, config_map, definition, deployment, eventually

MAPS = "/api/v1/namespaces/default/configmaps"
MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
JSON = "application/json-patch+json"


def test_an_object_gets_uid_creation_time_and_a_generated_name(admin: Client) -> None:
    wanted = {"metadata": {"generateName": "run-"}, "data": {"a": "1"}}
    made = admin.ok("POST", MAPS, wanted)
    assert made["metadata"]["name"].startswith("run-")
    assert len(made["metadata"]["name"]) == len("run-") + 5
    assert made["metadata"]["uid"]
    assert made["metadata"]["creationTimestamp"].endswith("Z")


def test_refusals_are_status_objects_in_kubernetes_words(admin: Client) -> None:
    missing = admin.call("GET", f"{MAPS}/nope")
    assert (missing.code, missing.body["kind"], missing.body["reason"]) == (404, "Status", "NotFound")
    assert missing.body["message"] == 'configmaps "nope" not found'
    admin.ok("POST", MAPS, config_map("one"))
    taken = admin.call("POST", MAPS, config_map("one"))
    assert (taken.code, taken.body["message"]) == (409, 'configmaps "one" already exists')
    elsewhere = admin.call("POST", "/api/v1/namespaces/nowhere/configmaps", config_map("one", "nowhere"))
    assert (elsewhere.code, elsewhere.body["message"]) == (404, 'namespaces "nowhere" not found')
    wrong = admin.call("POST", MAPS, config_map("Not_A_Name"))
    assert wrong.code == 422
    assert "a lowercase RFC 1123 subdomain must consist of" in wrong.body["message"]
    path = admin.call("GET", "/apis/no.such.group/v1/things")
    assert (path.code, path.body["message"]) == (404, "the server could not find the requested resource")


def test_an_update_with_an_old_resource_version_is_refused(admin: Client) -> None:
    first = admin.ok("POST", MAPS, config_map("one", a="1"))
    changed = admin.ok("PUT", f"{MAPS}/one", {**first, "data": {"a": "2"}})
    assert changed["metadata"]["resourceVersion"] != first["metadata"]["resourceVersion"]
    stale = admin.call("PUT", f"{MAPS}/one", {**first, "data": {"a": "3"}})
    assert stale.code == 409
    assert (
        "the object has been modified; please apply your changes to the latest version"
        in stale.body["message"]
    )
    same = admin.ok("PUT", f"{MAPS}/one", changed)
    assert same["metadata"]["resourceVersion"] == changed["metadata"]["resourceVersion"], (
        "a no-op is no change"
    )


def test_generation_counts_changes_of_the_specification_only(admin: Client) -> None:
    path = "/apis/apps/v1/namespaces/default/deployments"
    admin.ok("POST", path, deployment("web", 0))
    labelled = admin.ok("PATCH", f"{path}/web", {"metadata": {"labels": {"a": "b"}}}, MERGE)
    assert labelled["metadata"]["generation"] == 1
    scaled = admin.ok("PATCH", f"{path}/web", {"spec": {"replicas": 0, "paused": True}}, MERGE)
    assert scaled["metadata"]["generation"] == 2
    ignored = admin.ok("PATCH", f"{path}/web", {"status": {"replicas": 9}}, MERGE)
    assert ignored.get("status", {}).get("replicas") != 9, "status is written through its subresource"


def test_patches_of_all_three_kinds(admin: Client) -> None:
    path = "/apis/apps/v1/namespaces/default/deployments"
    admin.ok("POST", path, deployment("web", 0))
    containers = [
        {"name": "main", "env": [{"name": "A", "value": "1"}]},
        {"name": "side", "image": "busybox:2"},
    ]
    patch = {"spec": {"template": {"spec": {"containers": containers}}}}
    merged = admin.ok("PATCH", f"{path}/web", patch, STRATEGIC)
    found = {item["name"]: item for item in merged["spec"]["template"]["spec"]["containers"]}
    assert set(found) == {"main", "side"}
    assert found["main"]["image"] == "busybox:1", "a container is merged by name"
    deleted = {"spec": {"template": {"spec": {"containers": [{"name": "side", "$patch": "delete"}]}}}}
    left = admin.ok("PATCH", f"{path}/web", deleted, STRATEGIC)
    assert [item["name"] for item in left["spec"]["template"]["spec"]["containers"]] == ["main"]
    steps = [
        {"op": "test", "path": "/spec/replicas", "value": 0},
        {"op": "replace", "path": "/spec/template/spec/containers/0/image", "value": "busybox:3"},
    ]
    patched = admin.ok("PATCH", f"{path}/web", steps, JSON)
    assert patched["spec"]["template"]["spec"]["containers"][0]["image"] == "busybox:3"
    admin.ok("POST", MAPS, config_map("one", a="1", b="2"))
    removed = admin.ok("PATCH", f"{MAPS}/one", {"data": {"a": None}}, MERGE)
    assert removed["data"] == {"b": "2"}


def test_an_unknown_field_is_refused_when_asked_for_and_warned_of_otherwise(admin: Client) -> None:
    wrong = {**deployment("web", 0)}
    wrong["spec"] = {**wrong["spec"], "replica": 3}
    refused = admin.call("POST", "/apis/apps/v1/namespaces/default/deployments?fieldValidation=Strict", wrong)
    assert refused.code == 400
    assert 'strict decoding error: unknown field "spec.replica"' in refused.body["message"]
    taken = admin.call("POST", "/apis/apps/v1/namespaces/default/deployments", wrong)
    assert taken.code == 201
    assert 'unknown field \\"spec.replica\\"' in taken.headers["Warning"]
    assert "replica" not in taken.body["spec"]
    typed = config_map("typed")
    typed["data"] = {"a": 1}
    mistyped = admin.call("POST", MAPS, typed)
    assert mistyped.code == 400
    assert (
        "cannot unmarshal number into Go struct field ConfigMap.data of type string"
        in mistyped.body["message"]
    )


def test_what_must_not_change_does_not(admin: Client) -> None:
    path = "/apis/apps/v1/namespaces/default/deployments"
    made = admin.ok("POST", path, deployment("web", 0))
    made["spec"]["selector"]["matchLabels"]["app"] = "other"
    made["spec"]["template"]["metadata"]["labels"]["app"] = "other"
    made["metadata"].pop("resourceVersion")
    refused = admin.call("PUT", f"{path}/web", made)
    assert refused.code == 422
    assert "spec.selector" in refused.body["message"]
    assert "field is immutable" in refused.body["message"]


def test_a_dry_run_changes_nothing(admin: Client) -> None:
    shown = admin.ok("POST", f"{MAPS}?dryRun=All", config_map("one"))
    assert shown["metadata"]["uid"]
    assert admin.call("GET", f"{MAPS}/one").code == 404
    admin.ok("POST", MAPS, config_map("one", a="1"))
    admin.ok("PATCH", f"{MAPS}/one?dryRun=All", {"data": {"a": "2"}}, MERGE)
    admin.ok("DELETE", f"{MAPS}/one?dryRun=All")
    assert admin.ok("GET", f"{MAPS}/one")["data"] == {"a": "1"}


def test_lists_take_selectors_and_pages(admin: Client) -> None:
    for index in range(5):
        admin.ok("POST", MAPS, config_map(f"m{index}", labels={"tier": "front" if index % 2 else "back"}))
    front = admin.ok("GET", f"{MAPS}?labelSelector=tier%20in%20(front),!gone")
    assert [item["metadata"]["name"] for item in front["items"]] == ["m1", "m3"]
    assert front["kind"] == "ConfigMapList"
    assert "kind" not in front["items"][0], "items of built-in kinds carry no kind, as on a real server"
    one = admin.ok("GET", f"{MAPS}?fieldSelector=metadata.name%3Dm2")
    assert [item["metadata"]["name"] for item in one["items"]] == ["m2"]
    page = admin.ok("GET", f"{MAPS}?labelSelector=tier&limit=2")
    assert page["metadata"]["remainingItemCount"] == 3
    rest = admin.ok("GET", f"{MAPS}?labelSelector=tier&limit=9&continue={page['metadata']['continue']}")
    assert [item["metadata"]["name"] for item in rest["items"]] == ["m2", "m3", "m4"]
    admin.ok("DELETE", f"{MAPS}?labelSelector=tier%3Dback")
    assert len(admin.ok("GET", f"{MAPS}?labelSelector=tier")["items"]) == 2


def test_a_finalizer_holds_an_object_until_it_is_taken_off(admin: Client) -> None:
    held = config_map("held")
    held["metadata"]["finalizers"] = ["example.com/hold"]
    admin.ok("POST", MAPS, held)
    lingering = admin.ok("DELETE", f"{MAPS}/held")
    assert lingering["metadata"]["deletionTimestamp"]
    more = {"metadata": {"finalizers": ["example.com/hold", "example.com/more"]}}
    refused = admin.call("PATCH", f"{MAPS}/held", more, MERGE)
    assert refused.code == 422
    assert "no new finalizers can be added if the object is being deleted" in refused.body["message"]
    admin.ok("PATCH", f"{MAPS}/held", {"metadata": {"finalizers": None}}, MERGE)
    assert admin.call("GET", f"{MAPS}/held").code == 404


def test_dependents_go_with_their_owner_unless_orphaned(admin: Client) -> None:
    for name, policy, left in (("first", "Background", 404), ("second", "Orphan", 200)):
        owner = admin.ok("POST", MAPS, config_map(name))
        child = config_map(f"{name}-child")
        reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": name, "uid": owner["metadata"]["uid"]}
        child["metadata"]["ownerReferences"] = [reference]
        admin.ok("POST", MAPS, child)
        admin.ok("DELETE", f"{MAPS}/{name}?propagationPolicy={policy}")
        assert admin.call("GET", f"{MAPS}/{name}-child").code == left


def test_a_custom_resource_is_served_while_its_definition_is_there(admin: Client) -> None:
    definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    models = "/apis/inference.example.com/v1/namespaces/default/models"
    assert admin.call("GET", models).code == 404
    made = admin.ok("POST", definitions, definition())
    assert {item["type"] for item in made["status"]["conditions"]} == {"Established", "NamesAccepted"}
    model = {
        "apiVersion": "inference.example.com/v1",
        "kind": "Model",
        "metadata": {"name": "m"},
        "spec": {"a": [1]},
    }
    admin.ok("POST", models, model)
    older = admin.ok("GET", "/apis/inference.example.com/v1alpha1/namespaces/default/models/m")
    assert older["apiVersion"] == "inference.example.com/v1alpha1"
    admin.ok("PATCH", f"{models}/m/status", {"status": {"state": "Deployed"}}, MERGE)
    listed = admin.ok("GET", models)["items"][0]
    assert (listed["kind"], listed["status"]["state"]) == ("Model", "Deployed")
    admin.ok("DELETE", f"{definitions}/models.inference.example.com")
    eventually(lambda: admin.call("GET", models).code == 404)


def test_fields_that_a_structural_schema_does_not_name_are_dropped(admin: Client) -> None:
    schema = {
        "type": "object",
        "properties": {"spec": {"type": "object", "properties": {"replicas": {"type": "integer"}}}},
    }
    admin.ok("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition(schema=schema))
    spec = {"replicas": 2, "typo": True}
    model = {
        "apiVersion": "inference.example.com/v1",
        "kind": "Model",
        "metadata": {"name": "m"},
        "spec": spec,
    }
    made = admin.ok("POST", "/apis/inference.example.com/v1/namespaces/default/models", model)
    assert made["spec"] == {"replicas": 2}


def test_a_namespace_takes_its_content_along(admin: Client) -> None:
    admin.ok("POST", "/api/v1/namespaces", {"metadata": {"name": "team"}})
    path = "/api/v1/namespaces/team/configmaps"
    held = config_map("held", "team")
    held["metadata"]["finalizers"] = ["example.com/hold"]
    admin.ok("POST", path, held)
    going = admin.ok("DELETE", "/api/v1/namespaces/team")
    assert going["status"]["phase"] == "Terminating"
    late = admin.call("POST", path, config_map("late", "team"))
    assert late.code == 403
    assert "because it is being terminated" in late.body["message"]
    eventually(lambda: "deletionTimestamp" in admin.ok("GET", f"{path}/held")["metadata"])
    admin.ok("PATCH", f"{path}/held", {"metadata": {"finalizers": None}}, MERGE)
    eventually(lambda: admin.call("GET", "/api/v1/namespaces/team").code == 404)
    kept = admin.call("DELETE", "/api/v1/namespaces/kube-system")
    assert kept.code == 403


def test_a_namespace_has_no_finalize_that_succeeds_and_does_nothing(admin: Client) -> None:
    answer = admin.call("PUT", "/api/v1/namespaces/default/finalize", {"metadata": {"name": "default"}})
    assert answer.code == 404
