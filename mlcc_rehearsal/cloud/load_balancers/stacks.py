"""What one Ingress or Service makes at AWS: a load balancer, its groups, and how they go again.

Everything is found again by its tags, as the controller finds it.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

from moto.elb.models import elb_backends
from moto.elbv2.models import elbv2_backends

from mlcc_rehearsal.cloud.ec2.network import ec2_of
from mlcc_rehearsal.cloud.eks.models import Cluster, EksBackend
from mlcc_rehearsal.cloud.iam_evaluation import ContextValue
from mlcc_rehearsal.cloud.load_balancers import groups
from mlcc_rehearsal.cloud.load_balancers.controllers import LoadBalancerController

CLUSTER_TAG = "elbv2.k8s.aws/cluster"
_DESCRIPTION = "[k8s] Managed SecurityGroup for LoadBalancer"
_SHARED = "[k8s] Shared Backend SecurityGroup for LoadBalancer"


class DeployError(Exception):
    """AWS refused what a controller wanted to do; the text is its event's."""


@dataclass(frozen=True)
class Stack:
    """What belongs to one object.

    :ivar source: ``ingress`` or ``service``.
    """

    eks: EksBackend
    cluster: Cluster
    source: str
    namespace: str
    name: str

    @property
    def physical_name(self) -> str:
        """Name of the load balancer and of its group (``pkg/service/model_build_load_balancer.go``)."""
        digest = hashlib.sha256(f"{self.cluster.name}/{self.namespace}/{self.name}/{self.source}".encode())
        namespace, name = (text.replace("-", "").replace(".", "")[:8] for text in (self.namespace, self.name))
        return f"k8s-{namespace}-{name}-{digest.hexdigest()[:10]}"

    @property
    def shared_name(self) -> str:
        """Name of the group that all load balancers of the cluster share."""
        digest = hashlib.sha256(f"{self.cluster.name}/{groups.vpc_of(self.cluster)}".encode())
        return f"k8s-traffic-{self.cluster.name.replace('-', '')[:200]}-{digest.hexdigest()[:10]}"

    def tags(self, resource: str) -> dict[str, str]:
        """Tags of something of this stack."""
        return {
            CLUSTER_TAG: self.cluster.name,
            f"{self.source}.k8s.aws/stack": f"{self.namespace}/{self.name}",
            f"{self.source}.k8s.aws/resource": resource,
        }

    def balancer(self) -> Any | None:
        """Its load balancer, or None."""
        backend = self._backend()
        for balancer in backend.load_balancers.values():
            tags = backend.tagging_service.get_tag_dict_for_resource(balancer.arn)
            if self.tags("LoadBalancer").items() <= tags.items():
                return balancer
        return None

    def deploy(
        self, controller: LoadBalancerController, subnets: list[str], *, kind: str, internal: bool
    ) -> Any:
        """Make what is missing; answers the load balancer.

        :raises DeployError: AWS does not let the controller.
        """
        found = self.balancer()
        if found is not None:
            return found
        self._check_creation(controller, kind)
        managed = groups.ensure_group(
            self.eks, self.cluster, self.physical_name, _DESCRIPTION, self.tags("ManagedLBSecurityGroup")
        )
        shared = groups.ensure_group(
            self.eks,
            self.cluster,
            self.shared_name,
            _SHARED,
            {CLUSTER_TAG: self.cluster.name, "elbv2.k8s.aws/resource": "backend-sg"},
        )
        groups.open_nodes(self.eks, self.cluster, shared.id)
        return self._backend().create_load_balancer(
            self.physical_name,
            [managed.id, shared.id],
            subnets,
            scheme="internal" if internal else "internet-facing",
            loadbalancer_type=kind,
            tags=[{"Key": key, "Value": value} for key, value in self.tags("LoadBalancer").items()],
        )

    def clean_up(self, controller: LoadBalancerController) -> bool:
        """Go on deleting what is there; True when all of it has gone.

        :raises DeployError: AWS does not let the controller.
        """
        balancer = self.balancer()
        if balancer is not None:
            context: dict[str, ContextValue] = {f"aws:ResourceTag/{CLUSTER_TAG}": self.cluster.name}
            self._allow(controller, "elasticloadbalancing:DeleteLoadBalancer", balancer.arn, context)
            self._backend().delete_load_balancer(balancer.arn)
            return False
        group = groups.find_group(self.eks, self.cluster, self.physical_name)
        if group is not None:
            arn = self._arn("ec2", f"security-group/{group.id}")
            context = {f"aws:ResourceTag/{CLUSTER_TAG}": self.cluster.name}
            self._allow(controller, "ec2:DeleteSecurityGroup", arn, context)
            if not groups.drop_group(self.eks, self.cluster, self.physical_name):
                return False
        return self._drop_shared()

    def _drop_shared(self) -> bool:
        """The last load balancer's controller takes the shared group, and the rule that names it, away."""
        shared = groups.find_group(self.eks, self.cluster, self.shared_name)
        if shared is None or self._others():
            return True
        groups.close_nodes(self.eks, self.cluster, shared.id)
        return groups.drop_group(self.eks, self.cluster, self.shared_name)

    def _others(self) -> bool:
        backend = self._backend()
        return any(
            backend.tagging_service.get_tag_dict_for_resource(arn).get(CLUSTER_TAG) == self.cluster.name
            for arn in backend.load_balancers
        )

    def _check_creation(self, controller: LoadBalancerController, kind: str) -> None:
        requested: dict[str, ContextValue] = {f"aws:RequestTag/{CLUSTER_TAG}": self.cluster.name}
        created: dict[str, ContextValue] = {**requested, "ec2:CreateAction": "CreateSecurityGroup"}
        balancers = self._arn("elasticloadbalancing", f"loadbalancer/{kind[:3]}/*")
        vpc = self._arn("ec2", f"vpc/{groups.vpc_of(self.cluster)}")
        group = self._arn("ec2", "security-group/*")
        self._allow(controller, "ec2:DescribeSubnets", "*", {})
        self._allow(controller, "ec2:CreateSecurityGroup", vpc, {})
        self._allow(controller, "ec2:CreateTags", group, created)
        self._allow(controller, "elasticloadbalancing:CreateLoadBalancer", balancers, requested)

    def _allow(
        self,
        controller: LoadBalancerController,
        action: str,
        resource: str,
        context: dict[str, ContextValue],
    ) -> None:
        refusal = controller.refusal(self.eks, action, resource, context)
        if refusal is not None:
            raise DeployError(refusal)

    def _arn(self, service: str, resource: str) -> str:
        return f"arn:{self.eks.partition}:{service}:{self.eks.region_name}:{self.eks.account_id}:{resource}"

    def _backend(self) -> Any:
        return elbv2_backends[self.eks.account_id][self.eks.region_name]


@dataclass(frozen=True)
class ClassicStack:
    """What Kubernetes' own service controller makes: a Classic Load Balancer and its group."""

    eks: EksBackend
    cluster: Cluster
    uid: str
    namespace: str
    name: str

    @property
    def balancer_name(self) -> str:
        """``a`` and the service's uid, as long as a name may be."""
        return f"a{self.uid.replace('-', '')}"[:32]

    def balancer(self) -> Any | None:
        """Its load balancer, or None."""
        return self._backend().load_balancers.get(self.balancer_name)

    def deploy(self, subnets: list[str], ports: list[dict[str, Any]], *, internal: bool) -> Any:
        """Make what is missing; answers the load balancer."""
        found = self.balancer()
        if found is not None:
            return found
        owned = {f"kubernetes.io/cluster/{self.cluster.name}": "owned"}
        description = f"Security group for Kubernetes ELB {self.balancer_name} ({self.namespace}/{self.name})"
        group = groups.ensure_group(
            self.eks, self.cluster, f"k8s-elb-{self.balancer_name}", description, owned
        )
        groups.open_nodes(self.eks, self.cluster, group.id)
        made = self._backend().create_load_balancer(
            self.balancer_name,
            [],
            [
                {
                    "Protocol": "TCP",
                    "LoadBalancerPort": port["port"],
                    "InstanceProtocol": "TCP",
                    "InstancePort": port.get("nodePort", port["port"]),
                }
                for port in ports
            ],
            "internal" if internal else "internet-facing",
            subnets,
            [group.id],
        )
        made.tags.update({**owned, "kubernetes.io/service-name": f"{self.namespace}/{self.name}"})
        return made

    def clean_up(self) -> bool:
        """Go on deleting what is there; True when all of it has gone."""
        if self.balancer() is not None:
            self._backend().delete_load_balancer(self.balancer_name)
            return False
        name = f"k8s-elb-{self.balancer_name}"
        group = groups.find_group(self.eks, self.cluster, name)
        if group is None:
            return True
        held = ec2_of(self.eks.account, self.eks.region_name).enis.values()
        if any(each.id == group.id for interface in held for each in interface._group_set):
            return False
        groups.close_nodes(self.eks, self.cluster, group.id)
        return groups.drop_group(self.eks, self.cluster, name)

    def _backend(self) -> Any:
        return elb_backends[self.eks.account_id][self.eks.region_name]
