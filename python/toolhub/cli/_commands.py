"""The commands, and the parser for the one that was asked for."""

import argparse
from functools import partial
from importlib import import_module

from ._output import USAGE, Failure
from ._sources import add_source_arguments

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, NoReturn

COMMANDS = {
    "list": "print all tools as signatures",
    "search": "find tools by words",
    "show": "print everything about one tool",
    "call": "call a tool",
    "prompt": "print the system prompt, or the tools for a model's API",
    "parse": "find tool calls in a model's text",
    "serve": "offer all tools as one MCP server",
    "connect": "connect servers and list their tools",
    "import": "take over servers from the configuration of other clients",
    "export": "write a typed client, or an OpenAPI document",
    "doctor": "find out what is wrong with the servers",
    "stats": "print calls, failures and latency of each candidate",
    "pins": "list pinned definitions of tools, and accept changed ones",
    "login": "sign in at an MCP server in the browser",
    "pending": "list the calls that wait for approval",
    "approve": "approve a call that waits",
    "deny": "refuse a call that waits",
    "ledger": "list the calls that may have effects, and how they ended",
    "settle": "say how a call with an unknown outcome ended",
    "store": "accept a store that was replaced or restored",
    "record": "record the calls of a Python program",
    "replay": "run a Python program against its recording",
    "cassette": "print the events of a cassette",
    "eval": "check recorded runs against cases",
    "inspect": "write a recorded run as a page",
    "completion": "print the completion script for a shell",
    "demo": "a short tour of the hub",
}
_SERVERS = ("config", "store")
_ALL = ("config", "tools", "skills", "store")
# Where the tools of a command come from, or only the store.
_SOURCES: "dict[str, tuple[str, ...]]" = {
    **dict.fromkeys(("list", "search", "show", "call", "prompt", "serve", "export", "stats"), _ALL),
    **dict.fromkeys(("connect", "doctor", "pins", "login"), _SERVERS),
    **dict.fromkeys(("pending", "approve", "deny", "ledger", "settle", "store"), ("store",)),
}
# Names that Python uses itself, and commands that share a file.
_MODULES = {"list": "list_", "import": "import_", "eval": "eval_", "inspect": "inspect_"} | dict.fromkeys(
    ("deny", "pending", "ledger", "settle"), "approve"
)


# Each argument is tried on one when it is added. To find out the width of the terminal would take milliseconds.
_formatter = partial(argparse.HelpFormatter, width=80)


class _Parser(argparse.ArgumentParser):
    """Errors are one line; the usage is in `--help`."""

    def __init__(self, *args: "Any", **options: "Any") -> None:
        super().__init__(*args, formatter_class=_formatter, **options)

    def format_help(self) -> str:
        self.formatter_class = argparse.HelpFormatter
        return super().format_help()

    def error(self, message: str) -> "NoReturn":
        raise Failure(f"{message}; '{self.prog} --help' shows the usage", USAGE)


def module_of(command: str) -> "Any":
    """The module of a command."""
    return import_module(f"{__package__}.{_MODULES.get(command, command)}")


def parse(words: "Sequence[str]") -> argparse.Namespace:
    """The arguments of the command line; `run` among them carries the command out."""
    parser = parser_for(words)
    given, rest = parser.parse_known_args(words)
    if rest:
        _take_rest(parser, given, rest, words)
    return given


def _take_rest(
    parser: argparse.ArgumentParser, given: argparse.Namespace, rest: "list[str]", words: "Sequence[str]"
) -> None:
    """Give the words that argparse leaves over behind an option, and behind `--`, to the argument that takes several."""
    behind = list(words[words.index("--") + 1 :]) if "--" in words else []
    plain = [word for word in rest if word != "--"]
    front = plain[: len(plain) - len(behind)] if behind and plain[-len(behind) :] == behind else plain
    (commands,) = (action.choices for action in parser._actions if action.choices)
    command: Any = dict(commands)[given.command]  # pyright: ignore[reportArgumentType, reportCallIssue]
    several = [one.dest for one in command._actions if not one.option_strings and one.nargs in ("*", "+")]
    if wrong := [word for word in front if word.startswith("-")] or (plain if not several else []):
        command.error(f"unrecognized arguments: {' '.join(wrong)}")
    setattr(given, several[0], [*getattr(given, several[0]), *plain])


def parser_for(words: "Sequence[str]") -> argparse.ArgumentParser:
    """A parser that knows the command in `words` in full, and of the others only their names."""
    from .. import __version__

    parser = _Parser(
        "toolhub",
        description="One interface to every tool your agent can call.",
        epilog="Configuration: --config, else TOOLHUB_CONFIG, else ~/.config/toolhub/mcp.json. Store: --store, else "
        "TOOLHUB_STORE, else ~/.local/state/toolhub/hub.db.",
    )
    parser.add_argument("--version", action="version", version=f"toolhub {__version__}")
    wanted = next((word for word in words if not word.startswith("-")), None)
    if wanted is not None and wanted not in COMMANDS:
        parser.error(_unknown(wanted))
    commands = parser.add_subparsers(metavar="COMMAND", required=True, parser_class=_Parser)
    for name in COMMANDS if wanted is None else (wanted,):
        about = COMMANDS[name]
        command = commands.add_parser(name, help=about, description=f"{about[0].upper()}{about[1:]}.")
        if name == wanted:
            module = module_of(name)
            command.set_defaults(run=module.run, command=name)
            if hasattr(module, "add_arguments"):
                module.add_arguments(command)
            if "--json" not in command._option_string_actions:
                command.add_argument("--json", action="store_true", help="print one JSON object")
            if sources := _SOURCES.get(name):
                add_source_arguments(command, sources)
    return parser


def _unknown(command: str) -> str:
    from difflib import get_close_matches

    near = get_close_matches(command, COMMANDS, 1)
    return f"unknown command {command!r}" + (f" (did you mean {near[0]!r}?)" if near else "")
