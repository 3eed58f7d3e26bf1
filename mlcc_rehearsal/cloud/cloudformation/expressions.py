"""The contract's notation: conditions and values, parsed and evaluated.

``Bare`` is a parameter (or, inside a condition, another condition), ``A.Outputs.B`` an output of a nested
stack, ``'text'`` a literal, ``{A: B}`` a map; ``If``, ``Sub``, ``Join``, ``Split``, ``Select`` and
``FindInMap`` are the functions; conditions know ``==``, ``!=``, ``&&``, ``||``, ``!`` and parentheses.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

_TOKEN = re.compile(r"\s*('(?:[^']*)'|&&|\|\||==|!=|!|[()\[\]{}:,=]|\d+|[A-Za-z](?:[A-Za-z0-9._]|::)*)")

Node = tuple[str, Any]


@lru_cache(maxsize=1024)
def parse(text: str) -> Node:
    """The tree of an expression; :raises ValueError: when it is not one."""
    tokens, position = [], 0
    while position < len(text.rstrip()):
        found = _TOKEN.match(text, position)
        if found is None:
            raise ValueError(f"not an expression of the contract: {text!r} at {position}")
        tokens.append(found.group(1))
        position = found.end()
    parser = _Parser(tokens)
    node = parser.either()
    if parser.rest():
        raise ValueError(f"not an expression of the contract: {text!r}: {parser.rest()} left over")
    return node


class _Parser:
    def __init__(self, tokens: list[str]) -> None:
        self._tokens = tokens
        self._at = 0

    def rest(self) -> list[str]:
        return self._tokens[self._at :]

    def _peek(self) -> str:
        return self._tokens[self._at] if self._at < len(self._tokens) else ""

    def _take(self, wanted: str | None = None) -> str:
        token = self._peek()
        if not token or (wanted is not None and token != wanted):
            raise ValueError(f"expected {wanted or 'more'}, found {token or 'the end'}")
        self._at += 1
        return token

    def either(self) -> Node:
        node = self.both()
        while self._peek() == "||":
            self._take()
            node = ("or", (node, self.both()))
        return node

    def both(self) -> Node:
        node = self.comparison()
        while self._peek() == "&&":
            self._take()
            node = ("and", (node, self.comparison()))
        return node

    def comparison(self) -> Node:
        if self._peek() == "!":
            self._take()
            return ("not", self.comparison())
        left = self.value()
        if self._peek() in ("==", "!="):
            operator = self._take()
            node: Node = ("equal", (left, self.value()))
            return node if operator == "==" else ("not", node)
        return left

    def value(self) -> Node:
        token = self._take()
        if token == "(":
            node = self.either()
            self._take(")")
            return node
        if token == "[":
            return ("list", tuple(self._items("]")))
        if token == "{":
            return ("map", tuple(self._pairs()))
        if token.startswith("'"):
            return ("text", token[1:-1])
        if token.isdigit():
            return ("text", token)
        if self._peek() == "(":
            self._take()
            return ("call", (token, tuple(self._items(")"))))
        return ("name", token)

    def _items(self, end: str) -> list[Node]:
        items: list[Node] = []
        while self._peek() != end:
            item = self.either()
            if self._peek() == "=":  # DefaultValue='…'
                self._take()
                item = ("named", (item[1], self.either()))
            items.append(item)
            if self._peek() == ",":
                self._take()
        self._take(end)
        return items

    def _pairs(self) -> list[tuple[str, Node]]:
        pairs: list[tuple[str, Node]] = []
        while self._peek() != "}":
            key = self._take()
            self._take(":")
            pairs.append((key, self.either()))
            if self._peek() == ",":
                self._take()
        self._take("}")
        return pairs


@dataclass
class Scope:
    """What names mean.

    :ivar output: the output of a nested stack, asked by stack and output name.
    """

    parameters: Mapping[str, str]
    conditions: Mapping[str, bool] = field(default_factory=dict)
    pseudo: Mapping[str, str] = field(default_factory=dict)
    mappings: Mapping[str, Any] = field(default_factory=dict)
    output: Callable[[str, str], str] | None = None

    def evaluate(self, text: str) -> Any:
        """The value of an expression; :raises ValueError: for a name that means nothing."""
        return self._value(parse(text))

    def _value(self, node: Node) -> Any:
        kind, content = node
        if kind == "text":
            return content
        if kind == "name":
            return self._name(content)
        if kind == "list":
            return [self._value(item) for item in content]
        if kind == "not":
            return not self._value(content)
        if kind == "and":
            return self._value(content[0]) and self._value(content[1])
        if kind == "or":
            return self._value(content[0]) or self._value(content[1])
        if kind == "equal":
            return self._value(content[0]) == self._value(content[1])
        return self._call(content[0], list(content[1]))

    def _name(self, name: str) -> Any:
        for known in (self.parameters, self.conditions, self.pseudo):
            if name in known:
                return known[name]
        if ".Outputs." in name and self.output is not None:
            return self.output(*name.split(".Outputs."))
        raise ValueError(f"{name} is not a parameter, condition or output")

    def _call(self, name: str, arguments: list[Node]) -> Any:
        if name == "If":
            return self._value(arguments[1] if self._value(arguments[0]) else arguments[2])
        if name == "Sub":
            return self._sub(*arguments)
        if name == "Join":
            return str(self._value(arguments[0])).join(str(item) for item in self._value(arguments[1]))
        if name == "FindInMap":
            return self._find_in_map(arguments)
        if name == "Split":
            return str(self._value(arguments[1])).split(str(self._value(arguments[0])))
        if name == "Select":
            return self._value(arguments[1])[int(self._value(arguments[0]))]
        raise ValueError(f"unknown function {name}")

    def _sub(self, text: Node, own: Node = ("map", ())) -> str:
        names: dict[str, Node] = dict(own[1])

        def fill(found: re.Match[str]) -> str:
            return str(self._value(names.get(found.group(1)) or ("name", found.group(1))))

        return re.sub(r"\$\{([^}]+)\}", fill, text[1])

    def _find_in_map(self, arguments: list[Node]) -> Any:
        table = self.mappings[arguments[0][1]]
        row = table.get(self._value(arguments[1]), {})
        default = next((node[1][1] for node in arguments if node[0] == "named"), None)
        key = arguments[2][1]
        return row[key] if key in row or default is None else self._value(default)


def used_stacks(text: str, conditions: Mapping[str, bool]) -> set[str]:
    """Names of the nested stacks whose outputs an expression uses under these conditions."""
    found: set[str] = set()

    def walk(node: Node) -> None:
        kind, content = node
        if kind == "name" and ".Outputs." in content:
            found.add(content.split(".Outputs.", 1)[0])
        elif kind == "call" and content[0] == "If":
            walk(content[1][1] if conditions[content[1][0][1]] else content[1][2])
        elif kind == "call":
            for item in content[1]:
                walk(item)
        elif kind == "list":
            for item in content:
                walk(item)

    walk(parse(text))
    return found
