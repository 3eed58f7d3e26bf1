"""Who may do what: EKS tokens, access policies, RBAC."""

import base64
import datetime

import pytest

from mlcc_rehearsal.kubernetes_api import ApiError, KubernetesApi
from mlcc_rehearsal.kubernetes_api.authentication import PREFIX, access_key_of
from tests.unit.kubernetes_api.support import (
    EDITOR,
    GROUPED,
    NOBODY,
    VIEWER,
    Client,
    config_map,
    token_of,
)

MAPS = "/api/v1/namespaces/default/configmaps"


@pytest.mark.parametrize("token", [None, "some-token", PREFIX + "bm90IGEgdXJs", token_of("AKIASOMEBODYELSE")])
def test_without_an_access_entry_the_answer_is_401(api: KubernetesApi, token: str | None) -> None:
    answer = Client(api, token).call("GET", MAPS)
    assert (answer.code, answer.body["reason"], answer.body["message"]) == (
        401,
        "Unauthorized",
        "Unauthorized",
    )


def test_health_is_for_everybody_and_nothing_else_is(api: KubernetesApi) -> None:
    anonymous = Client(api, None)
    assert anonymous.call("GET", "/readyz").body == "ok"
    assert anonymous.call("GET", "/version").code == 401


def test_an_entry_without_policy_may_look_around_but_not_at_objects(api: KubernetesApi) -> None:
    nobody = Client(api, token_of(NOBODY))
    assert nobody.ok("GET", "/version")["minor"] == "35"
    assert nobody.ok("GET", "/apis")["kind"] == "APIGroupList"
    refused = nobody.call("GET", MAPS)
    assert refused.code == 403
    assert refused.body["message"] == (
        'configmaps is forbidden: User "nobody" cannot list resource "configmaps" in API group "" in the '
        'namespace "default"'
    )
    cluster_wide = nobody.call("DELETE", "/apis/apps/v1/deployments")
    assert "at the cluster scope" in cluster_wide.body["message"]


def test_a_viewer_reads_all_but_secrets_and_writes_nothing(api: KubernetesApi) -> None:
    viewer = Client(api, token_of(VIEWER))
    viewer.ok("GET", MAPS)
    assert viewer.call("GET", "/api/v1/namespaces/default/secrets").code == 403
    refused = viewer.call("POST", MAPS, config_map("one"))
    assert 'User "viewer" cannot create resource "configmaps"' in refused.body["message"]


def test_a_policy_can_be_narrowed_to_a_namespace(api: KubernetesApi, admin: Client) -> None:
    admin.ok("POST", "/api/v1/namespaces", {"metadata": {"name": "team"}})
    editor = Client(api, token_of(EDITOR))
    editor.ok("POST", "/api/v1/namespaces/team/configmaps", config_map("one", "team"))
    assert editor.call("POST", MAPS, config_map("one")).code == 403
    assert editor.call("POST", "/apis/rbac.authorization.k8s.io/v1/namespaces/team/roles", {}).code == 403


def test_groups_of_an_entry_follow_rbac_bindings(api: KubernetesApi, admin: Client) -> None:
    grouped = Client(api, token_of(GROUPED))
    assert grouped.call("GET", MAPS).code == 403
    rbac = "/apis/rbac.authorization.k8s.io/v1"
    admin.ok(
        "POST",
        f"{rbac}/namespaces/default/rolebindings",
        {
            "metadata": {"name": "readers"},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view"},
            "subjects": [{"kind": "Group", "name": "readers"}],
        },
    )
    grouped.ok("GET", MAPS)
    assert grouped.call("GET", "/api/v1/configmaps").code == 403, "a RoleBinding holds in its namespace"
    review = {"spec": {"resourceAttributes": {"verb": "list", "resource": "pods", "namespace": "default"}}}
    answer = grouped.ok("POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", review)
    assert answer["status"] == {"allowed": True}


def test_only_who_may_impersonate_acts_as_somebody_else(api: KubernetesApi, admin: Client) -> None:
    as_viewer = {"Impersonate-User": "somebody", "Impersonate-Group": "system:masters"}
    assert admin.call("GET", MAPS, **as_viewer).code == 200
    assert admin.call("GET", MAPS, **{"Impersonate-User": "somebody"}).code == 403
    refused = Client(api, token_of(VIEWER)).call("GET", MAPS, **as_viewer)
    assert 'User "viewer" cannot impersonate resource "users" in API group ""' in refused.body["message"]


def test_a_token_is_good_for_fifteen_minutes_and_must_sign_the_clusters_name() -> None:
    token = token_of("AKIAEXAMPLE0000000001")
    now = datetime.datetime.now(datetime.UTC)
    assert access_key_of(token, now + datetime.timedelta(minutes=14)) == "AKIAEXAMPLE0000000001"
    with pytest.raises(ApiError, match="Unauthorized"):
        access_key_of(token, now + datetime.timedelta(minutes=16))
    encoded = token.removeprefix(PREFIX)
    address = base64.urlsafe_b64decode(encoded + "=" * (-len(encoded) % 4)).decode()
    bare = address.replace("host%3Bx-k8s-aws-id", "host")
    with pytest.raises(ApiError, match="Unauthorized"):
        access_key_of(PREFIX + base64.urlsafe_b64encode(bare.encode()).decode(), now)
