"""What a published component made, as a resource that options of others can name."""

from __future__ import annotations

import pulumi
from pulumi.resource import DependencyResource


class MadeByComponent(DependencyResource):
    """A child of a component that another program registers, known by its URN.

    Components written in other languages give their children as outputs; `deleted_with` takes a resource.
    """

    def __init__(self, made: pulumi.Output[pulumi.CustomResource]) -> None:
        super().__init__("")
        self.__dict__["urn"] = made.apply(lambda found: found.urn)
