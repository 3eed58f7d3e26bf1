"""Random suffixes as Kubernetes makes them."""

from __future__ import annotations

import hashlib
import secrets

_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"
"""``k8s.io/apimachinery/pkg/util/rand``: no vowels and no look-alikes."""


def generated_name(prefix: str) -> str:
    """``prefix`` and five random characters, cut as ``names.SimpleNameGenerator`` does (63 characters)."""
    return prefix[: 63 - 5] + "".join(secrets.choice(_ALPHABET) for _ in range(5))


def stable_hash(text: str) -> str:
    """A suffix of up to ten characters that depends on ``text`` only (``pod-template-hash``)."""
    digest = hashlib.sha256(text.encode()).digest()
    return "".join(_ALPHABET[byte % len(_ALPHABET)] for byte in digest[:10])
