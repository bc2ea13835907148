"""What may come next on a command line: commands, options, servers, tools, and the arguments of a tool.

Names come from the store, never from a server: completion must be quick, and must start nothing.
"""

import json

from ._commands import COMMANDS, parser_for
from ._json import items, members
from ._output import Failure, one_line, put

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable
    from typing import Any

    from ._catalog import StoredCatalog

_PLAIN = ("string", "integer", "number", "boolean")
_TOOLS, _SERVERS = ("call", "show", "stats"), ("connect", "login", "list", "doctor", "export")
_OF_FILES = ("parse", "record", "replay", "cassette", "eval", "inspect")
# The scripts let their shell complete files where they read this.
FILES = ":files"


def run(words: list[str]) -> int:
    """Print what may come next after `words`, a line each. Nothing is ever an error: a shell would show it inside a line.

    Text with control characters or invisible ones is not offered: it could look like two answers, or like another one.
    """
    try:
        for answer in answers(words):
            if one_line(answer) == answer and "\t" not in answer:
                put(answer)
    except (Failure, OSError, ValueError, SystemExit):
        pass
    return 0


def answers(words: list[str]) -> list[str]:
    """What may come next after `words`, the last of which is being typed. `FILES` among them stands for the names of files."""
    *before, typed = words or [""]
    command = next((word for word in before if not word.startswith("-")), None)
    if command is None:
        return _matching([*COMMANDS, "--help", "--version"], typed)
    if command not in COMMANDS:
        return []
    if "--" in before:
        return [FILES] if command in ("record", "replay") else _in_place(command, before, typed)
    if typed.startswith("-"):
        option, sign, value = typed.partition("=")
        if not sign:
            return _matching(_options(command), typed)
        return [f"{option}={one}" for one in _values(command, option, before, value) if one != FILES]
    if before[-1].startswith("-") and before[-1] in _taking_values(command):
        return _values(command, before[-1], before, typed)
    return _in_place(command, before, typed)


def _in_place(command: str, before: list[str], typed: str) -> list[str]:
    """What may come next where no option is."""
    placed = [word for word in _without_options(command, before) if word not in (command, "--")]
    if command in _TOOLS and not placed:
        return _matching(_tool_names(before), typed)
    if command == "call":
        return _matching(_arguments(before, placed, typed), typed)
    if command in _SERVERS:
        return _matching([row["id"] for row in _catalog(before).servers()], typed)
    if command == "import":
        from ._clients import known_names

        return [*_matching(known_names(), typed), FILES]
    if command == "completion":
        return _matching(("bash", "zsh", "fish"), typed)
    return [FILES] if command in _OF_FILES else []


def _values(command: str, option: str, before: list[str], typed: str) -> list[str]:
    """What may come after an option that takes a value."""
    action = next((one for one in _actions(command) if option in one.option_strings), None)
    if action is None:
        return []
    if action.choices is not None:
        return _matching(map(str, action.choices), typed)
    if action.dest == "server":
        return _matching([row["id"] for row in _catalog(before).servers()], typed)
    if action.dest in ("accept", "core"):
        servers = [row["id"] for row in _catalog(before).servers()] if action.dest == "accept" else []
        return _matching([*servers, *_tool_names(before)], typed)
    return [FILES] if action.metavar in ("FILE", "PATH") else []


def _matching(names: "Iterable[str]", typed: str) -> list[str]:
    return sorted(name for name in dict.fromkeys(names) if name.startswith(typed))


def _actions(command: str) -> "list[argparse.Action]":
    (commands,) = (members(action.choices) for action in parser_for([command])._actions if action.choices)
    return [action for action in commands[command]._actions if action.option_strings]


def _options(command: str) -> list[str]:
    return [name for action in _actions(command) for name in action.option_strings if name.startswith("--")]


def _taking_values(command: str) -> set[str]:
    return {name for action in _actions(command) if action.nargs != 0 for name in action.option_strings}


def _without_options(command: str, words: list[str]) -> list[str]:
    """The words that are neither options nor their values."""
    takes_value = _taking_values(command)
    kept: list[str] = []
    skips = False
    for word in words:
        if skips:
            skips = False
        elif word.startswith("-"):
            skips = word in takes_value
        else:
            kept.append(word)
    return kept


def _catalog(words: list[str]) -> "StoredCatalog":
    import argparse
    from itertools import pairwise

    from ._catalog import StoredCatalog
    from ._sources import config_files, store_file

    def values(option: str) -> list[str]:
        return [value for word, value in pairwise(words) if word == option]

    given = argparse.Namespace(config=values("--config"), store=(values("--store") or [None])[-1])
    return StoredCatalog(config_files(given), store_file(given))


def _tool_names(words: list[str]) -> list[str]:
    """Names, and `server.name` for those of servers."""
    catalog = _catalog(words)
    names: list[str] = []
    for tool in catalog.tools():
        names.append(tool.name)
        names += [f"{one.server}.{tool.name}" for one in tool.candidates if one.server is not None]
    return names


def _arguments(words: list[str], placed: list[str], typed: str) -> list[str]:
    """The parameters of a tool; after one of them, the values that it may have."""
    from ._catalog import require_tool

    tool = require_tool(_catalog(words), placed[0])
    given = {word.partition("=")[0].rstrip(":") for word in placed[1:]}
    properties = members(tool.parameters.get("properties"))
    name, sign, _ = typed.partition("=")
    if sign:
        is_json = name.endswith(":")
        values = _enum(members(properties.get(name.rstrip(":"))))
        texts = (v if isinstance(v, str) and not is_json else json.dumps(v) for v in values)
        return [f"{name}={text}" for text in texts]
    return [
        f"{name}{'=' if members(schema).get('type') in _PLAIN or _enum(members(schema)) else ':='}"
        for name, schema in properties.items()
        if name not in given
    ]


def _enum(schema: "dict[str, Any]") -> "list[Any]":
    """The values that a parameter may have, where those are a few plain ones."""
    if schema.get("type") == "boolean":
        return [True, False]
    values = [schema["const"]] if "const" in schema else items(schema.get("enum"))
    return values if all(isinstance(value, (str, int, float)) for value in values) else []
