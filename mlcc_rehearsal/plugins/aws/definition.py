"""What the table says of a resource type, and the working set of one call on a resource.

Paths are dotted property names without list positions: ``vpcConfig.subnetIds``,
``ingress.cidrBlocks``. Times are modelled seconds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from mlcc_rehearsal.plugins.aws import schema

if TYPE_CHECKING:
    from mlcc_rehearsal.plugins.aws.calling import Call

MINUTE = 60.0

#: Where somebody looks who needs a type that is not there.
RESOURCES_FOLDER = "mlcc_rehearsal/plugins/aws/resources"
FUNCTIONS_FOLDER = "mlcc_rehearsal/plugins/aws/functions"


@dataclass(frozen=True)
class Timeouts:
    """The provider's limits when a program sets no customTimeouts."""

    create: float = 20 * MINUTE
    update: float = 20 * MINUTE
    delete: float = 20 * MINUTE


@dataclass(frozen=True)
class Import:
    """How a type is imported: the id's form as the provider documents it, and an example.

    `parse` turns the id a program gives into the resource's id and what must be known before
    reading; ValueError with the provider's words when it has another form.
    """

    form: str
    example: str
    parse: Callable[[str], tuple[str, dict[str, Any]]] = lambda text: (text, {})


@dataclass(frozen=True)
class Tagging:
    """How tags of an existing resource change: `tag(call, {key: value})`, `untag(call, [key])`."""

    tag: Callable[[Call, dict[str, str]], Any]
    untag: Callable[[Call, list[str]], Any]


@dataclass(frozen=True)
class AutoName:
    """The property filled with the logical name, ``-`` and hexadecimal digits when left out."""

    property: str = "name"
    limit: int = 255
    lower: bool = False
    digits: int = 7


@dataclass(frozen=True)
class Definition:
    """One resource type.

    `create` returns the id; when the resource exists before all of it is done, it sets `call.id`
    first, so that a failure afterwards keeps the resource in the state. `read` returns the
    properties found, or None when the resource is gone. `update` may be None where only tags or
    nothing can change in place.
    """

    token: str
    label: str
    create: Callable[[Call], str]
    read: Callable[[Call], dict[str, Any] | None]
    delete: Callable[[Call], Any]
    update: Callable[[Call], Any] | None = None
    imports: Import = field(default_factory=lambda: Import("id", "id"))
    name: AutoName | None = None
    tagging: Tagging | None = None
    #: paths whose change replaces the resource
    replace: frozenset[str] = frozenset()
    #: optional inputs that AWS fills when left out: leaving one out later is no difference
    computed: frozenset[str] = frozenset()
    #: values for inputs left out
    defaults: Mapping[str, Any] = field(default_factory=dict)
    #: inputs the API does not give back: kept from the program
    unread: frozenset[str] = frozenset()
    #: lists whose order counts; all others are sets
    ordered: frozenset[str] = frozenset()
    #: policy documents, and other JSON texts
    policies: frozenset[str] = frozenset()
    json: frozenset[str] = frozenset()
    #: equality of a value beyond the above
    same: Mapping[str, Callable[[Any, Any], bool]] = field(default_factory=dict)
    #: outputs that are secrets
    sensitive: frozenset[str] = frozenset()
    #: output -> inputs whose change makes it unknown in a preview
    recomputed: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    #: further checks of known inputs: problems as (property, text)
    validate: Callable[[Mapping[str, Any]], list[tuple[str, str]]] | None = None
    #: further reasons to replace, from old state and new inputs: paths
    replace_when: Callable[[Mapping[str, Any], Mapping[str, Any]], list[str]] | None = None
    timeouts: Timeouts = field(default_factory=Timeouts)
    delete_before_replace: bool = False
    #: what stands in parentheses in messages: from inputs or state; default name, else id
    title: Callable[[Mapping[str, Any]], str] | None = None

    @property
    def shape(self) -> schema.ResourceShape:
        """Names and types, from the installed SDK."""
        return schema.resource(self.token)

    @property
    def paths(self) -> set[str]:
        """Every input path the table names, for the test that they exist."""
        named = {*self.replace, *self.computed, *self.defaults, *self.unread, *self.ordered}
        named |= {*self.policies, *self.json, *self.same}
        if self.name:
            named.add(self.name.property)
        return named

    def titled(self, properties: Mapping[str, Any], id: str = "") -> str:
        """The resource's name in messages."""
        if self.title is not None:
            return self.title(properties)
        name = properties.get(self.name.property) if self.name else None
        return str(name or id)
