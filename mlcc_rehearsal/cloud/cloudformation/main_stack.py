"""The main stack: nested stacks made as their inputs are there, with the outputs whose conditions hold."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mlcc_rehearsal.cloud import laws_hyperpod
from mlcc_rehearsal.cloud.cloudformation import addresses
from mlcc_rehearsal.cloud.cloudformation.contract import MAIN, load
from mlcc_rehearsal.cloud.cloudformation.expressions import Scope, used_stacks
from mlcc_rehearsal.cloud.cloudformation.nested.catalogue import TEMPLATES
from mlcc_rehearsal.cloud.cloudformation.nested.hyperpod import HYPERPOD_CLUSTER
from mlcc_rehearsal.cloud.cloudformation.parts import Part, Run, Template
from mlcc_rehearsal.cloud.cloudformation.stacks import STACK_TYPE, Stack
from mlcc_rehearsal.cloud.cloudformation.tasks import ResourceFailed, Work
from mlcc_rehearsal.cloud.errors import AwsError


def scope_of(stack: Stack) -> Scope:
    """What names mean in the stack now; outputs of nested stacks that are not there yet are empty."""
    contract = load()

    def output(nested: str, name: str) -> str:
        child = stack.children.get(nested)
        return child.outputs.get(name, "") if child is not None else ""

    return Scope(
        stack.parameters,
        contract.evaluate_conditions(stack.parameters, stack.region),
        {"AWS::Region": stack.region, "AWS::AccountId": stack.account.account_id},
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


def unmodelled(parameters: Mapping[str, str], region: str) -> list[str]:
    """Resources that these parameters ask for and that the rehearsal cannot make."""
    contract = load()
    conditions = contract.evaluate_conditions(parameters, region)
    return [
        name
        for name, declared in contract.resources.items()
        if conditions.get(str(declared.get("Condition", "")), True)
        and not (declared.get("template") in TEMPLATES or "templateUrl" in declared)
    ]


def _url(declared: Mapping[str, Any]) -> list[str]:
    return [declared["templateUrl"]] if "templateUrl" in declared else []


def parts_of(stack: Stack) -> list[Part]:
    """The nested stacks that are made under the stack's parameters."""
    contract = load()
    scope = scope_of(stack)
    made = {
        name: declared
        for name, declared in contract.resources.items()
        if scope.conditions.get(str(declared.get("Condition", "")), True)
    }
    parts = []
    for name, declared in made.items():
        used: set[str] = set(declared.get("DependsOn") or ())
        for text in [*(declared.get("parameters") or {}).values(), *_url(declared)]:
            used |= used_stacks(text, scope.conditions)
        parts.append(_nested(stack, name, declared, tuple(sorted(used & set(made)))))
    return parts


def resolved(stack: Stack, name: str) -> dict[str, Any]:
    """Parameters and address of a nested stack as they come out now: its properties for an update."""
    declared = load().resources[name]
    scope = scope_of(stack)
    values = {key: str(scope.evaluate(text)) for key, text in (declared.get("parameters") or {}).items()}
    if "templateUrl" in declared:
        return {"TemplateURL": str(scope.evaluate(declared["templateUrl"])), "Parameters": values}
    url = addresses.nested_url(stack.parameters, stack.region, declared["template"])
    return {"TemplateURL": url, "Parameters": values}


def template_of(name: str) -> Template:
    """The template of a nested stack of the main stack."""
    declared = load().resources[name]
    return HYPERPOD_CLUSTER if "templateUrl" in declared else TEMPLATES[declared["template"]]


def _nested(stack: Stack, name: str, declared: Mapping[str, Any], depends: tuple[str, ...]) -> Part:
    from mlcc_rehearsal.cloud.cloudformation import lifecycle

    template = template_of(name)

    def create(run: Run) -> Work:
        properties = resolved(stack, name)
        run.resource.properties = {**run.resource.properties, **properties}
        _readable(stack, properties["TemplateURL"], template)
        yield from lifecycle.create_nested(run, template, properties)

    def update(run: Run, before: dict[str, Any]) -> Work:
        del before
        yield from lifecycle.update_nested(run, template, run.resource.properties)

    return Part(name, STACK_TYPE, create, lifecycle.delete_nested, depends, {}, update=update, tagged=True)


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
        name: str(scope.evaluate(declared["Value"]))
        for name, declared in load().outputs.items()
        if scope.conditions.get(declared.get("Condition", ""), True)
    }


MAIN_TEMPLATE = Template(MAIN, "", parts_of, outputs_of, named_roles=True)
