"""The rules that the vendors document for tools, as checks: each gives the list of what is wrong."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_-]{0,63}")
TYPES = {"string", "number", "integer", "boolean", "object", "array", "null"}


def schemas(schema: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """A schema and all below it."""
    yield path, schema
    if not isinstance(schema, dict):
        return
    for name, inner in schema.get("properties", {}).items():
        yield from schemas(inner, f"{path}/{name}")
    for key in ("anyOf", "oneOf", "allOf", "prefixItems"):
        for at, inner in enumerate(schema.get(key, [])):
            yield from schemas(inner, f"{path}/{key}{at}")
    for key in ("items", "additionalProperties", "contains"):
        if isinstance(schema.get(key), dict):
            yield from schemas(schema[key], f"{path}/{key}")


def openai(tool: dict[str, Any]) -> list[str]:
    """https://platform.openai.com/docs/api-reference/chat/create, `tools`."""
    function = tool["function"]
    wrong = [] if tool["type"] == "function" else ["type"]
    if not NAME.fullmatch(function["name"]):
        wrong.append(f"name {function['name']!r}")
    if len(function["description"]) > 1024:
        wrong.append("description")
    if function["parameters"].get("type") != "object":
        wrong.append("parameters are not an object")
    for key in ("anyOf", "oneOf", "allOf", "enum", "not"):
        if key in function["parameters"]:
            wrong.append(f"{key} at the top")
    for path, schema in schemas(function["parameters"]):
        if "array" in as_list(schema.get("type")) and "items" not in schema:
            wrong.append(f"{path}: array schema missing items")
    return wrong + common(function["parameters"])


def openai_strict(tool: dict[str, Any]) -> list[str]:
    """https://platform.openai.com/docs/guides/structured-outputs, "Supported schemas"."""
    wrong = openai(tool)
    if tool["function"]["strict"] is not True:
        wrong.append("strict")
    known = {
        "type",
        "description",
        "title",
        "enum",
        "properties",
        "required",
        "additionalProperties",
        "items",
        "anyOf",
    }
    numbers = {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"}
    limits = {key: {"number", "integer"} for key in numbers} | {"pattern": {"string"}, "format": {"string"}}
    limits |= {"minItems": {"array"}, "maxItems": {"array"}}
    known |= limits.keys()
    formats = {"date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"}
    for path, schema in schemas(tool["function"]["parameters"]):
        if unknown := schema.keys() - known:
            wrong.append(f"{path}: {unknown}")
        if "type" not in schema and "anyOf" not in schema:
            wrong.append(f"{path}: no type")
        kinds = as_list(schema.get("type"))
        if len(kinds) != len(set(kinds)) or has_twice(schema.get("anyOf", [])):
            wrong.append(f"{path}: a type twice")
        if has_twice(schema.get("enum", [])):
            wrong.append(f"{path}: an option twice")
        wrong += [f"{path}: {key}" for key in schema.keys() & limits if not limits[key] & set(kinds)]
        if "object" in as_list(schema.get("type")):
            if schema.get("additionalProperties") is not False:
                wrong.append(f"{path}: not closed")
            if schema.get("required") != list(schema.get("properties", {})):
                wrong.append(f"{path}: not all required")
        if schema.get("format", "date") not in formats:
            wrong.append(f"{path}: format")
    return wrong


def anthropic(tool: dict[str, Any]) -> list[str]:
    """https://docs.anthropic.com/en/docs/agents-and-tools/tool-use, and what its API answers."""
    wrong = [] if NAME.fullmatch(tool["name"]) else ["name"]
    schema = tool["input_schema"]
    if schema.get("type") != "object":
        wrong.append("no object")
    wrong += [f"{key} at the top" for key in ("anyOf", "oneOf", "allOf") if key in schema]
    return wrong + odd_keys(schema, r"[a-zA-Z0-9_.-]{1,64}") + common(schema)


def gemini(tool: dict[str, Any]) -> list[str]:
    """https://ai.google.dev/api/caching#FunctionDeclaration and #Schema."""
    wrong = [] if NAME.fullmatch(tool["name"]) else ["name"]
    if unknown := tool.keys() - {"name", "description", "parameters"}:
        wrong.append(f"{unknown}")
    if "parameters" not in tool:
        return wrong
    known = {
        "type",
        "format",
        "title",
        "description",
        "nullable",
        "enum",
        "properties",
        "required",
        "items",
        "anyOf",
    }
    limits = {"minimum": "NUMBER", "minItems": "ARRAY", "minLength": "STRING", "pattern": "STRING"}
    limits |= {"maximum": "NUMBER", "maxItems": "ARRAY", "maxLength": "STRING"}
    known |= limits.keys()
    formats = {"STRING": {"enum", "date-time"}, "NUMBER": {"float", "double"}, "INTEGER": {"int32", "int64"}}
    wrong += odd_keys(tool["parameters"], r"[a-zA-Z_][a-zA-Z0-9_]{0,63}")
    for path, schema in schemas(tool["parameters"]):
        if unknown := schema.keys() - known:
            wrong.append(f"{path}: {unknown}")
        kind = schema.get("type")
        if "anyOf" in schema:
            if schema.keys() != {"anyOf"}:
                wrong.append(f"{path}: anyOf does not stand alone")
            continue
        number = "NUMBER" if kind == "INTEGER" else kind
        wrong += [f"{path}: {key}" for key in schema.keys() & limits if limits[key] != number]
        if kind not in {"STRING", "NUMBER", "INTEGER", "BOOLEAN", "ARRAY", "OBJECT"}:
            wrong.append(f"{path}: type {kind!r}")
        if (kind == "OBJECT") != bool(schema.get("properties")):
            wrong.append(f"{path}: properties are for objects, and no object is without")
        if (kind == "ARRAY") != ("items" in schema):
            wrong.append(f"{path}: items are for arrays, and no array is without")
        if "enum" in schema and not (
            kind == "STRING" and all(isinstance(one, str) and one for one in schema["enum"])
        ):
            wrong.append(f"{path}: enum")
        if "format" in schema and schema["format"] not in formats.get(kind, ()):
            wrong.append(f"{path}: format {schema['format']!r}")
        if not set(schema.get("required", [])) <= set(schema.get("properties", {})):
            wrong.append(f"{path}: required")
    return wrong


def odd_keys(schema: Any, pattern: str) -> list[str]:
    """The names of parameters, and of what is inside them, that are not of this form."""
    keys = re.compile(pattern)
    objects = [inner for _, inner in schemas(schema) if isinstance(inner, dict)]
    return [f"key {key!r}" for one in objects for key in one.get("properties", {}) if not keys.fullmatch(key)]


def has_twice(values: list[Any]) -> bool:
    texts = [json.dumps(value, sort_keys=True) for value in values]
    return len(texts) != len(set(texts))


def common(schema: Any) -> list[str]:
    """A tree without references, of JSON's types."""
    wrong: list[str] = []
    for path, inner in schemas(schema):
        wrong += [
            f"{path}: {key}" for key in ("$ref", "$defs", "definitions", "allOf", "$schema") if key in inner
        ]
        wrong += [f"{path}: type {kind!r}" for kind in as_list(inner.get("type")) if kind not in TYPES]
    return wrong


def as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [] if value is None else [value]
