"""What may come next on a command line: commands, options, servers, tools, and the arguments of a tool.

Names come from the store, never from a server: completion must be quick, and must start nothing.
"""

from ._commands import COMMANDS, parser_for
from ._exits import Failure
from ._json import members
from ._output import put

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable

    from ._catalog import StoredCatalog

_PLAIN = ("string", "integer", "number", "boolean")
_TOOLS, _SERVERS = ("call", "show", "stats"), ("connect", "login", "list", "doctor")


def run(words: list[str]) -> int:
    """Print what may come next after `words`, a line each. Nothing is ever an error: a shell would show it inside a line."""
    try:
        for answer in answers(words):
            put(answer)
    except (Failure, OSError, ValueError, SystemExit):
        pass
    return 0


def answers(words: list[str]) -> list[str]:
    """What may come next after `words`, the last of which is being typed."""
    *before, typed = words or [""]
    command = next((word for word in before if not word.startswith("-")), None)
    if command is None:
        return _matching([*COMMANDS, "--help", "--version"], typed)
    if command not in COMMANDS:
        return []
    if typed.startswith("-"):
        return _matching(_options(command), typed)
    placed = [word for word in _without_options(command, before) if word != command]
    if command in _TOOLS and not placed:
        return _matching(_tool_names(before), typed)
    if command == "call":
        return _matching(_arguments(before, placed), typed)
    if command in _SERVERS:
        return _matching([row["id"] for row in _catalog(before).servers()], typed)
    if command == "import":
        from ._clients import known_names

        return _matching(known_names(), typed)
    if command == "completion":
        return _matching(("bash", "zsh", "fish"), typed)
    return []


def _matching(names: "Iterable[str]", typed: str) -> list[str]:
    return sorted(name for name in dict.fromkeys(names) if name.startswith(typed))


def _actions(command: str) -> "list[argparse.Action]":
    parser = parser_for([command])
    return [action for action in _subparser(parser, command)._actions if action.option_strings]


def _subparser(parser: "argparse.ArgumentParser", command: str) -> "argparse.ArgumentParser":
    (commands,) = (members(action.choices) for action in parser._actions if action.choices)
    return commands[command]


def _options(command: str) -> list[str]:
    return [name for action in _actions(command) for name in action.option_strings if name.startswith("--")]


def _without_options(command: str, words: list[str]) -> list[str]:
    """The words that are neither options nor their values."""
    takes_value = {
        name for action in _actions(command) if action.nargs != 0 for name in action.option_strings
    }
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


def _arguments(words: list[str], placed: list[str]) -> list[str]:
    from ._catalog import require_tool

    tool = require_tool(_catalog(words), placed[0])
    given = {word.partition("=")[0].rstrip(":") for word in placed[1:]}
    properties = members(tool.parameters.get("properties"))
    return [
        f"{name}{'=' if members(schema).get('type') in _PLAIN else ':='}"
        for name, schema in properties.items()
        if name not in given
    ]
