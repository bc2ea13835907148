"""`toolhub export`: the tools as a typed client in TypeScript or Python, or as an OpenAPI document.

    tools ─► unique names ─► types of the parameters (_shapes) ─► one file

The clients call through one function that the user gives: `client.callTool` of an MCP client, or a hub. So what is exported
works with every transport, and holds no address and no secret.
"""

import json
import keyword
import re

from ._catalog import open_catalog
from ._exits import NOT_FOUND, USAGE, Failure
from ._output import first_line, put, put_json, say
from ._shapes import PYTHON, TYPESCRIPT, Shapes, key
from ._sources import add_source_arguments

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable
    from typing import Any

    from .._core import ToolInfo


def add_arguments(parser: "argparse.ArgumentParser") -> None:
    """Those of the command."""
    parser.add_argument("server", nargs="?", metavar="SERVER", help="only the tools of this server")
    parser.add_argument("--format", choices=tuple(_WRITERS), default="py", help="(py)")
    parser.add_argument("--output", "-o", metavar="FILE", help="the file to write (stdout)")
    parser.add_argument("--json", action="store_true", help='print an object with the file as "text"')
    add_source_arguments(parser)


def run(given: "argparse.Namespace") -> int:
    """Write the client."""
    with open_catalog(given) as catalog:
        tools = sorted(catalog.tools(given.server), key=lambda tool: tool.name)
        if not tools:
            raise Failure("there is no tool to export", catalog.code or NOT_FOUND)
        text = _WRITERS[given.format](tools)
        if given.output is not None:
            try:
                with open(given.output, "w", encoding="utf-8") as file:
                    file.write(text)
            except OSError as error:
                raise Failure(
                    f"the file '{given.output}' cannot be written: {error.strerror}", USAGE
                ) from None
        if given.json:
            put_json({"format": given.format, "tools": [tool.name for tool in tools], "text": text})
        elif given.output is None:
            put(text.rstrip("\n"))
        elif len(tools) == 1:
            say(f"1 tool written to {given.output}")
        else:
            say(f"{len(tools)} tools written to {given.output}")
        return catalog.code


def identifiers(names: list[str], style: "Callable[[str], str]") -> dict[str, str]:
    """A name of the language for each tool; those that would be the same get numbers.

    >>> identifiers(["read-file", "read.file", "class", "2x"], snake)
    {'read-file': 'read_file', 'read.file': 'read_file_2', 'class': 'class_', '2x': '_2x'}
    """
    taken: set[str] = set()
    found: dict[str, str] = {}
    for name in names:
        plain = style(name)
        plain = f"_{plain}" if plain[0].isdigit() else plain
        plain = f"{plain}_" if keyword.iskeyword(plain) or plain in _RESERVED else plain
        unique, count = plain, 2
        while unique in taken:
            unique, count = f"{plain}_{count}", count + 1
        taken.add(unique)
        found[name] = unique
    return found


_RESERVED = frozenset(
    ("delete", "function", "new", "switch", "this", "typeof", "var", "void", "default", "constructor", "enum")
)


def _words(name: str) -> list[str]:
    parts = re.split(r"[^0-9A-Za-z]+", re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name))
    words = [word for word in parts if word]
    # A name without Latin letters still needs one that is stable.
    return words or [f"u{ord(letter):x}" for letter in name[:6]] or ["tool"]


def snake(name: str) -> str:
    """`readFile` → `read_file`"""
    return "_".join(word.lower() for word in _words(name))


def camel(name: str) -> str:
    """`read_file` → `readFile`"""
    first, *rest = _words(name)
    return first.lower() + "".join(word[:1].upper() + word[1:].lower() for word in rest)


def pascal(name: str) -> str:
    """`read_file` → `ReadFile`"""
    return "".join(word[:1].upper() + word[1:].lower() for word in _words(name))


def _typescript(tools: "list[ToolInfo]") -> str:
    names = [tool.name for tool in tools]
    types, methods = identifiers(names, pascal), identifiers(names, camel)
    lines = [
        "// Written by `toolhub export --format ts`. Use it with an MCP client:",
        "//   const tools = createTools((name, args) => client.callTool({ name, arguments: args }));",
        "",
        "export type CallTool = (name: string, args: Record<string, unknown>) => Promise<unknown>;",
    ]
    for tool in tools:
        lines += ["", f"export interface {types[tool.name]}Arguments {{"]
        for name, kind, required, schema in Shapes(tool.parameters, TYPESCRIPT).parameters():
            lines += _comment(schema.get("description"), "  ")
            lines.append(f"  {key(name)}{'' if required else '?'}: {kind};")
        lines.append("}")
    lines += ["", "export function createTools(call: CallTool) {", "  return {"]
    for tool in tools:
        optional = "" if any(one[2] for one in Shapes(tool.parameters, TYPESCRIPT).parameters()) else " = {}"
        lines += _comment(tool.description, "    ")
        lines.append(
            f"    {methods[tool.name]}: (args: {types[tool.name]}Arguments{optional}) => "
            f"call({json.dumps(tool.name, ensure_ascii=False)}, {{ ...args }}),"
        )
    lines += ["  };", "}", ""]
    return "\n".join(lines)


def _comment(text: "Any", indent: str) -> list[str]:
    line = first_line(text) if isinstance(text, str) else ""
    return [f"{indent}/** {line.replace('*/', '* /')} */"] if line else []


def _python(tools: "list[ToolInfo]") -> str:
    names = [tool.name for tool in tools]
    types, methods = identifiers(names, pascal), identifiers(names, snake)
    lines = [
        '"""Written by `toolhub export --format py`. Use it with a hub: `await Tools(hub).name(key=value)`."""',
        "",
        "from typing import Any, Literal, NotRequired, Protocol, TypedDict, Unpack",
        "",
        "",
        "class Hub(Protocol):",
        "    async def execute(self, name: str, args: Any = None) -> Any: ...",
    ]
    for tool in tools:
        members = [
            f"    {json.dumps(name, ensure_ascii=False)}: {kind if required else f'NotRequired[{kind}]'},"
            for name, kind, required, _ in Shapes(tool.parameters, PYTHON).parameters()
        ]
        lines += [
            "",
            "",
            f"{types[tool.name]}Arguments = TypedDict(",
            f'    "{types[tool.name]}Arguments",',
            "    {",
        ]
        lines += [f"    {member}" for member in members]
        lines += ["    },", ")"]
    lines += [
        "",
        "",
        "class Tools:",
        '    """Each method calls a tool and returns its value; a failure raises `ToolError`."""',
        "",
    ]
    lines += ["    def __init__(self, hub: Hub) -> None:", "        self._hub = hub"]
    for tool in tools:
        about = first_line(tool.description).replace("\\", "\\\\").replace('"', "'")
        lines += [
            "",
            f"    async def {methods[tool.name]}(self, **args: Unpack[{types[tool.name]}Arguments]) -> Any:",
        ]
        lines += [f'        """{about}"""'] if about else []
        lines.append(f"        return (await self._hub.execute({tool.name!r}, dict(args))).unwrap()")
    # Not every type is in every set of tools.
    body = "\n".join(lines[3:])
    used = [
        name
        for name in ("Any", "Literal", "NotRequired", "Protocol", "TypedDict", "Unpack")
        if f"{name}" in body
    ]
    lines[2] = f"from typing import {', '.join(used)}"
    return "\n".join([*lines, ""])


def _openapi(tools: "list[ToolInfo]") -> str:
    from .. import __version__

    operations = identifiers([tool.name for tool in tools], camel)
    answer = {
        "description": "What the tool answers",
        "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Result"}}},
    }
    paths: dict[str, Any] = {}
    for tool in tools:
        operation: dict[str, Any] = {
            "operationId": operations[tool.name],
            "summary": first_line(tool.description),
            "requestBody": {
                "required": True,
                "content": {"application/json": {"schema": _local(tool)}},
            },
            "responses": {"200": answer},
        }
        paths[f"/tools/{_in_path(tool.name)}"] = {"post": operation}
    result = {
        "type": "object",
        "properties": {
            "success": {"type": "boolean"},
            "result": {},
            "error": {"type": ["string", "null"]},
            "_meta": {"type": "object"},
        },
        "required": ["success"],
    }
    document = {
        "openapi": "3.1.0",
        "info": {"title": "toolhub", "version": __version__},
        "paths": paths,
        "components": {"schemas": {"Result": result}},
    }
    return json.dumps(document, ensure_ascii=False, indent=2) + "\n"


def _in_path(name: str) -> str:
    from urllib.parse import quote

    return quote(name, safe="")


def _local(tool: "ToolInfo") -> "Any":
    """The schema of a tool, whose references stay inside it: an `$id` makes it a document of its own."""
    if '"$ref"' in json.dumps(tool.parameters):
        return {"$id": f"urn:toolhub:{_in_path(tool.name)}", **tool.parameters}
    return tool.parameters


_WRITERS: "dict[str, Callable[[list[ToolInfo]], str]]" = {
    "ts": _typescript,
    "py": _python,
    "openapi": _openapi,
}
