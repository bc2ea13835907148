"""`toolhub export`: the tools as a typed client in TypeScript or Python, or as an OpenAPI document.

    tools ─► names of methods (_export_names) ─► types of arguments and results (_shapes) ─► one file
                                              └► components (_export_openapi) ──────────────┘

The clients call through one function that the user gives: `client.callTool` of an MCP client, or a hub. So what is exported
works with every transport, and holds no address and no secret.
"""

import argparse
import json
import re
from collections.abc import Callable
from typing import Any

from .._core import ToolInfo
from ._catalog import open_catalog
from ._export_names import camel, identifiers, pascal, snake
from ._export_openapi import openapi
from ._json import members
from ._output import NOT_FOUND, Failure, counted, first_line, put, put_json, say, unwritten
from ._shapes import PYTHON, TYPESCRIPT, Form, Shapes, key


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Those of the command."""
    parser.add_argument("server", nargs="?", metavar="SERVER", help="only the tools of this server")
    parser.add_argument("--format", choices=tuple(_WRITERS), default="py", help="kind of file (default: py)")
    parser.add_argument("--output", "-o", metavar="FILE", help="the file to write (default: stdout)")
    parser.add_argument("--json", action="store_true", help='print an object with the file as "text"')


def run(given: argparse.Namespace) -> int:
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
                raise unwritten(given.output, error) from None
        if given.json:
            put_json({"format": given.format, "tools": [tool.name for tool in tools], "text": text})
        elif given.output is None:
            put(text.rstrip("\n"))
        else:
            say(f"wrote {counted(len(tools), 'tool')} to {given.output}")
        return catalog.code


def _types_of(methods: dict[str, str]) -> dict[str, str]:
    """The beginning of the names of a tool's types, by its name."""
    types = identifiers(methods.values(), pascal)
    return {name: types[method] for name, method in methods.items()}


def _output(tool: ToolInfo) -> dict[str, Any] | None:
    """The schema of its results, if all who answer to its name have the same one."""
    first, *others = [candidate.output_schema for candidate in tool.candidates]
    return first if all(one == first for one in others) else None


_TYPESCRIPT_VALUE = """
/** The structured content of what an MCP client returns for a call. */
function valueOf<T>(answer: unknown): T {
  const given = (answer ?? {}) as { isError?: boolean; content?: Array<{ text?: string }>; structuredContent?: unknown };
  if (given.isError) throw new Error((given.content ?? []).map((part) => part.text ?? "").join("\\n"));
  if (given.structuredContent === undefined) throw new Error("the tool gave no structured content");
  return given.structuredContent as T;
}"""


def _typescript(tools: list[ToolInfo]) -> str:
    methods = identifiers([tool.name for tool in tools], camel)
    types = _types_of(methods)
    lines = [
        "// Written by `toolhub export --format ts`. Use it with an MCP client:",
        "//   const tools = createTools((name, args) => client.callTool({ name, arguments: args }));",
        "// A tool that declares its results gives their value; the others give what the function gives.",
        "",
        "export type CallTool = (name: string, args: Record<string, unknown>) => Promise<unknown>;",
    ]
    if any(_output(tool) is not None for tool in tools):
        lines += _TYPESCRIPT_VALUE.split("\n")
    calls: list[str] = []
    for tool in tools:
        arguments, result = f"{types[tool.name]}Arguments", f"{types[tool.name]}Result"
        form = Shapes(tool.parameters, TYPESCRIPT).form()
        lines += ["", f"export interface {arguments} {{", *_typescript_members(form), "}"]
        args = f"args: {arguments}{'' if any(one[2] for one in form.parameters) else ' = {}'}"
        calling = f"call({json.dumps(tool.name, ensure_ascii=False)}, {{ ...args }})"
        method = f"    {methods[tool.name]}:"
        calls += _comment(tool.description, "    ")
        if (output := _output(tool)) is None:
            calls.append(f"{method} ({args}) => {calling},")
        else:
            lines += ["", f"export type {result} = {Shapes(output, TYPESCRIPT).of(output)};"]
            calls.append(f"{method} async ({args}): Promise<{result}> => valueOf<{result}>(await {calling}),")
    lines += ["", "export function createTools(call: CallTool) {", "  return {", *calls, "  };", "}", ""]
    return "\n".join(lines)


def _typescript_members(form: Form) -> list[str]:
    lines: list[str] = []
    for name, kind, required, schema in form.parameters:
        lines += _comment(schema.get("description"), "  ")
        lines.append(f"  {key(name)}{'' if required else '?'}: {kind};")
    if form.others is not None:
        # It holds for the named ones too, so it cannot say more than this beside them.
        lines.append(f"  [key: string]: {'unknown' if form.parameters else form.others};")
    return lines


def _comment(text: Any, indent: str) -> list[str]:
    line = first_line(text) if isinstance(text, str) else ""
    return [f"{indent}/** {line.replace('*/', '* /')} */"] if line else []


def _python(tools: list[ToolInfo]) -> str:
    methods = identifiers([tool.name for tool in tools], snake)
    types = _types_of(methods)
    lines = ["class Hub(Protocol):", "    async def execute(self, name: str, args: Any = None) -> Any: ..."]
    calls: list[str] = []
    for tool in tools:
        args, result = f"{types[tool.name]}Arguments", "Any"
        form = Shapes(tool.parameters, PYTHON).form()
        if form.others is None:
            lines += ["", "", *_typed_dict(args, form)]
            given = f"Unpack[{args}]"
        else:
            # No typed dict allows members without a name, so the type of all values is what can be said.
            kinds = list(dict.fromkeys([*(one[1] for one in form.parameters), form.others]))
            lines += ["", "", f"{args}: TypeAlias = {'Any' if 'Any' in kinds else ' | '.join(kinds)}"]
            given = args
        if (output := _python_output(tool)) is not None:
            result = f"{types[tool.name]}Result"
            lines += ["", "", *_python_result(result, *output)]
        calls += ["", f"    async def {methods[tool.name]}(self, /, **args: {given}) -> {result}:"]
        about = first_line(tool.description).replace("\\", "\\\\").replace('"', "'")
        calls += [f'        """{about}"""'] if about else []
        calling = f"(await self._hub.execute({tool.name!r}, dict(args))).unwrap()"
        if result == "Any":
            calls.append(f"        return {calling}")
        else:
            calls += [f"        value: {result} = {calling}", "        return value"]
    lines += [
        "",
        "",
        "class Tools:",
        '    """Each method calls a tool and returns its value; a failure raises `ToolError`."""',
        "",
        "    def __init__(self, hub: Hub) -> None:",
        "        self._hub = hub",
        *calls,
    ]
    body = "\n".join(lines)
    # Not every type is in every set of tools.
    names = ("Any", "Literal", "NotRequired", "Protocol", "TypeAlias", "TypedDict", "Unpack")
    used = [name for name in names if re.search(rf"\b{name}\b", body)]
    head = [
        '"""Written by `toolhub export --format py`. Use it with a hub: `await Tools(hub).name(key=value)`."""',
        "",
        f"from typing import {', '.join(used)}",
        "",
        "",
    ]
    return "\n".join([*head, body, ""])


def _typed_dict(name: str, form: Form) -> list[str]:
    lines = [f"{name} = TypedDict(", f'    "{name}",', "    {"]
    for member, kind, required, _ in form.parameters:
        kind = kind if required else f"NotRequired[{kind}]"
        lines.append(f"        {json.dumps(member, ensure_ascii=False)}: {kind},")
    return [*lines, "    },", ")"]


def _python_output(tool: ToolInfo) -> tuple[dict[str, Any], Any] | None:
    """The schema of what the hub gives for a call, in the schema that its references are about."""
    output = _output(tool)
    if output is None:
        return None
    properties = members(output.get("properties"))
    if list(properties) == ["result"]:
        # A value that is not an object, which the server has put into one: the hub takes it out. Without the mark only if it
        # also is the text of the answer, which no schema says.
        return (output, properties["result"]) if output.get(_WRAPPED) is True else None
    return output, output


def _python_result(name: str, root: dict[str, Any], schema: Any) -> list[str]:
    shapes = Shapes(root, PYTHON)
    is_one = schema is root and not {"anyOf", "oneOf"} & root.keys()
    if is_one and (form := shapes.form()).parameters:
        return _typed_dict(name, form)
    return [f"{name}: TypeAlias = {shapes.of(schema)}"]


_WRAPPED = "x-fastmcp-wrap-result"


_WRITERS: dict[str, Callable[[list[ToolInfo]], str]] = {"ts": _typescript, "py": _python, "openapi": openapi}
