"""NAT gateways: pending, available, deleting, deleted, with their interface and address."""

from __future__ import annotations

from typing import Any

from moto.ec2.exceptions import EC2ClientError
from moto.ec2.models import EC2Backend
from moto.ec2.models.nat_gateways import NatGateway

from mlcc_rehearsal.cloud import durations
from mlcc_rehearsal.cloud.account import account_of
from mlcc_rehearsal.cloud.ec2.interfaces import ServiceInterface, make_interface, remove_interface


class NatGateways(EC2Backend):
    """Gives NAT gateways their time; what they hold is released when they are deleted, not before.

    This is the law "nat-gateway-time".
    """

    def create_nat_gateway(
        self,
        subnet_id: str,
        allocation_id: str,
        tags: dict[str, str] | None = None,
        connectivity_type: str = "public",
    ) -> NatGateway:
        """Begin to make a gateway.

        :raises EC2ClientError: for an address that is in use, or missing for a public gateway.
        """
        self.get_subnet(subnet_id)
        public = (connectivity_type or "public") != "private"
        if public:
            if not allocation_id:
                message = "The request must contain the parameter AllocationId"
                raise EC2ClientError("MissingParameter", message)
            address = self.address_by_allocation([allocation_id])[0]
            if address.association_id:
                message = f"Elastic IP address [{allocation_id}] is already associated"
                raise EC2ClientError("Resource.AlreadyAssociated", message)
        account = account_of(self.account_id)
        gateway: NatGateway = super().create_nat_gateway(subnet_id, allocation_id, tags, connectivity_type)
        self._take_over_interface(gateway)
        gateway.state = "pending"

        def available() -> None:
            if gateway.state == "pending":
                gateway.state = "available"

        account.clock.after(durations.seconds("ec2.nat_gateway.create"), available)
        return gateway

    def _take_over_interface(self, gateway: NatGateway) -> None:
        """Put an interface that knows who holds it in the place of the one that moto made."""
        account = account_of(self.account_id)
        made = gateway._eni
        interface: ServiceInterface = make_interface(
            account,
            self.region_name,
            gateway.subnet_id,
            description=f"Interface for NAT Gateway {gateway.id}",
            groups=[],
            managed_by="nat",
        )
        interface._group_set = []
        interface.public_ip = made.public_ip
        addresses: list[Any] = self.addresses
        for address in addresses:
            if address.eni is made:
                address.eni = interface
        self.enis.pop(made.id, None)
        gateway._eni = interface
        for entry in gateway.address_set:
            entry["networkInterfaceId"] = interface.id
            entry["privateIp"] = interface.private_ip_address
        gateway.private_ip = str(interface.private_ip_address)

    def delete_nat_gateway(self, nat_gateway_id: str) -> NatGateway:
        """Begin to delete a gateway; it stays visible as deleted for about an hour.

        :raises EC2ClientError: NatGatewayNotFound.
        """
        gateway: Any = self.nat_gateways.get(nat_gateway_id)
        if gateway is None or gateway.state == "deleted":
            message = f"The Nat Gateway {nat_gateway_id} was not found"
            raise EC2ClientError("NatGatewayNotFound", message)
        if gateway.state == "deleting":
            return gateway
        gateway.state = "deleting"
        clock = account_of(self.account_id).clock
        clock.after(durations.seconds("ec2.nat_gateway.delete"), lambda: self._gone(gateway))
        return gateway

    def _gone(self, gateway: Any) -> None:
        account = account_of(self.account_id)
        interface = gateway._eni
        for address in self.addresses:
            if address.eni is interface:
                address.eni = None
                address.instance = None
                address.association_id = None
        remove_interface(account, self.region_name, interface.id)
        gateway.state = "deleted"

        def forget() -> None:
            self.nat_gateways.pop(gateway.id, None)
            self.tags.pop(gateway.id, None)

        account.clock.after(durations.seconds("ec2.nat_gateway.forget"), forget, background=True)
