"""Where AWS's template is read from, and whether it is the one that is pinned.

AWS publishes it to one bucket a region (aws/sagemaker-hyperpod-cluster-setup, README and workflow). Its
nested templates sit beside it at addresses without a version, so a pin is complete only with a mirror: a
bucket of one's own that CustomBucketName names, with the same keys.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

from mlcc_infra.profile.problems import set_command
from mlcc_infra.template.contract import TEMPLATE, load_contract

if TYPE_CHECKING:
    from mlcc_infra.profile.model import Profile

TEMPLATES_PREFIX: Final = "templates/"
ARTIFACTS_PREFIX: Final = "resources/artifacts/"
"""Code of the template's Lambda functions; at the root of a mirror, like the templates."""


def aws_bucket(region: str, stage: str = "prod") -> str:
    """AWS's bucket of the region."""
    return f"aws-sagemaker-hyperpod-cluster-setup-{region}-{stage}"


def template_url(
    region: str, *, stage: str = "prod", mirror_bucket: str | None = None, template: str = TEMPLATE
) -> str:
    """The https address of a template in AWS's bucket, or in a mirror, which is in the same region."""
    bucket = mirror_bucket or aws_bucket(region, stage)
    return f"https://{bucket}.s3.{region}.amazonaws.com/{TEMPLATES_PREFIX}{template}"


def profile_template_url(profile: Profile) -> str:
    """TemplateURL for a profile: its own address, else its mirror's, else AWS's."""
    template = profile.hyperpod.template
    return template.url or template_url(profile.region, mirror_bucket=template.mirror_bucket)


def digest(content: bytes) -> str:
    """SHA-256 of a template, in hex."""
    return hashlib.sha256(content).hexdigest()


def pinned_digest(profile: Profile) -> str:
    """The digest that the profile pins, else that of this release."""
    return profile.hyperpod.template.digest or load_contract().sha256


@dataclass(frozen=True, kw_only=True)
class PinCheck:
    """The outcome of comparing a template with the pin: `ok`, `warning` or `refused`."""

    verdict: Literal["ok", "warning", "refused"]
    found: str
    needed: str
    remedy: str = ""


def check_pin(profile: Profile, found: str) -> PinCheck:
    """Compare the digest of the template as it is now with the pinned one.

    Refused is a mismatch only when the profile pins the digest it saw itself and asks for `pin: strict`: the
    digest of this release is that of the text on GitHub, and the object in S3 was not seen (unverified on
    AWS).
    """
    template = profile.hyperpod.template
    needed = pinned_digest(profile)
    if found == needed:
        return PinCheck(verdict="ok", found=found, needed=needed)
    key = "mlcc:hyperpod.template.digest"
    pin_it = set_command(key, found, stack=profile.stack)
    if template.digest is None:
        return PinCheck(
            verdict="warning",
            found=f"a template with digest {found}, other than the {needed} that this release was made for",
            needed=needed,
            remedy=f"look at what changed; then pin it with `{pin_it}`",
        )
    return PinCheck(
        verdict="refused" if template.pin == "strict" else "warning",
        found=f"a template with digest {found}, while the profile pins {needed}",
        needed=needed,
        remedy=(
            f"look at what changed; then pin it with `{pin_it}`, or keep the pinned one in a bucket of your "
            "own and name it in mlcc:hyperpod.template.mirrorBucket"
        ),
    )
