"""s3-endpoint-template.yaml: a gateway endpoint for S3 in all private tables; nobody waits for it."""

from __future__ import annotations

from mlcc_rehearsal.cloud.cloudformation.nested.network import TAG, prefix_of
from mlcc_rehearsal.cloud.cloudformation.parts import Part, Run, Template, at_once
from mlcc_rehearsal.cloud.cloudformation.stacks import Stack
from mlcc_rehearsal.cloud.cloudformation.tasks import Work


def _create_endpoint(run: Run) -> Work:
    parameters = run.stack.parameters
    tables = [
        table
        for key in ("PrivateRouteTableIds", "EksPrivateRouteTableIds")
        for table in parameters[key].split(",")
        if table
    ]
    endpoint = run.ec2.create_vpc_endpoint(
        parameters["VpcId"],
        f"com.amazonaws.{run.region}.s3",
        "Gateway",
        None,
        tables,
        tags=run.tags(**{TAG: f"{prefix_of(run.stack)}-s3-vpc-endpoint"}),
    )
    run.made(endpoint.id)
    yield 10.0


def _delete_endpoint(run: Run) -> None:
    run.ec2.delete_vpc_endpoints([str(run.resource.physical_id)])


def _endpoint_parts(stack: Stack) -> list[Part]:
    properties = {
        key: stack.parameters[key] for key in ("VpcId", "PrivateRouteTableIds", "EksPrivateRouteTableIds")
    }
    return [
        Part(
            "S3Endpoint",
            "AWS::EC2::VPCEndpoint",
            _create_endpoint,
            at_once(_delete_endpoint, 10.0),
            properties=properties,
        )
    ]


S3_ENDPOINT = Template("s3-endpoint-template.yaml", "S3 Endpoint Stack", _endpoint_parts, lambda _: {})
