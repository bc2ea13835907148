"""JSON Schema as types: short ones for signatures, and those of TypeScript and Python for exported clients."""

import json

from ._json import items, members, pointed_at

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_DEEPEST = 6
_MOST_OPTIONS = 12
_MOST_TYPES = 500


class Language:
    """How a language writes types."""

    def __init__(self, names: dict[str, str], any: str, array: str, mapping: str, union: str) -> None:
        self.names, self.any, self.array, self.mapping, self.union = names, any, array, mapping, union

    def literal(self, value: "Any") -> str:
        """A constant."""
        return json.dumps(value, ensure_ascii=False)

    def literals(self, values: "list[Any]") -> str:
        """One of several constants."""
        return self.union.join(map(self.literal, values))

    def members(self, parts: list[tuple[str, str, bool]]) -> str:
        """An object with named members: name, type, whether it is required."""
        return self.names["object"]

    def sequence(self, items: list[str]) -> str:
        """An array with one type for each place."""
        return f"[{', '.join(items)}]"


class _TypeScript(Language):
    def members(self, parts: list[tuple[str, str, bool]]) -> str:
        shown = "; ".join(f"{key(name)}{'' if required else '?'}: {kind}" for name, kind, required in parts)
        return f"{{ {shown} }}"


class _Python(Language):
    def literal(self, value: "Any") -> str:
        return repr(value)

    def literals(self, values: "list[Any]") -> str:
        # `Literal` takes neither numbers with a fraction nor containers.
        if any(isinstance(value, (float, list, dict)) for value in values):
            return self.any
        return f"Literal[{', '.join(map(repr, values))}]"

    def sequence(self, items: list[str]) -> str:
        return self.array.format(self.union.join(dict.fromkeys(items)) or self.any)


def key(name: str) -> str:
    """A member's name in TypeScript, in quotes where it needs them."""
    return name if name.isidentifier() and name.isascii() else json.dumps(name, ensure_ascii=False)


_PLAIN = ("string", "integer", "number", "boolean", "object", "null")
SHORT = Language({name: name for name in _PLAIN}, "any", "{}[]", "{{[key]: {}}}", " | ")
TYPESCRIPT = _TypeScript(
    {"string": "string", "integer": "number", "number": "number", "boolean": "boolean"}
    | {"object": "Record<string, unknown>", "null": "null"},
    "unknown",
    "Array<{}>",
    "Record<string, {}>",
    " | ",
)
PYTHON = _Python(
    {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"}
    | {"object": "dict[str, Any]"},
    "Any",
    "list[{}]",
    "dict[str, {}]",
    " | ",
)


class Form:
    """An object that fits a schema: its members, and the type of others where the schema allows them in words."""

    def __init__(self, parameters: "list[tuple[str, str, bool, dict[str, Any]]]", others: str | None) -> None:
        self.parameters, self.others = parameters, others


class _Parts:
    """What a schema and those that it is made of say about one object."""

    def __init__(self, schema: "dict[str, Any]") -> None:
        self.properties: dict[str, Any] = dict(members(schema.get("properties")))
        self.required: list[str] = [name for name in items(schema.get("required")) if isinstance(name, str)]
        self.others: Any = schema.get("additionalProperties")
        if not self.others and members(schema.get("patternProperties")):
            self.others = True

    def and_also(self, other: "_Parts") -> "_Parts":
        """An object to which both apply."""
        both = _Parts({})
        more = {k: v for k, v in other.properties.items() if members(v) or k not in self.properties}
        both.properties = {**self.properties, **more}
        both.required = list(dict.fromkeys([*self.required, *other.required]))
        both.others = other.others if self.others in (None, False) else self.others
        return both

    @staticmethod
    def any_of(choices: "list[_Parts]") -> "_Parts":
        """An object that allows what any of the choices does, and requires what all of them do."""
        one = _Parts({})
        for name in dict.fromkeys(name for parts in choices for name in parts.properties):
            one.properties[name] = _choice([p.properties[name] for p in choices if name in p.properties])
        one.required = [name for name in choices[0].required if all(name in p.required for p in choices)]
        others = [parts.others for parts in choices if parts.others not in (None, False)]
        one.others = _choice(others) if others else None
        return one


def _choice(schemas: "list[Any]") -> "Any":
    different = [one for at, one in enumerate(schemas) if one not in schemas[:at]]
    return different[0] if len(different) == 1 else {"anyOf": different}


class Shapes:
    """The types of one schema in a language."""

    def __init__(self, root: "dict[str, Any]", language: Language) -> None:
        self._root, self._language = root, language
        # Schemas that refer to themselves, or several times to the same large one, would grow without end.
        self._left = _MOST_TYPES
        self._inside = ["#"]

    def parameters(self) -> "list[tuple[str, str, bool, dict[str, Any]]]":
        """Each parameter: name, type, whether it is required, its schema. Required ones come first."""
        return self.form().parameters

    def form(self) -> Form:
        """The object that the schema is about; of several choices at its top, what any of them allows."""
        parts = self._object(self._root, 0)
        unnamed: dict[str, Any] = {name: {} for name in parts.required if name not in parts.properties}
        found = [
            (name, self.of(schema), name in parts.required, self._resolved(schema, 0))
            for name, schema in {**parts.properties, **unnamed}.items()
        ]
        others = None if parts.others in (None, False) else self.of(parts.others)
        return Form(sorted(found, key=lambda one: not one[2]), others)

    def _object(self, schema: "Any", depth: int) -> _Parts:
        given = self._resolved(schema, 0)
        found = _Parts(given)
        if depth > _DEEPEST:
            return found
        for part in items(given.get("allOf")):
            found = found.and_also(self._object(part, depth + 1))
        for word in ("anyOf", "oneOf"):
            branches = [branch for branch in items(given.get(word)) if self._may_be_object(branch)]
            if branches:
                choices = [self._object(branch, depth + 1) for branch in branches]
                found = found.and_also(_Parts.any_of(choices))
        return found

    def _may_be_object(self, schema: "Any") -> bool:
        kind = self._resolved(schema, 0).get("type", "object")
        return schema is not False and "object" in (items(kind) or [kind])

    def of(self, schema: "Any", depth: int = 0) -> str:
        """The type of a value.

        >>> shapes = Shapes({}, SHORT)
        >>> shapes.of({"type": ["string", "null"]}), shapes.of({"type": "array", "items": {"enum": [1, 2]}})
        ('string | null', '(1 | 2)[]')
        """
        reference: Any = members(schema).get("$ref")
        if not isinstance(reference, str):
            return self._of(members(schema), depth)
        if reference in self._inside:
            return self._language.names["object"]
        self._inside.append(reference)
        shown = self._of(self._resolved(schema, 0), depth)
        self._inside.pop()
        return shown

    def _of(self, schema: "dict[str, Any]", depth: int) -> str:
        language = self._language
        self._left -= 1
        if not schema or depth > _DEEPEST or self._left < 0:
            return language.any
        if 0 < len(options := items(schema.get("enum"))) <= _MOST_OPTIONS:
            return language.literals(options)
        if "const" in schema:
            return language.literals([schema["const"]])
        for word in ("anyOf", "oneOf"):
            if branches := items(schema.get(word)):
                return self._union([self.of(branch, depth + 1) for branch in branches])
        if parts := items(schema.get("allOf")):
            return self.of(
                {**self._merged(parts), **{k: v for k, v in schema.items() if k != "allOf"}}, depth + 1
            )
        kind = schema.get("type")
        if kinds := items(kind):
            return self._union([self.of({**schema, "type": one}, depth + 1) for one in kinds])
        if kind is None:
            kind = "object" if "properties" in schema else "array" if "items" in schema else None
        shown = self._named(kind, schema, depth)
        return self._union([shown, language.names["null"]]) if schema.get("nullable") is True else shown

    def _named(self, kind: "Any", schema: "dict[str, Any]", depth: int) -> str:
        language = self._language
        if kind == "array":
            if places := items(schema.get("prefixItems")):
                return language.sequence([self.of(place, depth + 1) for place in places])
            item = self.of(schema.get("items"), depth + 1)
            if language is SHORT and " | " in item:
                item = f"({item})"
            return language.array.format(item)
        if kind == "object":
            if properties := members(schema.get("properties")):
                required = items(schema.get("required"))
                return language.members(
                    [(name, self.of(of, depth + 1), name in required) for name, of in properties.items()]
                )
            if values := members(schema.get("additionalProperties")):
                return language.mapping.format(self.of(values, depth + 1))
        return language.names.get(kind, language.any) if isinstance(kind, str) else language.any

    def _union(self, kinds: list[str]) -> str:
        different = list(dict.fromkeys(kinds))
        if self._language.any in different:
            return self._language.any
        return self._language.union.join(different)

    def _merged(self, parts: "list[Any]") -> "dict[str, Any]":
        merged: dict[str, Any] = {}
        for part in (self._resolved(part, 0) for part in parts):
            properties = {**members(merged.get("properties")), **members(part.get("properties"))}
            required = [*items(merged.get("required")), *items(part.get("required"))]
            merged |= part
            if properties:
                merged["properties"], merged["required"] = properties, required
        return merged

    def _resolved(self, schema: "Any", hops: int) -> "dict[str, Any]":
        """The schema itself, or what its `$ref` leads to inside the same document; {} where it leads nowhere."""
        given = members(schema)
        reference: Any = given.get("$ref")
        if not isinstance(reference, str):
            return given
        if not reference.startswith("#") or hops > _DEEPEST:
            return {}
        found = pointed_at(self._root, reference)
        beside = {name: value for name, value in given.items() if name != "$ref"}
        return self._resolved({**members(found), **beside}, hops + 1)


def signature(name: str, parameters: "dict[str, Any]") -> str:
    """A tool as one line.

    >>> signature("add", {"properties": {"b": {"type": "integer", "default": 1}, "a": {"type": "integer"}}, "required": ["a"]})
    'add(a: integer, b?: integer = 1)'
    """
    shown: list[str] = []
    for parameter, kind, required, schema in Shapes(parameters, SHORT).parameters():
        default = f" = {json.dumps(schema['default'], ensure_ascii=False)}" if "default" in schema else ""
        shown.append(f"{parameter}{'' if required else '?'}: {kind}{default}")
    return f"{name}({', '.join(shown)})"
