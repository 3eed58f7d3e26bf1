"""File systems of FSx for Lustre, as AWS's template makes them; moto answers the rest of the service.

moto's file systems have no state, no mount name and no interfaces.  Sources: Amazon FSx API reference,
FileSystem; FSx for Lustre user guide, 'File system access control with Amazon VPC' (interfaces in the
subnet).
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from typing import Any

from moto.fsx.models import FileSystem, fsx_backends

from mlcc_rehearsal.cloud.account import RehearsedAccount
from mlcc_rehearsal.cloud.ec2.interfaces import make_interface, remove_interface
from mlcc_rehearsal.cloud.ec2.network import ec2_of


class LustreFileSystem(FileSystem):
    """A file system with its interface, which keeps its subnet and group from being deleted.

    :ivar lifecycle: CREATING, AVAILABLE or DELETING.
    """

    def __init__(
        self,
        account: RehearsedAccount,
        region: str,
        *,
        capacity: int,
        subnet: str,
        group: str,
        settings: Mapping[str, Any],
        version: str,
        tags: Mapping[str, str],
    ) -> None:
        backend = fsx_backends[account.account_id][region]
        super().__init__(
            account_id=account.account_id,
            region_name=region,
            file_system_type="LUSTRE",
            storage_capacity=capacity,
            storage_type="SSD",
            subnet_ids=[subnet],
            security_group_ids=[group],
            tags=[{"Key": key, "Value": value} for key, value in tags.items()],
            kms_key_id=None,
            windows_configuration=None,
            lustre_configuration={**settings, "MountName": secrets.token_hex(4)},
            ontap_configuration=None,
            open_zfs_configuration=None,
            backend=backend,
        )
        self.lifecycle = "CREATING"
        self._version = version
        self._account, self._region = account, region
        self._vpc = str(ec2_of(account, region).get_subnet(subnet).vpc_id)
        self._interface = make_interface(
            account,
            region,
            subnet,
            description=f"Created By Amazon FSx: {self.file_system_id}",
            groups=[group],
            managed_by="fsx",
        ).id
        backend.file_systems[self.file_system_id] = self

    def to_dict(self) -> dict[str, Any]:
        """As DescribeFileSystems answers it."""
        return {
            **super().to_dict(),
            "Lifecycle": self.lifecycle,
            "VpcId": self._vpc,
            "NetworkInterfaceIds": [self._interface],
            "FileSystemTypeVersion": self._version,
        }

    def gone(self) -> None:
        """Take it away with its interface."""
        self.backend.file_systems.pop(self.file_system_id, None)
        remove_interface(self._account, self._region, self._interface)
