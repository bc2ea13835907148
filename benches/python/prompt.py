"""Prompts of many tools, against the usual Python; and what each way of showing them costs in tokens."""

from __future__ import annotations

from typing import Any

from harness import Group, Row, measure_sync

import toolhub
from toolhub import ToolHub

PARAMETERS: dict[str, Any] = {
    "type": "object",
    "properties": {
        "path": {"type": "string", "description": "Path of the file, relative to the root of the project"},
        "mode": {
            "type": "string",
            "enum": ["text", "binary"],
            "default": "text",
            "description": "How to read it",
        },
        "lines": {"anyOf": [{"type": "integer"}, {"type": "null"}], "description": "How many lines at most"},
        "filters": {"type": "array", "items": {"$ref": "#/$defs/Filter"}},
    },
    "required": ["path"],
    "$defs": {
        "Filter": {
            "type": "object",
            "properties": {
                "field": {"type": "string"},
                "value": {"type": "string", "description": "What to look for"},
            },
            "required": ["field"],
        }
    },
}
WORDS = ["files", "mail", "calendar", "tickets", "notes", "invoices", "customers", "images", "tables", "logs"]


def tools(number: int) -> list[dict[str, Any]]:
    return [
        {
            "name": f"read_{WORDS[at % 10]}_{at:04}",
            "description": f"Read {WORDS[at % 10]} from store {at}. Returns what was found, newest first.",
            "parameters": PARAMETERS,
        }
        for at in range(number)
    ]


def hub_of(number: int) -> ToolHub:
    hub = ToolHub()
    for tool in tools(number):
        hub.register(lambda **given: given, read_only=True, **tool)
    return hub


def type_of(root: dict[str, Any], schema: dict[str, Any]) -> str:
    if "$ref" in schema:
        schema = root["$defs"][schema["$ref"].rsplit("/", 1)[1]]
    if "anyOf" in schema:
        return " or ".join(type_of(root, one) for one in schema["anyOf"])
    kind = schema.get("type", "any")
    if kind == "array" and "items" in schema:
        kind = f"array of {type_of(root, schema['items'])}s"
    if "enum" in schema:
        kind += ", one of " + ", ".join(f'"{one}"' for one in schema["enum"])
    return kind


def lines_of(root: dict[str, Any], schema: dict[str, Any], indent: str) -> list[str]:
    if "$ref" in schema:
        schema = root["$defs"][schema["$ref"].rsplit("/", 1)[1]]
    if "items" in schema:
        return lines_of(root, schema["items"], indent)
    found: list[str] = []
    required = schema.get("required", ())
    for name, inner in schema.get("properties", {}).items():
        text = " ".join(inner.get("description", "").split())
        default = f" (default {inner['default']})" if "default" in inner else ""
        told = f": {text}{default}" if text or default else ""
        need = "required" if name in required else "optional"
        found.append(f"{indent}- {name} ({type_of(root, inner)}){told} [{need}]")
        found += lines_of(root, inner, indent + "  ")
    return found


def by_hand(listed: list[dict[str, Any]]) -> str:
    """The same layout, written the straightforward way."""
    parts = ["## 🔧 Available Tools (Detailed Information)", ""]
    for number, tool in enumerate(sorted(listed, key=lambda tool: tool["name"]), 1):
        parts.append(f"{number}. **{tool['name']}**")
        parts.append("  " + " ".join(tool["description"].split()))
        parts.append("  Parameters:")
        parts += lines_of(tool["parameters"], tool["parameters"], "    ")
        parts += ["  Hints: read-only", ""]
    parts.append(f"**You have {len(listed)} tools available.**")
    return "\n".join(parts)


def tokens(text: str) -> int:
    return toolhub.truncate(text, 0, unit="tokens").total


def run(rounds: int) -> list[Row]:
    listed, hub = tools(1_000), hub_of(1_000)
    written = hub.system_prompt()
    assert written.startswith(by_hand(listed)), "the contenders do not write the same"
    group = Group("system prompt of 1,000 tools, in detail", goal=0.05)
    group.add("Python", lambda: by_hand(listed), 2)
    group.add("toolhub", lambda: hub.system_prompt(), 2)
    rows = measure_sync(group, rounds)
    # A hub writes the entry of a tool once; this is that first time.
    hubs = [hub_of(1_000) for _ in range(2 * rounds + 4)]
    group = Group("the first system prompt of 1,000 tools", goal=1.0)
    group.add("Python", lambda: by_hand(listed), 1)
    group.add("toolhub", lambda: hubs.pop().system_prompt(), 1)
    rows += measure_sync(group, rounds)
    print("\ntokens of a prompt (estimated)")
    print(f"  {'tools':>6} {'detailed':>10} {'compact':>10} {'names':>10} {'query, 10':>10}")
    for number in (25, 250, 2_500):
        hub = hub_of(number)
        query = hub.system_prompt(query="read the newest invoices")
        texts = [hub.system_prompt(style=style) for style in ("detailed", "compact", "names")] + [query]
        print(f"  {number:6} " + " ".join(f"{tokens(text):10,}" for text in texts))
    return rows
