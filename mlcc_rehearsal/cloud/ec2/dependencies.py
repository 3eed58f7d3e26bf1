"""What cannot be deleted because something else depends on it, in the words of EC2."""

from __future__ import annotations

from typing import Any

from moto.ec2.exceptions import DependencyViolationError, EC2ClientError
from moto.ec2.models import EC2Backend

from mlcc_rehearsal.cloud import laws
from mlcc_rehearsal.cloud.ec2.interfaces import ServiceInterface


class Dependencies(EC2Backend):
    """Refusals that moto lacks."""

    def delete_subnet(self, subnet_id: str) -> Any:
        """:raises DependencyViolationError: while an interface lies in the subnet."""
        self.get_subnet(subnet_id)
        if any(interface.subnet.id == subnet_id for interface in self.enis.values()):
            message = f"The subnet '{subnet_id}' has dependencies and cannot be deleted."
            raise laws.SUBNET_DEPENDENCY.broken(DependencyViolationError(message))
        for table in self.route_tables.values():
            # Deleting a subnet ends its association with a route table.
            for association, associated in list(table._associations.items()):
                if associated == subnet_id:
                    del table._associations[association]
        return super().delete_subnet(subnet_id)

    def users_of_group(self, group_id: str) -> list[str]:
        """Ids of interfaces that are in the group and of other groups whose rules name it."""
        users = [
            interface.id
            for interface in self.enis.values()
            if any(group.id == group_id for group in interface._group_set)
        ]
        for groups in self.groups.values():
            for group in groups.values():
                rules = [*group.ingress_rules, *group.egress_rules]
                named = {rule.source_group.get("GroupId") for rule in rules}
                if group.id != group_id and group_id in named:
                    users.append(group.id)
        return users

    def drop_security_group(self, group_id: str) -> None:
        """Delete a group without looking at what depends on it (for what a service cleans up itself)."""
        EC2Backend.delete_security_group(self, group_id=group_id)

    def delete_security_group(self, name: str | None = None, group_id: str | None = None) -> None:
        """:raises EC2ClientError: CannotDelete for default groups, DependencyViolation while it is used."""
        group = self.get_security_group_by_name_or_id(group_id or name or "")
        if group is not None:
            if group.name == "default":
                message = f'the specified group: "{group.id}" name: "default" cannot be deleted by a user'
                raise laws.DEFAULT_GROUP.broken(EC2ClientError("CannotDelete", message))
            if self.users_of_group(group.id):
                message = f"resource {group.id} has a dependent object"
                raise laws.GROUP_DEPENDENCY.broken(DependencyViolationError(message))
        super().delete_security_group(name=name, group_id=group_id)

    def delete_vpc(self, vpc_id: str) -> Any:
        """:raises DependencyViolationError: while anything but its defaults is in the VPC."""
        self.get_vpc(vpc_id)
        if self._contents_of_vpc(vpc_id):
            message = f"The vpc '{vpc_id}' has dependencies and cannot be deleted."
            raise laws.VPC_DEPENDENCY.broken(DependencyViolationError(message))
        for group in list(self.groups[vpc_id].values()):
            self.drop_security_group(group.id)
        return super().delete_vpc(vpc_id)

    def _contents_of_vpc(self, vpc_id: str) -> list[str]:
        contents = [s.id for subnets in self.subnets.values() for s in subnets.values() if s.vpc_id == vpc_id]
        contents += [g.id for g in self.internet_gateways.values() if g.vpc and g.vpc.id == vpc_id]
        contents += [g.id for g in self.groups[vpc_id].values() if g.name != "default"]
        contents += [
            t.id for t in self.route_tables.values() if t.vpc_id == vpc_id and not t.main_association_id
        ]
        contents += [
            e.id for e in self.vpc_end_points.values() if e.vpc_id == vpc_id and e.state != "deleted"
        ]
        contents += [i.id for i in self.enis.values() if i.subnet.vpc_id == vpc_id]
        return contents

    def detach_internet_gateway(self, internet_gateway_id: str, vpc_id: str) -> None:
        """:raises DependencyViolationError: while the VPC has mapped public addresses."""
        if any(i.public_ip for i in self.enis.values() if i.subnet.vpc_id == vpc_id):
            message = (
                f"Network {vpc_id} has some mapped public address(es). Please unmap those public "
                "address(es) before "
                "detaching the gateway."
            )
            raise laws.GATEWAY_DEPENDENCY.broken(DependencyViolationError(message))
        super().detach_internet_gateway(internet_gateway_id, vpc_id)

    def delete_internet_gateway(self, internet_gateway_id: str) -> None:
        """:raises DependencyViolationError: while it is attached."""
        gateway = self.get_internet_gateway(internet_gateway_id)
        if gateway.vpc:
            message = f"The internetGateway '{internet_gateway_id}' has dependencies and cannot be deleted."
            raise laws.VPC_DEPENDENCY.broken(DependencyViolationError(message))
        super().delete_internet_gateway(internet_gateway_id)

    def delete_network_interface(self, eni_id: str) -> None:
        """:raises EC2ClientError: InvalidParameterValue while it is in use."""
        interface = self.get_network_interface(eni_id)
        if isinstance(interface, ServiceInterface) and interface.attachment_id is not None:
            message = f"Network interface '{eni_id}' is currently in use."
            raise laws.INTERFACE_IN_USE.broken(EC2ClientError("InvalidParameterValue", message))
        super().delete_network_interface(eni_id)

    def release_address(self, address: str | None = None, allocation_id: str | None = None) -> None:
        """:raises EC2ClientError: InvalidIPAddress.InUse while it is associated."""
        found = (
            self.address_by_ip([address]) if address else self.address_by_allocation([allocation_id or ""])
        )
        if found[0].association_id or found[0].eni:
            message = f"Address {found[0].public_ip} is in use."
            raise laws.ADDRESS_IN_USE.broken(EC2ClientError("InvalidIPAddress.InUse", message))
        super().release_address(address, allocation_id)

    def disassociate_address(self, address: str | None = None, association_id: str | None = None) -> None:
        """:raises EC2ClientError: for an address that a NAT gateway holds."""
        found = (
            self.address_by_ip([address]) if address else self.address_by_association([association_id or ""])
        )
        holder: Any = found[0].eni
        if isinstance(holder, ServiceInterface) and holder.managed_by == "nat" and holder.attachment_id:
            message = "You do not have permission to access the specified resource."
            raise laws.ADDRESS_IN_USE.broken(EC2ClientError("AuthFailure", message))
        super().disassociate_address(address, association_id)
