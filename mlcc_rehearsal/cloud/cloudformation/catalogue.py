"""All operations about stacks of AWS's HyperPod template: importing this fills the table."""

from mlcc_rehearsal.cloud.cloudformation import (  # noqa: F401
    change_sets,
    commands,
    descriptions,
    templates,
)
from mlcc_rehearsal.cloud.cloudformation.operations import OPERATIONS

__all__ = ["OPERATIONS"]
