"""`toolhub list`: all tools, as a header file shows functions."""

import argparse

from .._core import ToolInfo
from ._catalog import group_of, open_catalog, tool_as_json, where
from ._output import clean, counted, cut, first_line, paint, put, put_json, width
from ._shapes import signature


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Those of the command."""
    parser.add_argument("server", nargs="?", metavar="SERVER", help="only the tools of this server")
    parser.add_argument("--names", action="store_true", help="print the names only")


def run(given: argparse.Namespace) -> int:
    """Print the tools, one group for each place that they come from."""
    with open_catalog(given) as catalog:
        tools = catalog.tools(given.server)
        if given.json:
            put_json({"tools": [tool_as_json(tool) for tool in tools], "problems": catalog.problems})
        elif given.names:
            for tool in tools:
                put(clean(tool.name))
        else:
            _put_groups(tools)
        return catalog.code


def _put_groups(tools: list[ToolInfo]) -> None:
    groups: dict[str, list[ToolInfo]] = {}
    for tool in tools:
        groups.setdefault(group_of(tool), []).append(tool)
    for at, (group, members) in enumerate(groups.items()):
        if at:
            put()
        put(paint(f"// {clean(group)}: {counted(len(members), 'tool')}", "dim"))
        for tool in members:
            _put_tool(tool)


def _put_tool(tool: ToolInfo) -> None:
    name, call = clean(tool.name), clean(signature(tool.name, tool.parameters))
    about = " ".join(part for part in (first_line(tool.description), where(tool)) if part)
    room = width()
    line = f"{call};  // {about}" if about else f"{call};"
    if room is not None and len(line) > room:
        # A signature is never cut; what it is for goes on a line of its own.
        if len(call) + 20 > room and about:
            put(f"{paint(name, 'cyan')}{call[len(name) :]};")
            put(paint(f"    // {cut(about, room - 7)}", "dim"))
            return
        line = cut(line, room)
    put(f"{paint(name, 'cyan')}{line[len(name) : len(call) + 1]}{paint(line[len(call) + 1 :], 'dim')}")
