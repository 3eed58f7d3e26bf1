"""Lambda functions of custom resources: a name, an environment, a log group.

They are not run: what a function does in AWS's template, the custom resource's own action does here.  Names
are fixed by the prefix, so a second stack with the same prefix in a region collides.
"""

from __future__ import annotations

from moto.cloudformation.models import cloudformation_backends

from mlcc_rehearsal.cloud import laws_hyperpod, log_groups
from mlcc_rehearsal.cloud.cloudformation.parts import Part, Run, at_once
from mlcc_rehearsal.cloud.cloudformation.stacks import Stack, generated_name
from mlcc_rehearsal.cloud.cloudformation.tasks import ResourceFailed, Work, custom_failed, handler_failed

# Source: AWS Lambda developer guide, quotas: environment variables, 4 KB in aggregate.
LARGEST_ENVIRONMENT = 4096


def function(
    logical_id: str, name: str | None, depends: tuple[str, ...], environment: dict[str, str] | None = None
) -> Part:
    """A function called ``name``, or by a name that CloudFormation makes up, with an environment."""
    properties = {**({"FunctionName": name} if name else {}), "Environment": environment or {}}

    def check() -> None:
        size = sum(len(k.encode()) + len(v.encode()) for k, v in (environment or {}).items())
        if size > LARGEST_ENVIRONMENT:
            message = (
                "Lambda was unable to configure your environment variables because the environment variables "
                "you have provided exceeded the 4KB limit. String measured: "
                f"{size} (Service: Lambda, Status Code: 400, Request ID: rehearsed)"
            )
            raise laws_hyperpod.FUNCTION_ENVIRONMENT.broken(handler_failed(message, "InvalidRequest"))

    def create(run: Run) -> Work:
        check()
        functions = _functions(run)
        called = name or generated_name(run.stack, logical_id)
        if called in functions:
            message = (
                f"Function already exist: {called} (Service: Lambda, Status Code: 409, Request ID: rehearsed)"
            )
            raise laws_hyperpod.STACK_PREFIX.broken(handler_failed(message, "AlreadyExists"))
        functions.add(called)
        run.made(called, Arn=f"arn:aws:lambda:{run.region}:{run.account.account_id}:function:{called}")
        yield 15.0

    def update(run: Run, before: dict[str, object]) -> Work:
        del run, before
        check()
        yield 10.0

    def delete(run: Run) -> None:
        _functions(run).discard(str(run.resource.physical_id))

    return Part(
        logical_id,
        "AWS::Lambda::Function",
        create,
        at_once(delete),
        depends,
        properties,
        update=update,
        create_only=("FunctionName",),
        tagged=True,
    )


def _functions(run: Run) -> set[str]:
    backend = cloudformation_backends[run.account.account_id][run.region]
    functions: set[str] = backend.functions  # type: ignore[attr-defined]
    return functions


def unsaid(run: Run) -> ResourceFailed:
    """What CloudFormation is told when a function fails without a reason.

    Source: AWS CloudFormation user guide, 'cfn-response module': the default reason names the log stream.
    """
    stream = f"{run.account.clock.timestamp():%Y/%m/%d}/[$LATEST]rehearsed"
    return custom_failed(f"See the details in CloudWatch Log Stream: {stream}")


def unique(stack: Stack) -> str:
    """The first eight digits of a stack's own id, which AWS's templates put at the end of names."""
    return stack.id.rsplit("/", 1)[-1][:8]


def invoked(run: Run, name: str) -> None:
    """A function ran: its log group is there, also when it was deleted, and its last lines come late."""
    group = f"/aws/lambda/{name}"
    log_groups.write(run.account, run.region, group)
    log_groups.write_last(run.account, run.region, group)


def layer(logical_id: str) -> Part:
    """A layer version."""

    def create(run: Run) -> None:
        run.made(f"arn:aws:lambda:{run.region}:{run.account.account_id}:layer:{logical_id}:1")

    return Part(logical_id, "AWS::Lambda::LayerVersion", at_once(create, 12.0), at_once(lambda run: None))
