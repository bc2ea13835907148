"""`toolhub serve`: all tools as one MCP server, on stdio or over HTTP."""

import argparse
import contextlib
import json
import os
import sys
from collections.abc import Generator
from typing import TYPE_CHECKING, Any

from ._json import members
from ._output import FAILED, OK, USAGE, Failure, clean, counted, failing, is_terminal, put_json, say
from ._sources import NO_SERVER, config_files, serving_words, store_file

if TYPE_CHECKING:
    from ..hub import ToolHub
    from ..serving import Serving


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Those of the command."""
    parser.description = (
        "Offer MCP servers, Python tools and skills as one MCP server, on stdio or over HTTP."
    )
    parser.add_argument("--http", action="store_true", help="serve over HTTP instead of stdio")
    parser.add_argument("--host", help="the address for HTTP (default: 127.0.0.1)")
    parser.add_argument("--port", type=int, help="the port for HTTP (default: 8000)")
    parser.add_argument("--path", help="the path for HTTP (default: /mcp)")
    parser.add_argument("--sse-path", help="also serve HTTP+SSE for old clients at this path, such as /sse")
    parser.add_argument(
        "--allow-host",
        dest="allowed_hosts",
        action="append",
        metavar="NAME",
        help="another host name of this server; repeatable",
    )
    parser.add_argument(
        "--allow-origin",
        dest="allowed_origins",
        action="append",
        metavar="ORIGIN",
        help="an origin whose web pages may call; repeatable",
    )
    parser.add_argument("--name", help="the server's name (default: toolhub)")
    parser.add_argument("--instructions", help="instructions that clients give their model about this server")
    parser.add_argument("--search-mode", choices=("auto", "on", "off"), help="default: auto")
    parser.add_argument(
        "--core", action="append", metavar="TOOL", help="a tool to list in search mode; repeatable"
    )
    parser.add_argument("--audit", metavar="FILE", help="a file that gets one line for each call")
    parser.add_argument("--grace", type=float, help="seconds that running calls get at the end (default: 10)")
    parser.add_argument(
        "--json",
        action="store_true",
        help="print the addresses as one JSON object; on stdio, where stdout is for the client, to stderr",
    )


def run(given: argparse.Namespace) -> int:
    """Serve until the client leaves, a signal comes or the hub is closed."""
    import logging

    from ..exceptions import ToolError
    from ..hub import ToolHub

    for flag, option in () if given.http else _HTTP_FLAGS.items():
        if getattr(given, option) is not None:
            raise Failure(f"{flag} is for HTTP; add --http, or leave it out to serve on stdio", USAGE)
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="%(name)s: %(message)s")
    logging.getLogger("toolhub.serving").setLevel(logging.INFO)
    files = [os.path.expanduser(path) for path in config_files(given)]
    if not given.config and (of_itself := _starts_itself(files)):
        id, path = of_itself
        raise Failure(
            clean(
                f"server '{id}' of {path} starts 'toolhub serve', which would start itself; give it a --config"
            ),
            USAGE,
        )
    has_sources = bool(files or given.tools or given.skills)
    # Tools may print while they are imported.
    quiet = contextlib.nullcontext() if given.http and not given.json else _stdout_to_stderr()
    with failing(USAGE, OSError, TypeError, ValueError, ToolError), quiet:
        hub = ToolHub(tools=given.tools, skills=given.skills, store=store_file(given))
        reports = [hub.load_mcp(path) for path in files]
    with hub:
        errors = [error for report in reports for error in report.errors]
        # All are logged, and what is left is served.
        if errors and not (len(hub) or any(report.loaded for report in reports)):
            raise Failure(errors[0], USAGE, is_said=True)
        if given.json and not given.http:
            sys.stderr.write(json.dumps({"transport": "stdio", "tools": len(hub)}) + "\n")
            sys.stderr.flush()
        if not (given.http or has_sources):
            say(NO_SERVER)
        wrong, failed = failing(USAGE, TypeError, ValueError), failing(FAILED, ToolError)
        with contextlib.suppress(KeyboardInterrupt), wrong, failed:
            hub._serve_configured(
                "http" if given.http else "stdio",
                lambda: _serve_options(given, files),
                lambda serving: _ready(given, hub, serving, has_sources),
            )
    return OK


def _starts_itself(files: list[str]) -> tuple[str, str] | None:
    """A server, and its file, that is this command with the same files: it would start itself without end."""
    from .._core import config_entries

    for path in files:
        try:
            entries = config_entries(path)
        except ValueError:
            continue  # loading it says why
        for id, entry in entries.items():
            words = serving_words(members(entry))
            has_config = any(word.partition("=")[0] == "--config" for word in words)
            if words and not has_config and not members(entry).get("disabled"):
                return id, path
    return None


def _ready(given: argparse.Namespace, hub: "ToolHub", serving: "Serving", has_sources: bool) -> None:
    inspector = serving.inspect_url
    if given.json:
        addresses = {"url": serving.url, "inspect_url": inspector}
        put_json({"transport": "http", "tools": len(hub), **addresses})
        sys.stdout.flush()
    else:
        say(f"serving {counted(len(hub), 'tool')} at {serving.url}")
        if inspector is not None and is_terminal(sys.stderr):
            say(f"inspector at {inspector}")
        elif inspector is not None:
            # It may be the log of a service, which others read: the key is for the operator alone.
            address = inspector.partition("#")[0]
            say(f"inspector at {address}; run in a terminal or with --json to see its key")
    if not has_sources:
        say(NO_SERVER)


_HTTP_FLAGS = {
    "--host": "host",
    "--port": "port",
    "--path": "path",
    "--sse-path": "sse_path",
    "--allow-host": "allowed_hosts",
    "--allow-origin": "allowed_origins",
}
_OPTIONS = (*_HTTP_FLAGS.values(), "grace", "name", "instructions", "search_mode", "core", "audit")


def _serve_options(given: argparse.Namespace, files: list[str]) -> dict[str, Any]:
    """The options in the configuration files under `serve`; the environment and the arguments come after them."""
    from .._core import serve_section

    options: dict[str, Any] = {}
    for path in files:
        options |= serve_section(path) or {}
    for key in ("ready", "transport", "authenticate"):
        if key in options:
            raise ValueError(f"`serve` in a configuration file cannot have '{key}'")
    if token := os.environ.get("TOOLHUB_TOKEN"):
        options["token"] = token
    return options | {key: value for key in _OPTIONS if (value := getattr(given, key)) is not None}


@contextlib.contextmanager
def _stdout_to_stderr() -> Generator[None]:
    """What is printed meanwhile goes to stderr, because a line that is not a message would break the protocol."""
    sys.stdout.flush()
    own = os.dup(1)
    os.dup2(2, 1)
    try:
        yield
    finally:
        sys.stdout.flush()
        os.dup2(own, 1)
        os.close(own)
