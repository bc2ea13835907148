"""`toolhub show`: everything about one tool."""

import argparse

from .._core import ToolInfo
from ._catalog import open_catalog, require_tool, tool_as_json
from ._output import clean, paint, put, put_json
from ._shapes import SHORT, Shapes, signature


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Those of the command."""
    parser.add_argument("tool", metavar="TOOL", help="its name, or server.name")
    parser.add_argument("--schema", action="store_true", help="print the JSON Schema of its arguments")


def run(given: argparse.Namespace) -> int:
    """Print the signature, what the tool is for, its parameters and where it comes from."""
    with open_catalog(given) as catalog:
        tool = require_tool(catalog, given.tool)
        if given.schema:
            put_json(tool.parameters)
        elif given.json:
            put_json(tool_as_json(tool))
        else:
            _put(tool)
    return 0


def _put(tool: ToolInfo) -> None:
    put(paint(clean(signature(tool.name, tool.parameters)), "bold"))
    for line in clean(tool.description).strip().splitlines():
        put(f"  {line}".rstrip())
    parameters = Shapes(tool.parameters, SHORT).parameters()
    room = max((len(name) for name, *_ in parameters), default=0)
    if parameters:
        put("\nParameters")
    for name, kind, required, schema in parameters:
        about = schema.get("description")
        words = " ".join(about.split()) if isinstance(about, str) else ""
        must = "required" if required else "optional"
        put(clean(f"  {name.ljust(room)}  {kind}, {must}" + (f": {words}" if words else "")))
    put("\nComes from")
    for candidate in tool.candidates:
        place = f"{candidate.source} {candidate.server}" if candidate.server else candidate.source
        put(clean(f"  {place}, priority {candidate.priority}"))
    put(f"\nSafety: {tool.safety} ({clean(tool.evidence)})")
    if tool.capabilities:
        put(f"Capabilities: {clean(', '.join(tool.capabilities))}")
    for rule in tool.unchecked:
        put(f"Not checked: {clean(rule)}")
