"""EKS clusters that are there, add-on versions, tokens.

Sources: terraform-provider-aws ``internal/service/eks/{cluster,addon_version,cluster_auth}_data_source.go``;
the token is a presigned GetCallerIdentity with the cluster's name as a signed header, as
``aws eks get-token`` makes it (aws-iam-authenticator's documentation).
"""

from __future__ import annotations

import base64
from typing import Any

from botocore.signers import RequestSigner

from mlcc_rehearsal.plugins.aws.calling import Call
from mlcc_rehearsal.plugins.aws.resources.eks_cluster import CLUSTER
from mlcc_rehearsal.plugins.serving import ProviderError

TOKEN_SECONDS = 60


def _cluster(call: Call) -> dict[str, Any]:
    call.id = str(call.inputs["name"])
    found = CLUSTER.read(call)
    if found is None:
        raise ProviderError(f"reading EKS Cluster ({call.id}): couldn't find resource")
    single = {
        "accessConfig": "accessConfigs",
        "certificateAuthority": "certificateAuthorities",
        "kubernetesNetworkConfig": "kubernetesNetworkConfigs",
        "upgradePolicy": "upgradePolicies",
    }
    result = {key: value for key, value in found.items() if key not in (*single, "encryptionConfig")}
    for name, plural in single.items():
        result[plural] = [found[name]] if found.get(name) else []
    return {**result, "clusterId": "", "id": call.id}


def _addon_version(call: Call) -> dict[str, Any]:
    given = call.inputs
    name, kubernetes = str(given["addonName"]), str(given["kubernetesVersion"])
    addons = call.pages(
        "eks", "describe_addon_versions", "addons", addonName=name, kubernetesVersion=kubernetes
    )
    for addon in addons:
        for version in addon.get("addonVersions") or []:
            offers = version.get("compatibilities") or []
            if given.get("mostRecent") or any(item.get("defaultVersion") for item in offers):
                return {**given, "id": name, "version": version["addonVersion"]}
    raise ProviderError(f"reading EKS Add-On version info ({name}, {kubernetes}): couldn't find resource")


def _token(call: Call) -> dict[str, Any]:
    name = str(call.inputs["name"])
    client = call.clients.client("sts", call.region)
    signer = RequestSigner(
        client.meta.service_model.service_id,
        call.region,
        "sts",
        "v4",
        client._request_signer._credentials,
        client.meta.events,
    )
    url: Any = signer.generate_presigned_url(
        {
            "method": "GET",
            "url": f"https://sts.{call.region}.amazonaws.com/?Action=GetCallerIdentity&Version=2011-06-15",
            "body": {},
            "headers": {"x-k8s-aws-id": name},
            "context": {},
        },
        region_name=call.region,
        expires_in=TOKEN_SECONDS,
        operation_name="",
    )
    encoded = base64.urlsafe_b64encode(url.encode()).decode().rstrip("=")
    return {"id": name, "name": name, "token": f"k8s-aws-v1.{encoded}"}


FUNCTIONS = {
    "aws:eks/getCluster:getCluster": _cluster,
    "aws:eks/getAddonVersion:getAddonVersion": _addon_version,
    "aws:eks/getClusterAuth:getClusterAuth": _token,
}
