"""What controllers in a cluster made outside it, found by the cluster's tags.

Tags and names: AWS Load Balancer Controller, "Security groups" (``elbv2.k8s.aws/cluster``, groups named
``k8s-…``); Kubernetes' AWS cloud provider (``kubernetes.io/cluster/<name>: owned``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from botocore.exceptions import ClientError

from mlcc_infra.account.reader import error_code
from mlcc_infra.account.session import AccountSession

CONTROLLER_TAG = "elbv2.k8s.aws/cluster"
# DescribeTags takes so many load balancers at once (ELB API references).
_BATCH = 20


@dataclass(frozen=True, kw_only=True)
class Leftovers:
    """Load balancers and security groups of a cluster, one line each; `denied`: what could not be seen."""

    load_balancers: tuple[str, ...] = ()
    security_groups: tuple[str, ...] = ()
    denied: tuple[str, ...] = ()

    @property
    def lines(self) -> tuple[str, ...]:
        """All that is there."""
        return (*self.load_balancers, *self.security_groups)


def leftovers(session: AccountSession, cluster: str) -> Leftovers:
    """What is tagged as this EKS cluster's now."""
    denied: list[str] = []

    def allowed(find: Callable[[AccountSession, str], list[str]], what: str) -> tuple[str, ...]:
        try:
            return tuple(find(session, cluster))
        except ClientError as error:
            if error_code(error) not in ("AccessDenied", "AccessDeniedException", "UnauthorizedOperation"):
                raise
            denied.append(f"{what} could not be looked for: {error.response['Error'].get('Message')}")
            return ()

    balancers = allowed(_load_balancers, "load balancers") + allowed(_classic, "classic load balancers")
    groups = allowed(_security_groups, "security groups")
    return Leftovers(load_balancers=balancers, security_groups=groups, denied=tuple(denied))


def is_of_cluster(tags: Iterable[Mapping[str, str]], cluster: str) -> bool:
    """Whether a controller tagged something as this EKS cluster's."""
    found = {tag["Key"]: tag.get("Value") for tag in tags}
    return found.get(CONTROLLER_TAG) == cluster or found.get(f"kubernetes.io/cluster/{cluster}") == "owned"


def tag_batches(names: list[str]) -> Iterator[list[str]]:
    """Names or ARNs of load balancers in portions that DescribeTags takes."""
    for start in range(0, len(names), _BATCH):
        yield names[start : start + _BATCH]


def _load_balancers(session: AccountSession, cluster: str) -> list[str]:
    client = session.client("elbv2")
    pages = client.get_paginator("describe_load_balancers").paginate()
    arns = [item["LoadBalancerArn"] for page in pages for item in page["LoadBalancers"]]
    return [
        f"load balancer {entry['ResourceArn']}"
        for batch in tag_batches(arns)
        for entry in client.describe_tags(ResourceArns=batch)["TagDescriptions"]
        if is_of_cluster(entry["Tags"], cluster)
    ]


def _classic(session: AccountSession, cluster: str) -> list[str]:
    client = session.client("elb")
    pages = client.get_paginator("describe_load_balancers").paginate()
    names = [item["LoadBalancerName"] for page in pages for item in page["LoadBalancerDescriptions"]]
    return [
        f"classic load balancer {entry['LoadBalancerName']}"
        for batch in tag_batches(names)
        for entry in client.describe_tags(LoadBalancerNames=batch)["TagDescriptions"]
        if is_of_cluster(entry["Tags"], cluster)
    ]


def _security_groups(session: AccountSession, cluster: str) -> list[str]:
    own = {"Name": f"tag:{CONTROLLER_TAG}", "Values": [cluster]}
    lines = []
    for group in _described(session, own):
        holders = _referring(session, group["GroupId"])
        why = f", which rules of {', '.join(holders)} refer to" if holders else ""
        lines.append(f"security group {group['GroupId']} ({group['GroupName']}){why}")
    return lines


def _referring(session: AccountSession, group_id: str) -> list[str]:
    """Other groups with a rule that names this one: they keep it from being deleted."""
    found = {
        f"{group['GroupId']} ({group['GroupName']})"
        for name in ("ip-permission.group-id", "egress.ip-permission.group-id")
        for group in _described(session, {"Name": name, "Values": [group_id]})
        if group["GroupId"] != group_id
    }
    return sorted(found)


def _described(session: AccountSession, condition: dict[str, Any]) -> list[dict[str, Any]]:
    pages = session.client("ec2").get_paginator("describe_security_groups").paginate(Filters=[condition])
    return [group for page in pages for group in page["SecurityGroups"]]
