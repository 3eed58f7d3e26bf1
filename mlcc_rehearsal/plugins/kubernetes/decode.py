"""The function ``kubernetes:yaml:decode``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import yaml

from mlcc_rehearsal.plugins.kubernetes.states import Object
from mlcc_rehearsal.plugins.serving import ProviderError


def decode_yaml(arguments: Mapping[str, Any], namespaced: Callable[[str, str], bool]) -> list[Object]:
    """The objects of a YAML text; those without a namespace get ``defaultNamespace`` where they can have one.

    Raises:
        ProviderError: no text, or no YAML.
    """
    text = arguments.get("text")
    if not isinstance(text, str):
        raise ProviderError("missing required field 'text' of type string")
    try:
        documents = [document for document in yaml.safe_load_all(text) if document]
    except yaml.YAMLError as error:
        raise ProviderError(f"failed to decode YAML: {error}") from error
    default = arguments.get("defaultNamespace")
    for document in documents:
        if not isinstance(document, dict) or "kind" not in document or "apiVersion" not in document:
            raise ProviderError("failed to decode YAML: every document must have apiVersion and kind")
        metadata = document.setdefault("metadata", {})
        missing = bool(default) and not metadata.get("namespace")
        if missing and namespaced(document["apiVersion"], document["kind"]):
            metadata["namespace"] = default
    return documents
