"""VPC endpoints: interface endpoints take time to come and go, gateway endpoints do not."""

from __future__ import annotations

from functools import partial
from typing import Any

from moto.ec2.models import EC2Backend

from mlcc_rehearsal.cloud import durations
from mlcc_rehearsal.cloud.account import account_of
from mlcc_rehearsal.cloud.ec2.interfaces import make_interface, remove_interface


class Endpoints(EC2Backend):
    """Gives interface endpoints their interfaces and their time."""

    def create_vpc_endpoint(self, *args: Any, **kwargs: Any) -> Any:
        """As moto does; an interface endpoint is pending first, and its interfaces are its own."""
        endpoint = super().create_vpc_endpoint(*args, **kwargs)
        endpoint.state = "available"
        if str(endpoint.vpc_endpoint_type or "Gateway").lower() != "interface":
            return endpoint
        account = account_of(self.account_id)
        for interface_id in endpoint.network_interface_ids or []:
            self.enis.pop(interface_id, None)
        endpoint.network_interface_ids = [
            make_interface(
                account,
                self.region_name,
                subnet_id,
                description=f"VPC Endpoint Interface {endpoint.id}",
                groups=list(endpoint.security_group_ids or []),
                managed_by="vpce",
            ).id
            for subnet_id in endpoint.subnet_ids or []
        ]
        endpoint.state = "pending"

        def available() -> None:
            if endpoint.state == "pending":
                endpoint.state = "available"

        account.clock.after(durations.seconds("ec2.vpc_endpoint.create"), available)
        return endpoint

    def delete_vpc_endpoints(self, vpce_ids: list[str] | None = None) -> None:
        """Gateway endpoints go at once; interface endpoints are deleting first.  Unknown ids are ignored."""
        account = account_of(self.account_id)
        gateways = []
        for vpce_id in vpce_ids or []:
            endpoint = self.vpc_end_points.get(vpce_id)
            if endpoint is None:
                continue
            if str(endpoint.vpc_endpoint_type or "Gateway").lower() != "interface":
                gateways.append(vpce_id)
                continue
            endpoint.state = "deleting"
            gone = partial(self._endpoint_gone, endpoint)
            account.clock.after(durations.seconds("ec2.vpc_endpoint.delete"), gone)
        for vpce_id in gateways:
            endpoint = self.vpc_end_points[vpce_id]
            endpoint.vpc_endpoint_type = endpoint.vpc_endpoint_type or "Gateway"
            for table_id in endpoint.route_table_ids or []:
                table = self.route_tables.get(table_id)
                if table is not None:
                    for route_id, route in list(table._routes.items()):
                        if route.gateway_id == vpce_id:
                            del table._routes[route_id]
            self._endpoint_gone(endpoint)

    def _endpoint_gone(self, endpoint: Any) -> None:
        account = account_of(self.account_id)
        for interface_id in endpoint.network_interface_ids or []:
            remove_interface(account, self.region_name, interface_id)
        self.vpc_end_points.pop(endpoint.id, None)
        self.tags.pop(endpoint.id, None)
