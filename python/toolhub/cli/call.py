"""`toolhub call`: one call of a tool.

Arguments are `key=text`, `key:=json`, `@file` with an object in JSON (`@-` reads stdin), or an object itself. Text becomes what
the schema of the tool wants: the core does that, as for every call.
"""

import sys

from .._progress_line import ProgressLine
from ._catalog import open_hub, split_name, tell
from ._json import items, members
from ._output import (
    FAILED,
    NOT_FOUND,
    USAGE,
    Failure,
    clean,
    code_of,
    code_of_connect,
    failing,
    is_terminal,
    put,
    put_json,
    say,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from typing import Any

    from ..hub import ToolHub
    from ..result import ToolResult


def add_arguments(parser: "argparse.ArgumentParser") -> None:
    """Those of the command."""
    parser.add_argument("tool", metavar="TOOL", help="its name, or server.name")
    parser.add_argument(
        "arguments",
        nargs="*",
        default=[],
        metavar="ARGUMENT",
        help="key=text, key:=json, @file, @- or a JSON object",
    )
    parser.add_argument(
        "--timeout", type=float, metavar="SECONDS", help="limit for each candidate (default: 30)"
    )
    parser.add_argument(
        "--strategy", choices=("auto", "first", "all", "fallback"), default="auto", help="default: auto"
    )
    parser.add_argument(
        "--source", choices=("tools", "skills", "mcps"), help="only candidates of this source"
    )
    parser.add_argument("--server", metavar="ID", help="only the candidate of this server")
    parser.add_argument("--full", action="store_true", help="print all content blocks, not only the result")


def run(given: "argparse.Namespace") -> int:
    """Call the tool and print what it answers."""
    arguments = read_arguments(given.arguments)
    line = ProgressLine()

    def progress(report: "dict[str, Any]") -> None:
        line.show(f"{given.tool}: {_shown(report)}")

    with open_hub(given) as (hub, problems):
        tell(problems)
        server, name = given.server, given.tool
        if server is None and name not in hub:
            server, name = split_name(name, [row.id for row in hub.servers()])
        options: dict[str, Any] = {"strategy": given.strategy, "source": given.source, "server": server}
        options |= {} if given.timeout is None else {"timeout": given.timeout}
        if is_terminal(sys.stderr):
            options["progress"] = progress
            line.show(f"calling {given.tool}")
        try:
            with failing(USAGE, TypeError, ValueError):
                result = hub.call(name, arguments, **options)
        finally:
            line.clear()
        code = 0 if result.success else code_of(result.kind)
        if code == FAILED and server is not None and not _lists(hub, server, name):
            # Servers answer for a tool that they do not have in words of their own.
            code = NOT_FOUND
        elif code == NOT_FOUND:
            code = _code_of_missing(hub, server) or NOT_FOUND
        _put(result, given)
        return code


def _lists(hub: "ToolHub", server: str, name: str) -> bool:
    """Whether a server lists a tool. One that cannot list its tools may have it."""

    def is_listed() -> bool:
        return any(tool.name == name for tool in hub.tools(server=server))

    # A list that is still under way is waited for.
    return is_listed() or bool(hub.refresh_sync([server]).failed) or is_listed()


def _code_of_missing(hub: "ToolHub", server: str | None) -> int:
    """The exit code for servers that could not list their tools, which may have the one that was not found; 0 if all could."""
    codes: list[int] = []
    for info in hub.servers():
        if info.error is not None and info.tools is None and server in (None, info.id):
            say(clean(f"the tools of '{info.id}' are missing: {info.error}"))
            codes.append(code_of_connect(info.error.kind))
    return max(codes, default=0)


def _put(result: "ToolResult", given: "argparse.Namespace") -> None:
    if given.json:
        shown = dict(result)
        if given.full:
            shown |= {"content": result.content, "structured": result.structured}
        put_json(shown)
    elif result.success:
        text = result.text
        if given.full:
            import json

            text = "\n".join(json.dumps(block, ensure_ascii=False) for block in result.content)
        put(clean(text) if is_terminal(sys.stdout) else text)
    if not given.json:
        # Such as an argument that the tool does not know, which was sent all the same.
        for warning in items(result.meta.get("warnings")):
            say(clean(str(warning)))
        if not result.success:
            say(clean(str(result.error)))


def read_arguments(words: list[str]) -> "dict[str, Any]":
    """The arguments of a call. A key that is given several times has a list of its values.

    >>> read_arguments(["path=a.txt", "lines:=[1, 2]", "tag=x", "tag=y", '{"deep": true}'])
    {'path': 'a.txt', 'lines': [1, 2], 'tag': ['x', 'y'], 'deep': True}
    """
    arguments: dict[str, Any] = {}
    given: set[str] = set()
    for word in words:
        if word.startswith("@"):
            arguments |= _object(read_text(word[1:]), f"'{word[1:]}'")
        elif word.lstrip().startswith("{"):
            arguments |= _object(word, "the command line")
        else:
            key, value = _pair(word)
            if key in given:
                before = arguments[key]
                value = [*items(before), value] if isinstance(before, list) else [before, value]
            arguments[key] = value
            given.add(key)
    return arguments


def _pair(word: str) -> "tuple[str, Any]":
    key, sign, text = word.partition("=")
    if not sign or not key.rstrip(":"):
        raise Failure(f"an argument is key=text, key:=json, @file or a JSON object, got '{word}'", USAGE)
    if not key.endswith(":"):
        return key, text
    try:
        return key[:-1], _json(text)
    except ValueError as error:
        raise Failure(f"'{key}=' expects JSON, got '{text}': {error}", USAGE) from None


def _json(text: str) -> "Any":
    """The value of a JSON text. NaN is not JSON, and a number that no float can hold would be infinite."""
    import json
    from math import isfinite

    def number(digits: str) -> float:
        if not isfinite(value := float(digits)):
            raise ValueError(f"{digits} is not a number that a tool can get")
        return value

    return json.loads(text, parse_float=number, parse_constant=number)


def _object(text: str, what: str) -> "dict[str, Any]":
    try:
        value = _json(text)
    except ValueError as error:
        raise Failure(f"the arguments in {what} are not valid JSON: {error}", USAGE) from None
    if not isinstance(value, dict):
        raise Failure(f"the arguments in {what} must be a JSON object, got {type(value).__name__}", USAGE)
    return members(value)


def read_text(path: str) -> str:
    """The text of a file; `-` is stdin."""
    try:
        if path == "-":
            return sys.stdin.read().removeprefix("\ufeff")
        # Editors of Windows put a mark at the start.
        with open(path, encoding="utf-8-sig") as file:
            return file.read()
    except OSError as error:
        raise Failure(f"the file '{path}' cannot be read: {error.strerror}", USAGE) from None
    except UnicodeDecodeError:
        raise Failure(f"the file '{path}' is not valid UTF-8", USAGE) from None


def _shown(report: "dict[str, Any]") -> str:
    done, total, message = (report.get(part) for part in ("progress", "total", "message"))
    of = "" if total is None else f" of {total:g}"
    return f"{done:g}{of}" + (f" {clean(str(message))}" if message else "")
