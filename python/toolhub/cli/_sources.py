"""Where a command takes its tools from: configuration files, folders, and the store."""

import os

from ._json import items
from ._output import USAGE, Failure

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable
    from typing import Any

CONFIG, STORE = "TOOLHUB_CONFIG", "TOOLHUB_STORE"
_OPTIONS = {
    "config": ("FILE", "an mcpServers file; repeatable ('' for none)"),
    "tools": ("PATH", "a folder of Python tools; repeatable"),
    "skills": ("PATH", "a folder of skills; repeatable"),
    "store": ("FILE", "the file that keeps what the hub learns ('' for none)"),
}
NO_SERVER = "there is no server; name a file with --config, or run 'toolhub import'"


def add_source_arguments(parser: "argparse.ArgumentParser", wanted: "Iterable[str]") -> None:
    """Those of `--config`, `--tools`, `--skills` and `--store` that a command takes."""
    group = parser.add_argument_group("sources")
    for name in wanted:
        metavar, about = _OPTIONS[name]
        several: Any = {} if name == "store" else {"action": "append", "default": []}
        group.add_argument(f"--{name}", metavar=metavar, help=about, **several)


def config_files(given: "argparse.Namespace") -> list[str]:
    """The files that were named, else those of the environment, else the user's own if there is one.

    No file of the current folder is read unasked: whoever wrote it could start any program.
    """
    if given.config:
        return [path for path in given.config if path]
    if (named := os.environ.get(CONFIG)) is not None:
        return [path for path in named.split(os.pathsep) if path]
    own = own_config()
    return [own] if own is not None and os.path.isfile(own) else []


def own_config() -> str | None:
    """The user's own configuration file; None without a home."""
    folder = _user_folder("XDG_CONFIG_HOME", ".config")
    return None if folder is None else os.path.join(folder, "mcp.json")


def _user_folder(variable: str, usual: str) -> str | None:
    """The folder of toolhub in one of the user's base folders, as the XDG specification has them."""
    base = os.environ.get(variable, "")
    if not os.path.isabs(base):
        home = os.path.expanduser("~")
        if home == "~":
            return None
        base = os.path.join(home, usual)
    return os.path.join(base, "toolhub")


def serving_words(entry: "dict[str, Any]") -> list[str]:
    """The words of a server's command that is `toolhub serve`: a hub of the same files would start itself. Else none."""
    words = [str(word) for word in (entry.get("command"), *items(entry.get("args")))]
    return words if "serve" in words and "toolhub" in map(os.path.basename, words) else []


def store_file(given: "argparse.Namespace") -> str | None:
    """The store that was named, else that of the environment, else the user's own; None for none."""
    named = os.environ.get(STORE) if given.store is None else given.store
    if named is not None:
        return named or None
    folder = _user_folder("XDG_STATE_HOME", os.path.join(".local", "state"))
    if folder is None:
        return None
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
    except OSError:
        return None  # the commands work without a store
    return os.path.join(folder, "hub.db")


def existing_store(given: "argparse.Namespace") -> str:
    """The store, which must be there: a new one would have nothing to say."""
    path = store_file(given)
    if path is None or not os.path.isfile(path):
        raise Failure(f"there is no store at '{path or ''}'; name one with --store", USAGE)
    return path
