"""The program of every stack: the profile in `stacks/` says what is deployed."""

from mlcc_infra.garbage import collect_rarely

collect_rarely()

from mlcc_infra.targets import deploy_stack  # noqa: E402 - what it imports is what takes the time

deploy_stack()
