"""Addresses of the service, from botocore's model of it (moto looks for this module beside ``models``)."""

import re
from typing import Any

from moto.core.utils import get_service_model

from mlcc_rehearsal.cloud.eks.responses import EksResponse

url_bases = [r"https?://eks\.(.+)\.amazonaws.com"]


def _paths() -> dict[str, object]:
    model: Any = get_service_model("eks")
    uris = {str(model.operation_model(name).http["requestUri"]) for name in model.operation_names}
    paths: dict[str, object] = {}
    for uri in sorted(uris):
        # moto turns a named group into a path converter; ARNs contain slashes.
        pattern = re.sub(r"\{(\w+Arn)\+?\}", r"(?P<\1>.+)", uri)
        pattern = re.sub(r"\{(\w+)\}", r"(?P<\1>[^/]+)", pattern)
        paths["{0}" + pattern + "$"] = EksResponse.dispatch
    return paths


url_paths = _paths()
