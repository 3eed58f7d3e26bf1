"""The program of every stack: the profile in `stacks/` says what is deployed."""

from mlcc_infra.targets import deploy_stack

deploy_stack()
