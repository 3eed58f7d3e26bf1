"""Outputs and inputs of a resource from what the API answered.

Sources: the bridge's ``pkg/tfbridge/schema.go`` (ExtractInputsFromOutputs: a refresh keeps the
inputs there were, with the values found; an import takes every input that is neither zero nor a
default) and terraform-provider-aws's tag interceptors (``tags`` without the provider's default
tags unless the program has them too, ``tagsAll`` with them).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mlcc_rehearsal.plugins.aws import documents
from mlcc_rehearsal.plugins.aws.checking import DEFAULTS, TagSettings
from mlcc_rehearsal.plugins.aws.definition import Definition
from mlcc_rehearsal.plugins.aws.difference import compare, is_empty
from mlcc_rehearsal.plugins.aws.schema import Shape
from mlcc_rehearsal.plugins.values import UNKNOWN, Secret, contains_unknown


def outputs(
    definition: Definition,
    found: Mapping[str, Any],
    prior: Mapping[str, Any],
    tags: TagSettings,
    region: str,
) -> dict[str, Any]:
    """The state of a resource: `found` completed with what only the program knows (`prior`).

    A document that means the same as the prior one, and a set in another order, keep their prior form.
    """
    shape = definition.shape
    state = {key: value for key, value in found.items() if value is not None and key != "tags"}
    unknown = sorted(set(state) - set(shape.outputs.fields) - set(shape.inputs.fields))
    if unknown:
        raise KeyError(f"{definition.token} has no output {', '.join(unknown)}")
    for path in definition.unread:
        _keep(state, prior, path.split("."))
        if path in definition.defaults and "." not in path:  # an import knows no program
            state.setdefault(path, definition.defaults[path])
    for key, value in list(state.items()):
        if key in prior and key in shape.inputs.fields:
            state[key] = _prior_form(definition, shape.inputs.fields[key], value, prior[key], key)
    if "tagsAll" in shape.outputs.fields and "tags" in found:
        state.update(_tags(found["tags"] or {}, prior, tags))
    if "region" in shape.outputs.fields:
        state.setdefault("region", region)
    return state


def _keep(state: dict[str, Any], prior: Mapping[str, Any], parts: list[str]) -> None:
    head, *rest = parts
    if head not in prior:
        return
    if not rest:
        state[head] = prior[head]
    elif isinstance(prior[head], Mapping) and isinstance(state.get(head), dict):
        _keep(state[head], prior[head], rest)


def _prior_form(definition: Definition, shape: Shape, value: Any, prior: Any, path: str) -> Any:
    if path in definition.policies:
        return prior if documents.same_policy(prior, value) else value
    if path in definition.json:
        return prior if documents.same_json(prior, value) else value
    if path in definition.same and prior is not None and definition.same[path](value, prior):
        return prior
    if shape.kind == "list" and isinstance(value, list) and isinstance(prior, list):
        if all(isinstance(item, str) for item in (*value, *prior)) and path not in definition.ordered:
            return _same_order(value, prior)
        return value
    if shape.kind == "object" and isinstance(value, Mapping) and isinstance(prior, Mapping):
        return {
            key: _prior_form(definition, shape.fields[key], item, prior.get(key), f"{path}.{key}")
            if key in shape.fields and key in prior
            else item
            for key, item in value.items()
        }
    return value


def _same_order(value: list[str], prior: list[str]) -> list[str]:
    kept = [item for item in prior if item in value]
    return kept + [item for item in value if item not in kept]


def _tags(found: Mapping[str, str], prior: Mapping[str, Any], tags: TagSettings) -> dict[str, Any]:
    mine = {key: value for key, value in found.items() if not tags.ignores(key)}
    wanted = prior.get("tags")
    declared = wanted if isinstance(wanted, Mapping) else {}
    own = {k: v for k, v in mine.items() if tags.default.get(k) != v or k in declared}
    return {"tags": own, "tagsAll": mine}


def secret(definition: Definition, properties: Mapping[str, Any]) -> dict[str, Any]:
    """`properties` with the type's sensitive outputs marked."""
    return {
        key: Secret(value) if key in definition.sensitive and value is not None else value
        for key, value in properties.items()
    }


def refreshed_inputs(
    definition: Definition, old: Mapping[str, Any], state: Mapping[str, Any]
) -> dict[str, Any]:
    """The inputs after a refresh: those there were, as they are now."""
    inputs: dict[str, Any] = {}
    for key, value in old.items():
        if key == DEFAULTS:
            inputs[key] = value
        elif key in state:
            inputs[key] = _refreshed(value, state[key])
    return inputs


def _refreshed(old: Any, new: Any) -> Any:
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        return {
            key: value if key == DEFAULTS else _refreshed(value, new[key])
            for key, value in old.items()
            if key in new or key == DEFAULTS
        }
    return new


def imported_inputs(definition: Definition, state: Mapping[str, Any]) -> dict[str, Any]:
    """The inputs of an imported resource: every input whose value is neither zero nor its default."""
    inputs = _imported(definition, definition.shape.inputs, state, "")
    names = definition.name
    if names and f"{names.property}Prefix" in inputs:
        del inputs[f"{names.property}Prefix"]
    inputs[DEFAULTS] = []
    return inputs


def _imported(definition: Definition, shape: Shape, state: Mapping[str, Any], path: str) -> dict[str, Any]:
    inputs: dict[str, Any] = {}
    for name, child in shape.fields.items():
        value, plain = state.get(name), f"{path}.{name}" if path else name
        if is_empty(value) or definition.defaults.get(plain) == value:
            continue
        if child.kind == "object" and isinstance(value, Mapping):
            inputs[name] = _imported(definition, child, value, plain)
        else:
            inputs[name] = value
    return inputs


def preview_created(definition: Definition, inputs: Mapping[str, Any]) -> dict[str, Any]:
    """What a preview knows of a resource to be created: its inputs; what AWS fills is unknown."""
    known = {key: value for key, value in inputs.items() if key != DEFAULTS}
    for name, child in definition.shape.outputs.fields.items():
        if name not in known:
            if name not in definition.shape.inputs.fields or name in definition.computed:
                known[name] = UNKNOWN
        elif child.kind == "object" and isinstance(known[name], Mapping):
            known[name] = _preview_block(definition, child, known[name], name)
    return known


def _preview_block(
    definition: Definition, shape: Shape, block: Mapping[str, Any], path: str
) -> dict[str, Any]:
    inputs = definition.shape.inputs.at(path).fields
    filled = {key: value for key, value in block.items() if key != DEFAULTS}
    for name in shape.fields:
        if name not in filled and (name not in inputs or f"{path}.{name}" in definition.computed):
            filled[name] = UNKNOWN
    return filled


def preview_updated(
    definition: Definition, old: Mapping[str, Any], inputs: Mapping[str, Any]
) -> dict[str, Any]:
    """What a preview knows of a resource to be updated: its state with the new inputs laid over."""
    changed = {path.split(".", maxsplit=1)[0] for path in compare(definition, old, inputs).paths}
    known = dict(old)
    for name in definition.shape.inputs.fields:
        if name in inputs:
            known[name] = _overlaid(old.get(name), inputs[name])
        elif name in known and name not in definition.computed and name in changed:
            del known[name]
    if "tagsAll" in inputs:
        known["tagsAll"] = inputs["tagsAll"]
    for output, sources in definition.recomputed.items():
        if changed & set(sources):
            known[output] = UNKNOWN
    return known


def _overlaid(old: Any, new: Any) -> Any:
    if isinstance(old, Mapping) and isinstance(new, Mapping) and not contains_unknown(new):
        return {**old, **{key: value for key, value in new.items() if key != DEFAULTS}}
    return new
