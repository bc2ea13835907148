"""The tools as an OpenAPI document.

    schema of a tool ─► what its references mean becomes a component ─► the references lead there

Generators read references to `#/components/schemas/NAME` and hardly any others, so nothing stays that leads elsewhere.
"""

import json
import re
from typing import Any
from urllib.parse import quote, unquote

from .. import __version__
from .._core import ToolInfo
from ._export_names import camel, identifiers, pascal
from ._json import items, members, pointed_at
from ._output import first_line

# Where schemas are inside a schema: one, a list of them, or one for each name.
_ONE = frozenset(
    (
        *("items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames"),
        *("unevaluatedItems", "unevaluatedProperties", "contentSchema"),
    )
)
_SEVERAL = frozenset(("allOf", "anyOf", "oneOf", "prefixItems"))
_NAMED = frozenset(("properties", "patternProperties", "dependentSchemas"))
# What says something about the place of a schema. References have been followed, so they say nothing any more.
_PLACES = frozenset(
    (
        "$ref",
        "$defs",
        "definitions",
        "$schema",
        "$id",
        "$anchor",
        "$dynamicRef",
        "$dynamicAnchor",
        "$vocabulary",
    )
)


def openapi(tools: list[ToolInfo]) -> str:
    """The whole document."""
    operations = identifiers([tool.name for tool in tools], camel)
    prefixes = identifiers(operations.values(), pascal)
    schemas: dict[str, Any] = {"Result": _result({})}
    paths: dict[str, Any] = {}
    for tool in tools:
        prefix = prefixes[operations[tool.name]]
        body = _Moved(schemas, f"{prefix}Arguments", tool.parameters).schema()
        answer: Any = {"$ref": "#/components/schemas/Result"}
        if tool.output_schema is not None:
            answer = _result(_Moved(schemas, f"{prefix}Result", tool.output_schema).schema())
        operation: dict[str, Any] = {
            "operationId": operations[tool.name],
            "summary": first_line(tool.description),
            "requestBody": {"required": True, "content": {"application/json": {"schema": body}}},
            "responses": {
                "200": {
                    "description": "What the tool answers",
                    "content": {"application/json": {"schema": answer}},
                }
            },
        }
        paths[f"/tools/{quote(tool.name, safe='')}"] = {"post": operation}
    document = {
        "openapi": "3.1.0",
        "info": {"title": "toolhub", "version": __version__},
        "paths": paths,
        "components": {"schemas": schemas},
    }
    return json.dumps(document, ensure_ascii=False, indent=2) + "\n"


def _result(value: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {
            "success": {"type": "boolean"},
            "result": value,
            "error": {"type": ["string", "null"]},
            "_meta": {"type": "object"},
        },
        "required": ["success"],
    }


class _Moved:
    """One schema of a tool, whose parts that are referred to are components."""

    def __init__(self, components: dict[str, Any], prefix: str, root: dict[str, Any]) -> None:
        self._components, self._prefix, self._root = components, prefix, root
        self._names: dict[str, str] = {}
        """The component for each pointer."""
        self._waiting: list[tuple[str, Any]] = []
        """Components that are named and not yet written. Chains of references may be longer than the stack is deep."""

    def schema(self) -> dict[str, Any]:
        """The schema for the place that needs it."""
        own = self._object(self._root)
        while self._waiting:
            name, target = self._waiting.pop()
            part = self._object(target)
            # Generators call their classes by the title; those of two tools may have the same one.
            if "title" in part:
                part["title"] = name
            self._components[name] = part
        if "#" in self._names:
            return {"$ref": _reference_to(self._names["#"])}
        return own

    def _object(self, schema: Any) -> dict[str, Any]:
        """A schema as an object: what is none says nothing, and `false` fits nothing."""
        if schema is False:
            return {"not": {}}
        given = _modern(members(schema))
        moved: dict[str, Any] = {}
        reference = given.get("$ref")
        if isinstance(reference, str) and (name := self._component(reference)) is not None:
            moved["$ref"] = _reference_to(name)
        for word, value in given.items():
            if word in _PLACES:
                continue
            if word in _ONE:
                moved[word] = value if isinstance(value, bool) else self._object(value)
            elif word in _SEVERAL:
                moved[word] = [self._object(one) for one in items(value)]
            elif word in _NAMED:
                moved[word] = {name: self._object(one) for name, one in members(value).items()}
            else:
                moved[word] = value
        return moved

    def _component(self, reference: str) -> str | None:
        """The component that a reference leads to; None if it leads out of the schema or nowhere."""
        passed: set[str] = set()
        while reference.startswith("#") and reference not in passed:
            passed.add(reference)
            pointer = unquote(reference).rstrip("/") or "#"
            if pointer in self._names:
                return self._names[pointer]
            target = self._target(pointer)
            if target is None:
                return None
            # A part that is only another reference is that other part.
            further = members(target).get("$ref")
            if isinstance(further, str) and len(members(target)) == 1:
                reference = further
                continue
            return self._new_component(pointer, target)
        return None

    def _new_component(self, pointer: str, target: Any) -> str:
        name = self._free_name(pointer)
        self._names[pointer] = name
        self._components[name] = {}
        self._waiting.append((name, target))
        return name

    def _target(self, pointer: str) -> Any:
        if pointer != "#" and not pointer.startswith("#/"):
            return None
        found = pointed_at(self._root, pointer)
        return found if isinstance(found, (dict, bool)) else None  # pyright: ignore[reportUnknownVariableType]

    def _free_name(self, pointer: str) -> str:
        last = re.sub(r"[^0-9A-Za-z]+", "_", pointer.split("/")[-1]).strip("_")
        plain = self._prefix if pointer == "#" else f"{self._prefix}_{last or 'part'}"
        unique, count = plain, 2
        while unique in self._components:
            unique, count = f"{plain}_{count}", count + 1
        return unique


def _reference_to(name: str) -> str:
    return f"#/components/schemas/{name}"


def _modern(schema: dict[str, Any]) -> dict[str, Any]:
    """Tuples as the draft of OpenAPI 3.1 writes them."""
    if not isinstance(schema.get("items"), list):
        return schema
    kept = {word: value for word, value in schema.items() if word not in ("items", "additionalItems")}
    rest = {"items": schema["additionalItems"]} if "additionalItems" in schema else {}
    return {**kept, "prefixItems": schema["items"], **rest}
