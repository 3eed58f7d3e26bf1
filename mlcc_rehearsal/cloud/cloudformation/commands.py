"""CreateStack, UpdateStack, DeleteStack and what else changes a stack."""

from __future__ import annotations

from typing import Any

from mlcc_rehearsal.cloud import laws_hyperpod
from mlcc_rehearsal.cloud.account import caller
from mlcc_rehearsal.cloud.cloudformation import lifecycle, updating, validation
from mlcc_rehearsal.cloud.cloudformation.main_stack import MAIN_TEMPLATE
from mlcc_rehearsal.cloud.cloudformation.models import RehearsedCloudFormationBackend, missing
from mlcc_rehearsal.cloud.cloudformation.operations import operation
from mlcc_rehearsal.cloud.cloudformation.stacks import Stack, stack_id
from mlcc_rehearsal.cloud.errors import AwsError

DESCRIPTION = "EKS Based SageMaker HyperPod Cluster Main Stack"


def flag(value: Any) -> bool:
    """A boolean of the query protocol."""
    return str(value).lower() == "true"


def principal_for(backend: RehearsedCloudFormationBackend, role_arn: str | None) -> str | None:
    """Who calls the services: a session of the service role, or the caller."""
    if role_arn is None:
        return caller()
    name = role_arn.rsplit("/", 1)[-1]
    return f"arn:{backend.partition}:sts::{backend.account_id}:assumed-role/{name}/AWSCloudFormation"


@operation("CreateStack")
def create_stack(
    backend: RehearsedCloudFormationBackend, parameters: dict[str, Any]
) -> dict[str, Any] | None:
    """Begin to make a stack; other templates than AWS's are moto's."""
    name = parameters["StackName"]
    validation.check_name(name)
    native = validation.check_template(backend, parameters)
    if backend.name_taken(name):
        raise laws_hyperpod.STACK_EXISTS.broken(
            AwsError("AlreadyExistsException", f"Stack [{name}] already exists")
        )
    if not native:
        return None
    stack = new_stack(backend, parameters)
    backend.native[stack.id] = stack
    stack.set_status("CREATE_IN_PROGRESS", "User Initiated")
    lifecycle.start(stack, lifecycle.create_root(stack, MAIN_TEMPLATE))
    return {"StackId": stack.id}


def new_stack(backend: RehearsedCloudFormationBackend, parameters: dict[str, Any]) -> Stack:
    """A stack for checked parameters of CreateStack or CreateChangeSet; nothing is begun."""
    values = validation.parameters_of(parameters.get("Parameters"))
    capabilities = list(parameters.get("Capabilities") or [])
    validation.check_capabilities(capabilities)
    validation.check_resources(values, backend.region_name)
    name, account = parameters["StackName"], backend.account
    on_failure = parameters.get("OnFailure") or "ROLLBACK"
    if flag(parameters.get("DisableRollback")):
        on_failure = "DO_NOTHING"
    role_arn = parameters.get("RoleARN")
    timeout = parameters.get("TimeoutInMinutes")
    return Stack(
        account,
        backend.region_name,
        name,
        stack_id(account, backend.region_name, name),
        parameters["TemplateURL"],
        values,
        validation.check_tags(parameters.get("Tags")),
        capabilities,
        principal_for(backend, role_arn),
        account.clock.timestamp(),
        description=DESCRIPTION,
        policy=validation.check_policy(parameters.get("StackPolicyBody")),
        termination_protection=flag(parameters.get("EnableTerminationProtection")),
        on_failure=on_failure,
        role_arn=role_arn,
        timeout_minutes=int(timeout) if timeout else None,
        notification_arns=list(parameters.get("NotificationARNs") or []),
        token=parameters.get("ClientRequestToken"),
    )


def root_or_none(backend: RehearsedCloudFormationBackend, name_or_id: str) -> Stack | None:
    """The native stack that a command is about, or None when it is moto's.

    :raises AwsError: ValidationError for a nested stack, which only its root changes.
    """
    return backend.find_native(name_or_id)


@operation("UpdateStack")
def update_stack(
    backend: RehearsedCloudFormationBackend, parameters: dict[str, Any]
) -> dict[str, Any] | None:
    """Begin to change a stack."""
    stack = root_or_none(backend, parameters["StackName"])
    if stack is None:
        validation.check_body(parameters)
        return None
    updating.check_updatable(stack)
    url = stack.template_url
    if not flag(parameters.get("UsePreviousTemplate")):
        if not validation.check_template(backend, parameters):
            raise validation.invalid(
                "the rehearsal cloud updates stacks of AWS's HyperPod template to that template only"
            )
        url = parameters["TemplateURL"]
    change = updating.change_of(
        stack,
        url,
        validation.parameters_of(parameters.get("Parameters"), stack.parameters),
        validation.check_tags(parameters["Tags"]) if "Tags" in parameters else stack.tags,
    )
    validation.check_capabilities(list(parameters.get("Capabilities") or []))
    validation.check_resources(change.parameters, backend.region_name)
    if change.nothing:
        raise laws_hyperpod.NO_UPDATES.broken(validation.invalid("No updates are to be performed."))
    if parameters.get("StackPolicyBody"):
        stack.policy = validation.check_policy(parameters["StackPolicyBody"])
    policy = validation.check_policy(parameters.get("StackPolicyDuringUpdateBody")) or stack.policy
    updating.begin(stack, change, principal_for(backend, parameters.get("RoleARN") or stack.role_arn), policy)
    return {"StackId": stack.id}


@operation("DeleteStack")
def delete_stack(
    backend: RehearsedCloudFormationBackend, parameters: dict[str, Any]
) -> dict[str, Any] | None:
    """Begin to delete a stack; a stack that is not there is deleted already."""
    stack = root_or_none(backend, parameters["StackName"])
    if stack is None:
        return None
    if stack.status == "DELETE_COMPLETE" or stack.status == "DELETE_IN_PROGRESS":
        return {}
    if stack.root.termination_protection:
        message = f"Stack [{stack.name}] cannot be deleted while TerminationProtection is enabled"
        raise laws_hyperpod.TERMINATION_PROTECTION.broken(validation.invalid(message))
    if stack.in_progress and stack.status != "CREATE_IN_PROGRESS":
        message = f"Stack [{stack.name}] cannot be deleted while in status {stack.status}"
        raise laws_hyperpod.STACK_STATE.broken(validation.invalid(message))
    retained = list(parameters.get("RetainResources") or [])
    forced = parameters.get("DeletionMode") == "FORCE_DELETE_STACK"
    if (retained or forced) and stack.status != "DELETE_FAILED":
        message = (
            f"Invalid operation on stack [{stack.id}]. RetainResources and FORCE_DELETE_STACK can only be "
            f"used when "
            f"the stack is in DELETE_FAILED state; it is in {stack.status}"
        )
        raise laws_hyperpod.RETAIN_STATE.broken(validation.invalid(message))
    unknown = [name for name in retained if name not in stack.resources]
    if unknown:
        raise laws_hyperpod.RETAIN_STATE.broken(
            validation.invalid(f"Resources {unknown} do not exist in the stack")
        )
    if forced:
        retained = [name for name, each in stack.resources.items() if each.status == "DELETE_FAILED"]
        stack.deletion_mode = "FORCE_DELETE_STACK"
    if stack.status == "CREATE_IN_PROGRESS":
        lifecycle.cancel_nested(stack)
    stack.token = parameters.get("ClientRequestToken")
    stack.set_status("DELETE_IN_PROGRESS", "User Initiated")
    lifecycle.start(stack, lifecycle.delete_root(stack, retained))
    return {}


@operation("SetStackPolicy")
def set_stack_policy(
    backend: RehearsedCloudFormationBackend, parameters: dict[str, Any]
) -> dict[str, Any] | None:
    """Give a stack a policy."""
    stack = backend.find_native(parameters["StackName"])
    if stack is None:
        return None
    stack.policy = validation.check_policy(parameters.get("StackPolicyBody"))
    return {}


@operation("UpdateTerminationProtection")
def update_termination_protection(
    backend: RehearsedCloudFormationBackend, parameters: dict[str, Any]
) -> dict[str, Any] | None:
    """Switch termination protection; also for moto's stacks, which lack the operation."""
    wanted = flag(parameters["EnableTerminationProtection"])
    stack = backend.find_native(parameters["StackName"])
    if stack is not None:
        stack.termination_protection = wanted
        return {"StackId": stack.id}
    for other in backend.stacks.values():
        if parameters["StackName"] in (other.name, other.stack_id):
            other.enable_termination_protection = wanted
            return {"StackId": other.stack_id}
    raise missing(parameters["StackName"])


@operation("ContinueUpdateRollback")
def continue_update_rollback(
    backend: RehearsedCloudFormationBackend, parameters: dict[str, Any]
) -> dict[str, Any] | None:
    """Go on with a rollback that failed, skipping resources."""
    stack = backend.find_native(parameters["StackName"])
    if stack is None:
        raise missing(parameters["StackName"])
    updating.continue_rollback(stack, list(parameters.get("ResourcesToSkip") or []))
    return {}


@operation("CancelUpdateStack")
def cancel_update_stack(
    backend: RehearsedCloudFormationBackend, parameters: dict[str, Any]
) -> dict[str, Any] | None:
    """Stop an update; the stack rolls back."""
    stack = backend.find_native(parameters["StackName"])
    if stack is None:
        raise missing(parameters["StackName"])
    updating.cancel(stack)
    return {}
