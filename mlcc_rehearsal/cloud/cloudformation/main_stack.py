"""Stacks that nest others: each made when its inputs are there; then the outputs whose conditions hold.

These are the main stack, and the inference add-on's, which is nested in it and nests more.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mlcc_rehearsal.cloud import laws_hyperpod
from mlcc_rehearsal.cloud.cloudformation import addresses
from mlcc_rehearsal.cloud.cloudformation.contract import ADDON_MAIN, MAIN, Contract, at, load
from mlcc_rehearsal.cloud.cloudformation.expressions import Scope, used_stacks
from mlcc_rehearsal.cloud.cloudformation.nested.catalogue import NO_PROFILE_ASKS, TEMPLATES
from mlcc_rehearsal.cloud.cloudformation.nested.hyperpod import HYPERPOD_CLUSTER
from mlcc_rehearsal.cloud.cloudformation.nested.observability import PARTS as OBSERVABILITY
from mlcc_rehearsal.cloud.cloudformation.parts import Part, Run, Template, at_once, nothing
from mlcc_rehearsal.cloud.cloudformation.stacks import STACK_TYPE, Stack
from mlcc_rehearsal.cloud.cloudformation.tasks import ResourceFailed, Work
from mlcc_rehearsal.cloud.errors import AwsError

_HANDLE, _CONDITION = "AWS::CloudFormation::WaitConditionHandle", "AWS::CloudFormation::WaitCondition"


def contract_of(stack: Stack) -> Contract:
    """The contract of a stack that nests others."""
    return at(stack.template_url)


def scope_of(stack: Stack) -> Scope:
    """What names mean in the stack now; outputs of nested stacks that are not there yet are empty."""
    contract = contract_of(stack)

    def output(nested: str, name: str) -> str:
        child = stack.children.get(nested)
        return child.outputs.get(name, "") if child is not None else ""

    return Scope(
        stack.parameters,
        contract.evaluate_conditions(stack.parameters, stack.region),
        {
            "AWS::Region": stack.region,
            "AWS::AccountId": stack.account.account_id,
            "AWS::StackName": stack.name,
        },
        contract.mappings,
        output,
    )


def unresolved(parameters: Mapping[str, str], region: str) -> tuple[str, str] | None:
    """A resource that is made and one it names that is not, or None: CloudFormation refuses such a template.

    This is rule 21 of facts/hyperpod_native.md.
    """
    contract = load()
    conditions = contract.evaluate_conditions(parameters, region)

    def holds(declared: Mapping[str, Any]) -> bool:
        return conditions.get(str(declared.get("Condition", "")), True)

    for name, declared in contract.resources.items():
        if not holds(declared):
            continue
        for text in [*(declared.get("parameters") or {}).values(), *_url(declared)]:
            for used in used_stacks(text, conditions):
                if not holds(contract.resources[used]):
                    return name, used
    return None


def unmodelled(parameters: Mapping[str, str], region: str) -> dict[str, str]:
    """Resources that these parameters ask for and that the rehearsal cannot make, each with the reason."""
    contract = load()
    conditions = contract.evaluate_conditions(parameters, region)
    return {
        name: NO_PROFILE_ASKS.get(str(declared.get("template")), "what it makes is not modelled")
        for name, declared in contract.resources.items()
        if conditions.get(str(declared.get("Condition", "")), True)
        and declared.get("template") not in (*TEMPLATES, ADDON_MAIN)
        and "templateUrl" not in declared
        and name not in OBSERVABILITY
    }


def _url(declared: Mapping[str, Any]) -> list[str]:
    return [declared["templateUrl"]] if "templateUrl" in declared else []


def parts_of(stack: Stack) -> list[Part]:
    """The resources that are made under the stack's parameters."""
    scope = scope_of(stack)
    made = {
        name: declared
        for name, declared in contract_of(stack).resources.items()
        if scope.conditions.get(str(declared.get("Condition", "")), True)
    }
    parts = []
    for name, declared in made.items():
        # A DependsOn on what is not made is no dependency; whether AWS takes it is unverified (rule 21).
        used: set[str] = set(declared.get("DependsOn") or ())
        for text in [*(declared.get("parameters") or {}).values(), *_url(declared)]:
            used |= used_stacks(text, scope.conditions)
        depends = tuple(sorted(used & set(made)))
        if declared["Type"] == STACK_TYPE:
            parts.append(_nested(stack, name, declared, depends, _outlives(declared, scope)))
        elif declared["Type"] in (_HANDLE, _CONDITION):
            parts.append(_waiting(stack, name, declared, depends, scope))
        else:
            parts.append(OBSERVABILITY[name](stack, properties_of_resource(stack, name), depends))
    return parts


def _outlives(declared: Mapping[str, Any], scope: Scope) -> str:
    policy = str(declared.get("DeletionPolicy", "Delete"))
    return str(scope.evaluate(policy)) if policy.startswith("If(") else policy


def _waiting(
    stack: Stack, name: str, declared: Mapping[str, Any], depends: tuple[str, ...], scope: Scope
) -> Part:
    """A wait condition of count 0, or its handle: they pass at once, and only bring an order."""
    handle = (declared.get("properties") or {}).get("Handle")
    if handle is not None:
        condition, held, other = (part.strip() for part in handle[3:-1].split(","))
        depends = (*depends, held if scope.conditions[condition] else other)
    return Part(
        name,
        declared["Type"],
        at_once(lambda run: run.made(f"{stack.id}/{name}"), 2.0),
        nothing,
        depends,
    )


def properties_of_resource(stack: Stack, name: str) -> dict[str, str]:
    """The properties of a resource that is no nested stack, those that are texts, as they come out now."""
    scope = scope_of(stack)
    declared = contract_of(stack).resources[name].get("properties") or {}
    found: dict[str, str] = {}
    for key, text in declared.items():
        if isinstance(text, str) and not text.startswith(("{", "[")):
            try:
                found[key] = str(scope.evaluate(text))
            except ValueError:
                continue  # an attribute of another resource of the stack
    return found


def resolved(stack: Stack, name: str) -> dict[str, Any]:
    """Parameters and address of a nested stack as they come out now: its properties for an update."""
    declared = contract_of(stack).resources[name]
    scope = scope_of(stack)
    values = {key: str(scope.evaluate(text)) for key, text in (declared.get("parameters") or {}).items()}
    if "templateUrl" in declared:
        return {"TemplateURL": str(scope.evaluate(declared["templateUrl"])), "Parameters": values}
    if declared["template"] == ADDON_MAIN:
        values = {**load(ADDON_MAIN).defaults(), **values}
    url = addresses.nested_url(stack.parameters, stack.region, declared["template"])
    return {"TemplateURL": url, "Parameters": values}


def template_of(stack: Stack, name: str) -> Template:
    """The template of a nested stack of a stack."""
    declared = contract_of(stack).resources[name]
    if "templateUrl" in declared:
        return HYPERPOD_CLUSTER
    return INFERENCE_ADDON if declared["template"] == ADDON_MAIN else TEMPLATES[declared["template"]]


def _nested(
    stack: Stack, name: str, declared: Mapping[str, Any], depends: tuple[str, ...], deletion_policy: str
) -> Part:
    from mlcc_rehearsal.cloud.cloudformation import lifecycle

    del declared
    template = template_of(stack, name)

    def create(run: Run) -> Work:
        properties = resolved(stack, name)
        run.resource.properties = {**run.resource.properties, **properties}
        _readable(stack, properties["TemplateURL"], template)
        yield from lifecycle.create_nested(run, template, properties)

    def update(run: Run, before: dict[str, Any]) -> Work:
        del before
        yield from lifecycle.update_nested(run, template, run.resource.properties)

    return Part(
        name,
        STACK_TYPE,
        create,
        lifecycle.delete_nested,
        depends,
        {},
        update=update,
        tagged=True,
        deletion_policy=deletion_policy,
    )


def _readable(stack: Stack, url: str, template: Template) -> None:
    """A nested template, and the functions' code beside it, must be readable where the address says."""
    try:
        addresses.check_readable(stack.account, url)
        for artifact in template.artifacts:
            base = url.rsplit("/templates/", 1)[0]
            addresses.check_readable(stack.account, f"{base}/resources/artifacts/{artifact}")
    except AwsError as refused:
        raise laws_hyperpod.TEMPLATE_URL.broken(ResourceFailed(str(refused.message))) from refused


def outputs_of(stack: Stack) -> dict[str, str]:
    """Outputs whose conditions hold, in the contract's order."""
    scope = scope_of(stack)
    return {
        name: str(_output(stack, scope, str(declared["Value"])))
        for name, declared in contract_of(stack).outputs.items()
        if scope.conditions.get(declared.get("Condition", ""), True)
    }


def _output(stack: Stack, scope: Scope, text: str) -> Any:
    resource, _, attribute = text.partition(".")
    if resource in OBSERVABILITY:
        return stack.resources[resource].attributes[attribute]
    return scope.evaluate(text)


MAIN_TEMPLATE = Template(MAIN, "", parts_of, outputs_of, named_roles=True)
INFERENCE_ADDON = Template(
    ADDON_MAIN,
    "SageMaker HyperPod Inference Operator Add-on Main Stack",
    parts_of,
    outputs_of,
    named_roles=True,
)
