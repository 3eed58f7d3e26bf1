"""moto's load balancers with what holds a network: an interface in each subnet, there until it is released.

Sources: Elastic Load Balancing user guides (an interface named ``ELB app/<name>/<id>`` in each subnet, states
provisioning and active, at least two zones for an Application Load Balancer); field report H2.
"""

from __future__ import annotations

import secrets
from typing import Any

from moto.elb.models import ELBBackend
from moto.elbv2.exceptions import LoadBalancerNotFoundError
from moto.elbv2.models import ELBv2Backend, FakeLoadBalancer

from mlcc_rehearsal.cloud import durations, laws_operator
from mlcc_rehearsal.cloud.account import account_of
from mlcc_rehearsal.cloud.ec2.interfaces import ServiceInterface, make_interface, remove_interface
from mlcc_rehearsal.cloud.ec2.network import ec2_of, find_subnet
from mlcc_rehearsal.cloud.errors import AwsError

_KINDS = {"application": "app", "network": "net", "gateway": "gwy"}


class RehearsedELBv2Backend(ELBv2Backend):
    """Application and network load balancers of one region."""

    @property
    def _url_module(self) -> Any:
        # moto derives it from the class's own module, which has none.
        from moto.elbv2 import urls

        return urls

    def create_load_balancer(
        self,
        name: str,
        security_groups: list[str],
        subnet_ids: list[str],
        subnet_mappings: list[dict[str, str]] | None = None,
        scheme: str = "internet-facing",
        loadbalancer_type: str | None = None,
        ip_address_type: str = "ipv4",
        tags: list[dict[str, str]] | None = None,
    ) -> Any:
        """Begin to make one: its interfaces are there at once, it is active after a while.

        :raises AwsError: ValidationError for an Application Load Balancer in one zone only.
        """
        wanted = [*subnet_ids, *(mapping["SubnetId"] for mapping in subnet_mappings or [])]
        account = account_of(self.account_id)
        found = [find_subnet(account, self.region_name, subnet_id) for subnet_id in wanted]
        zones = {subnet.availability_zone for subnet in found if subnet is not None}
        if wanted and (loadbalancer_type or "application") == "application" and len(zones) < 2:
            message = "At least two subnets in two different Availability Zones must be specified"
            raise laws_operator.LOAD_BALANCER_SUBNETS.broken(AwsError("ValidationError", message))
        made = super().create_load_balancer(
            name,
            security_groups,
            subnet_ids,
            subnet_mappings,
            scheme,
            loadbalancer_type,
            ip_address_type,
            tags,
        )
        description = f"ELB {_KINDS[made.type]}/{name}/{made.arn.rsplit('/', 1)[-1]}"
        groups, public = list(security_groups or []), scheme != "internal"
        _attach(account, self.region_name, wanted, description, groups, public=public)

        def provisioned() -> None:
            if made.state == "provisioning":
                made.state = "active"

        account.clock.after(durations.seconds("elb.load_balancer.provision"), provisioned)
        return made

    def describe_load_balancers(
        self, arns: list[str] | None, names: list[str] | None
    ) -> list[FakeLoadBalancer]:
        """As moto does, but a description does not make a load balancer active.

        :raises LoadBalancerNotFoundError: for an ARN or name that nothing has.
        """
        found = list(self.load_balancers.values())
        for asked, attribute in ((arns or [], "arn"), (names or [], "name")):
            known = {getattr(balancer, attribute) for balancer in found}
            if set(asked) - known:
                raise LoadBalancerNotFoundError()
        if not arns and not names:
            return found
        return [b for b in found if b.arn in (arns or []) or b.name in (names or [])]

    def delete_load_balancer(self, arn: str) -> None:
        """Delete one; its interfaces vanish some time later.  One that is not there is deleted already.

        :raises AwsError: OperationNotPermitted for one that is protected.
        """
        balancer = self.load_balancers.get(arn)
        if balancer is None:
            return
        if balancer.attrs.get("deletion_protection.enabled") == "true":
            message = f"Load balancer '{arn}' cannot be deleted because deletion protection is enabled"
            raise AwsError("OperationNotPermitted", message)
        description = f"ELB {_KINDS[balancer.type]}/{balancer.name}/{arn.rsplit('/', 1)[-1]}"
        super().delete_load_balancer(arn)
        _release(account_of(self.account_id), self.region_name, description)


class RehearsedELBBackend(ELBBackend):
    """Classic load balancers of one region."""

    @property
    def _url_module(self) -> Any:
        # moto derives it from the class's own module, which has none.
        from moto.elb import urls

        return urls

    def create_load_balancer(
        self,
        name: str,
        zones: list[str],
        ports: list[dict[str, Any]],
        scheme: str = "internet-facing",
        subnets: list[str] | None = None,
        security_groups: list[str] | None = None,
    ) -> Any:
        """Make one, with its interfaces."""
        made = super().create_load_balancer(name, zones, ports, scheme, subnets, security_groups)
        made.dns_name = f"{name}-{secrets.randbelow(10**9)}.{self.region_name}.elb.amazonaws.com"
        account = account_of(self.account_id)
        public = scheme != "internal"
        groups = list(made.security_groups)
        _attach(account, self.region_name, list(made.subnets), f"ELB {name}", groups, public=public)
        return made

    def delete_load_balancer(self, load_balancer_name: str) -> None:
        """Delete one; its interfaces vanish some time later."""
        if load_balancer_name in self.load_balancers:
            super().delete_load_balancer(load_balancer_name)
            _release(account_of(self.account_id), self.region_name, f"ELB {load_balancer_name}")


def _attach(
    account: Any, region: str, subnets: list[str], description: str, groups: list[str], *, public: bool
) -> None:
    """The law "load-balancer-interfaces"."""
    for subnet_id in subnets:
        interface = make_interface(
            account, region, subnet_id, description=description, groups=groups, managed_by="elb"
        )
        if not groups:
            interface._group_set = []
        if public:
            interface.public_ip = f"54.{secrets.randbelow(250) + 1}.{secrets.randbelow(250)}.9"


def _release(account: Any, region: str, description: str) -> None:
    ec2 = ec2_of(account, region)
    held = [each.id for each in ec2.enis.values() if _is_of(each, description)]

    def gone() -> None:
        for interface_id in held:
            remove_interface(account, region, interface_id)

    account.clock.after(durations.seconds("elb.load_balancer.delete"), gone)


def _is_of(interface: Any, description: str) -> bool:
    return isinstance(interface, ServiceInterface) and interface.description == description
