"""moto's EC2 with the dependencies and the time that AWS has."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from moto.core.resource_tagging import TaggedResource
from moto.ec2.exceptions import EC2ClientError
from moto.ec2.models import EC2Backend

from mlcc_rehearsal.cloud import laws
from mlcc_rehearsal.cloud.account import account_of, find_account
from mlcc_rehearsal.cloud.ec2.dependencies import Dependencies
from mlcc_rehearsal.cloud.ec2.endpoints import Endpoints
from mlcc_rehearsal.cloud.ec2.nat_gateways import NatGateways
from mlcc_rehearsal.cloud.ec2.rules import Rules

_MOST_TAGS, _LONGEST_KEY, _LONGEST_VALUE = 50, 127, 255


class RehearsedEC2Backend(Rules, Dependencies, NatGateways, Endpoints, EC2Backend):
    """EC2 of one region of a rehearsed account."""

    @property
    def _url_module(self) -> Any:
        # moto derives it from the class's own module, which has none.
        from moto.ec2 import urls

        return urls

    @property
    def account(self) -> Any:
        """The rehearsed account; :raises KeyError: when no cloud runs for it."""
        return account_of(self.account_id)

    def create_subnet(self, vpc_id: str, *arguments: Any, **named: Any) -> Any:
        """A subnet gives public addresses only when asked to, unless it is a default one.

        moto takes the first subnet of a zone for a default one, and one made by zone id has no zone yet.
        Source: VPC user guide, "Modify the IP addressing attributes of your subnet".
        """
        zone_id = named.get("availability_zone_id")
        if zone_id and not named.get("availability_zone"):
            zones = {zone.zone_id: zone.name for zone in self.describe_availability_zones()}
            if zone_id in zones:
                named = {**named, "availability_zone": zones[zone_id], "availability_zone_id": None}
        subnet = super().create_subnet(vpc_id, *arguments, **named)
        if not self.get_vpc(vpc_id).is_default:
            subnet.default_for_az = False
            subnet.map_public_ip_on_launch = False
        return subnet

    def iter_tagged_resources(self) -> Iterator[TaggedResource]:
        """Also elastic addresses and VPC endpoints, which moto leaves out."""
        yield from super().iter_tagged_resources()
        further: list[tuple[str, Iterable[Any]]] = [
            ("elastic-ip", self.addresses),
            ("vpc-endpoint", self.vpc_end_points.values()),
        ]
        for kind, resources in further:
            for resource in resources:
                yield TaggedResource(
                    arn=f"arn:{self.partition}:ec2:{self.region_name}:{self.account_id}:{kind}/{resource.id}",
                    tags=dict(self.tags.get(resource.id, {})),
                    resource_type=f"ec2:{kind}",
                )

    def create_tags(self, resource_ids: list[str], tags: dict[str, str]) -> bool:
        """Also keeps the lengths of keys and values, and refuses the reserved prefix from callers."""
        for key, value in tags.items():
            if len(key) > _LONGEST_KEY:
                message = f"Tag key exceeds the maximum length of {_LONGEST_KEY} characters"
                raise laws.EC2_TAGS.broken(EC2ClientError("InvalidParameterValue", message))
            if len(value or "") > _LONGEST_VALUE:
                message = f"Tag value exceeds the maximum length of {_LONGEST_VALUE} characters"
                raise laws.EC2_TAGS.broken(EC2ClientError("InvalidParameterValue", message))
        if find_account(self.account_id) is not None and _asked_by_caller("CreateTags"):
            reserved = [key for key in tags if key.lower().startswith("aws:")]
            if reserved:
                message = f"Tag keys starting with 'aws:' are reserved for internal use: {reserved[0]}"
                raise laws.EC2_TAGS.broken(EC2ClientError("InvalidParameterValue", message))
        return bool(super().create_tags(resource_ids, tags))


def _asked_by_caller(operation: str) -> bool:
    from mlcc_rehearsal.cloud.account import current_request

    request = current_request.get()
    return request is not None and request.service == "ec2" and request.operation == operation
