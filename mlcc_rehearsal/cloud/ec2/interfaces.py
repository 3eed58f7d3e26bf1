"""Network interfaces that services make: of control planes, of nodes, and those that nodes leave behind."""

from __future__ import annotations

import secrets
from types import SimpleNamespace
from typing import Any

from moto.ec2.models.elastic_network_interfaces import NetworkInterface

from mlcc_rehearsal.cloud import durations
from mlcc_rehearsal.cloud.account import RehearsedAccount
from mlcc_rehearsal.cloud.ec2.network import ec2_of

# Accounts that EC2 shows as the owner of an attachment that a service made.
_REQUESTERS = {
    "eks": "amazon-eks",
    "nat": "amazon-vpc",
    "vpce": "amazon-vpc",
    "elb": "amazon-elb",
    "fsx": "amazon-fsx",
    "node": None,
}


class ServiceInterface(NetworkInterface):
    """An interface that a service or a node made; in use until it is released."""

    managed_by: str = "node"
    holder: str | None = None

    def hold(self, managed_by: str, instance_id: str | None) -> None:
        """Mark it as attached, by a service or to an instance."""
        self.managed_by = managed_by
        self.holder = instance_id
        self.status = "in-use"
        self.requester_managed = managed_by != "node"
        self.requester_id = _REQUESTERS[managed_by] or self.ec2_backend.account_id
        self.attachment_id = f"{'ela' if managed_by != 'node' else 'eni'}-attach-{secrets.token_hex(8)}"

    def release(self) -> None:
        """Mark it as available: nothing holds it any more."""
        self.holder = None
        self.attachment_id = None
        self.status = "available"
        self.requester_managed = False

    @property
    def attachment(self) -> Any:
        """What holds the interface, in the shape of DescribeNetworkInterfaces, or None."""
        if self.attachment_id is None:
            return None
        owner = self.ec2_backend.account_id if self.managed_by == "node" else self.requester_id
        return SimpleNamespace(
            attachment_id=self.attachment_id,
            attach_time=self.attach_time,
            delete_on_termination=self.managed_by == "node",
            device_index=1,
            network_card_index=0,
            instance_id=self.holder,
            instance_owner_id=owner,
            status="attached",
        )

    def get_filter_value(self, filter_name: str, method_name: str | None = None) -> Any:
        """Also knows who holds it and its status (filters that moto answers for its own instances only)."""
        if filter_name == "attachment.instance-id":
            return self.holder
        if filter_name in ("status", "requester-id", "interface-type"):
            return getattr(self, filter_name.replace("-", "_"))
        if filter_name == "requester-managed":
            return str(self.requester_managed).lower()
        return super().get_filter_value(filter_name, method_name)


def make_interface(
    account: RehearsedAccount,
    region: str,
    subnet_id: str,
    *,
    description: str,
    groups: list[str],
    managed_by: str,
    instance_id: str | None = None,
    tags: dict[str, str] | None = None,
) -> ServiceInterface:
    """Make an interface that is in use.

    :param managed_by: ``eks``, ``nat``, ``vpce``, ``elb``, ``fsx`` or ``node``.
    :param instance_id: the instance that it is attached to, for nodes.
    """
    ec2 = ec2_of(account, region)
    # moto leaves the CloudFormation half of its own class abstract; these are not made from templates.
    make: Any = ServiceInterface
    interface: ServiceInterface = make(
        ec2, ec2.get_subnet(subnet_id), [], group_ids=groups, description=description, tags=tags or {}
    )
    interface.attach_time = account.clock.timestamp()
    interface.hold(managed_by, instance_id)
    ec2.enis[interface.id] = interface
    return interface


def remove_interface(account: RehearsedAccount, region: str, interface_id: str) -> None:
    """Take an interface away; does nothing when it is gone already."""
    ec2 = ec2_of(account, region)
    interface = ec2.enis.pop(interface_id, None)
    if interface is not None:
        ec2.tags.pop(interface_id, None)


def leave_behind(account: RehearsedAccount, region: str, interface_ids: list[str]) -> None:
    """Release the interfaces of ended nodes; they vanish only after ``ec2.leaked_interface``.

    This is the law "interfaces-outlive-nodes": until then they are available and hold subnets and groups.
    """
    ec2 = ec2_of(account, region)
    for interface_id in interface_ids:
        interface = ec2.enis.get(interface_id)
        if isinstance(interface, ServiceInterface):
            interface.release()

    def collect() -> None:
        for interface_id in interface_ids:
            remove_interface(account, region, interface_id)

    account.clock.after(durations.seconds("ec2.leaked_interface"), collect)
