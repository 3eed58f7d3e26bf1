"""What the nested network templates have in common: tags, tables, routes, subnets.

The tag's key is misspelt upstream.
"""

from __future__ import annotations

from mlcc_rehearsal.cloud import laws_hyperpod
from mlcc_rehearsal.cloud.cloudformation.parts import Run, retrying, wait
from mlcc_rehearsal.cloud.cloudformation.stacks import Stack
from mlcc_rehearsal.cloud.cloudformation.tasks import Work, handler_failed
from mlcc_rehearsal.cloud.ec2.network import find_subnet

TAG = "aws-sagemaker-hyperpod-prerequiste"
MOST_ZONES = 5


def zones(stack: Stack) -> list[str]:
    """The zone ids of a stack's parameter, at most five; empty places are skipped from the end."""
    return [zone for zone in stack.parameters["AvailabilityZoneIds"].split(",")[:MOST_ZONES] if zone]


def prefix_of(stack: Stack) -> str:
    """The stack's ResourceNamePrefix."""
    return stack.parameters["ResourceNamePrefix"]


def octets(cidr: str) -> str:
    """The first two octets of a block: all of it that the templates use."""
    return ".".join(cidr.split(".")[:2])


def create_table(run: Run, vpc: str, name: str) -> None:
    """Make a route table of a VPC, named by the template's tag."""
    tags = run.tags(**{TAG: f"{prefix_of(run.stack)}-{name}"})
    run.made(run.ec2.create_route_table(vpc, [{"Key": k, "Value": v} for k, v in tags.items()]).id)


def delete_table(run: Run) -> Work:
    """Delete a route table."""
    table = run.resource.physical_id
    if table in run.ec2.route_tables:
        yield from retrying(lambda: run.ec2.delete_route_table(table))
    yield 2.0


def route(run: Run, table: str, *, gateway: str | None = None, nat: str | None = None) -> None:
    """Give a table its default route."""
    run.ec2.create_route(table, "0.0.0.0/0", gateway_id=gateway, nat_gateway_id=nat)
    run.made(f"{table}|0.0.0.0/0")


def unroute(run: Run) -> None:
    """Take a table's default route away."""
    table = str(run.resource.physical_id).split("|", 1)[0]
    if table in run.ec2.route_tables and any(
        route.destination_cidr_block == "0.0.0.0/0" for route in run.ec2.route_tables[table].routes
    ):
        run.ec2.delete_route(table, "0.0.0.0/0")


def create_subnet(
    run: Run, vpc: str, zone: str, cidr: str, tags: dict[str, str], *, public: bool = False
) -> Work:
    """Make a subnet in a zone by its id; :raises ResourceFailed: for an id of another region."""
    known = {each.zone_id for each in run.ec2.describe_availability_zones()}
    if zone not in known:
        message = (
            f"Value ({zone}) for parameter availabilityZoneId is invalid. "
            f"Subnets can currently only be created in the following availability zones: "
            f"{', '.join(sorted(known))}."
        )
        raise laws_hyperpod.ZONE_IDS.broken(
            handler_failed(f"{message} (Service: Ec2, Status Code: 400)", "InvalidRequest")
        )
    subnet = run.ec2.create_subnet(
        vpc, cidr, availability_zone=None, availability_zone_id=zone, tags={"subnet": run.tags(**tags)}
    )
    subnet.map_public_ip_on_launch = public
    run.made(subnet.id, zone=zone)
    yield from wait("cloudformation.subnet")


def delete_subnet(run: Run) -> Work:
    """Delete a subnet, waiting for what others have in it."""
    subnet_id = str(run.resource.physical_id)
    if find_subnet(run.account, run.region, subnet_id) is not None:
        yield from retrying(lambda: run.ec2.delete_subnet(subnet_id))
    yield 2.0


def associate(run: Run, table: str, subnet: str) -> None:
    """Let a subnet use a table."""
    run.made(run.ec2.associate_route_table(table, subnet_id=subnet))


def disassociate(run: Run) -> None:
    """End such an association."""
    association = run.resource.physical_id
    if any(association in table._associations for table in run.ec2.route_tables.values()):
        run.ec2.disassociate_route_table(association)


def retag(run: Run, before: dict[str, object]) -> Work:
    """Give a thing of EC2 the stack's tags as they are now."""
    del before
    run.ec2.create_tags([str(run.resource.physical_id)], run.tags())
    yield 5.0
