"""Where a command takes its tools from: configuration files, folders, and the store."""

import os

from ._exits import USAGE, Failure

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse

CONFIG, STORE = "TOOLHUB_CONFIG", "TOOLHUB_STORE"
NO_SERVER = "there is no server; name a file with --config, or run 'toolhub import'"


def add_source_arguments(parser: "argparse.ArgumentParser", *, folders: bool = True) -> None:
    """`--config`, `--store`, and with `folders` also `--tools` and `--skills`."""
    group = parser.add_argument_group("sources")
    add_config_argument(group)
    if folders:
        group.add_argument(
            "--tools",
            action="append",
            default=[],
            metavar="PATH",
            help="a folder of Python tools; repeatable",
        )
        group.add_argument(
            "--skills", action="append", default=[], metavar="PATH", help="a folder of skills; repeatable"
        )
    add_store_argument(group)


def add_config_argument(group: "argparse._ActionsContainer") -> None:
    """`--config`."""
    group.add_argument(
        "--config",
        action="append",
        default=[],
        metavar="FILE",
        help="an mcpServers file; repeatable ('' for none)",
    )


def add_store_argument(group: "argparse._ActionsContainer") -> None:
    """`--store`."""
    group.add_argument(
        "--store", metavar="FILE", help="the file that keeps what the hub learns ('' for none)"
    )


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
