"""The command `toolhub`. It imports what a subcommand needs when that runs."""

import argparse
import contextlib
import os
import sys
from collections.abc import Callable, Generator, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import ToolHub

_FAILED, _WRONG_USAGE = 1, 2


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; the exit code is 0 for success, 1 for a failure, 2 for wrong usage."""
    given = _parser().parse_args(arguments)
    return given.run(given)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        "toolhub", description="One interface to every tool your agent can call."
    )
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    serve = commands.add_parser(
        "serve",
        help="offer all tools as one MCP server",
        description="Offer MCP servers, Python tools and skills as one MCP server, on stdio or over HTTP.",
    )
    serve.set_defaults(run=_serve)
    several: dict[str, Any] = {"action": "append", "default": [], "metavar": "PATH"}
    serve.add_argument("--config", help="an mcpServers file; may be given several times", **several)
    serve.add_argument("--tools", help="a folder of Python tools; may be given several times", **several)
    serve.add_argument("--skills", help="a folder of skills; may be given several times", **several)
    serve.add_argument("--store", metavar="FILE", help="a file that keeps what the hub learns over restarts")
    serve.add_argument("--http", action="store_true", help="serve over HTTP instead of stdio")
    serve.add_argument("--host", help="the address for HTTP (127.0.0.1)")
    serve.add_argument("--port", type=int, help="the port for HTTP (8000)")
    serve.add_argument("--path", help="the path for HTTP (/mcp)")
    serve.add_argument("--sse-path", help="also serve HTTP+SSE for old clients at this path, such as /sse")
    serve.add_argument(
        "--allow-host",
        dest="allowed_hosts",
        action="append",
        metavar="NAME",
        help="a host name of this server",
    )
    serve.add_argument(
        "--allow-origin",
        dest="allowed_origins",
        action="append",
        metavar="ORIGIN",
        help="an origin of web pages",
    )
    serve.add_argument("--name", help="the server's name (toolhub)")
    serve.add_argument("--instructions", help="what clients tell their model about this server")
    serve.add_argument("--search-mode", choices=("auto", "on", "off"), help="(auto)")
    serve.add_argument("--core", action="append", metavar="TOOL", help="a tool that is listed in search mode")
    serve.add_argument("--audit", metavar="FILE", help="a file that gets a line for each call")
    serve.add_argument("--grace", type=float, help="seconds for running calls at the end (10)")
    record = commands.add_parser(
        "record",
        help="record the calls of a Python program",
        description="Run a command; the hubs in it record their calls, and those of models, to a cassette.",
    )
    record.set_defaults(run=_record)
    record.add_argument("--output", "-o", default="cassette.ndjson", metavar="FILE", help="(cassette.ndjson)")
    record.add_argument("command", nargs="+", metavar="COMMAND", help="after --")
    cassette = commands.add_parser("cassette", help="print what a cassette has recorded")
    cassette.set_defaults(run=_cassette)
    cassette.add_argument("file", metavar="FILE")
    evaluation = commands.add_parser(
        "eval",
        help="check recorded runs against cases",
        description="Check what recorded runs did: cassettes against the cases of a YAML file.",
    )
    evaluation.set_defaults(run=_eval)
    evaluation.add_argument("cases", metavar="FILE")
    evaluation.add_argument("--junit", metavar="FILE", help="write the results as JUnit's XML")
    evaluation.add_argument("--save", metavar="FILE", help="write the results, to be compared later")
    evaluation.add_argument("--compare", metavar="FILE", help="results of an earlier run (--save)")
    login = commands.add_parser(
        "login",
        help="sign in at an MCP server in the browser",
        description="Sign in at an MCP server in the browser. Its token is kept for later runs of this user.",
    )
    login.set_defaults(run=_login)
    login.add_argument("server", metavar="SERVER", help="the name of the server in the configuration")
    login.add_argument("--config", help="an mcpServers file; may be given several times", **several)
    _add_ledger_commands(commands)
    inspect = commands.add_parser("inspect", help="write a recorded run as a page")
    inspect.add_argument("file", metavar="FILE", help="a cassette or an audit log")
    inspect.add_argument("other", metavar="OTHER", nargs="?", help="a second one, to be compared")
    inspect.add_argument("--output", "-o", metavar="FILE", help="the page (FILE with the ending .html)")
    inspect.set_defaults(run=_inspect)
    return parser


def _inspect(given: argparse.Namespace) -> int:
    from .inspector import write

    try:
        sys.stdout.write(f"{write(given.file, given.output, other=given.other)}\n")
    except (ValueError, OSError) as error:
        return _failed(error, _FAILED)
    return 0


def _record(given: argparse.Namespace) -> int:
    import subprocess

    from .testing._environment import VARIABLE

    path = os.path.abspath(given.output)
    try:
        code = subprocess.run(given.command, env={**os.environ, VARIABLE: path}, check=False).returncode
    except OSError as error:
        return _failed(f"the command cannot be started: {error}", _WRONG_USAGE)
    if not os.path.exists(path):
        return _failed(
            f"nothing in the command has imported toolhub, so there is no {given.output}", code or _FAILED
        )
    return code


def _cassette(given: argparse.Namespace) -> int:
    from .testing.cassettes import CassetteError
    from .testing.showing import lines_of

    try:
        for line in lines_of(given.file):
            sys.stdout.write(f"{line}\n")
    except CassetteError as error:
        return _failed(error, _FAILED)
    return 0


def _eval(given: argparse.Namespace) -> int:
    from pathlib import Path

    from .testing import evaluation

    try:
        results = evaluation.evaluate(Path(given.cases))
        before = None if given.compare is None else Path(given.compare).read_text("utf-8")
        lines, is_worse = ([], False) if before is None else evaluation.compared(before, results)
        for path, text in ((given.junit, evaluation.junit), (given.save, evaluation.as_json)):
            if path is not None:
                Path(path).write_text(text(results), "utf-8")
    except (evaluation.CasesError, OSError) as error:
        return _failed(error, _WRONG_USAGE)
    for result in results:
        sys.stdout.write(f"{'ok    ' if result.passed else 'FAILED'} {result.name}\n")
        sys.stdout.writelines(f"       {failure}\n" for failure in result.failures)
    sys.stdout.writelines(f"{line}\n" for line in lines)
    sys.stdout.write(f"{sum(result.passed for result in results)} of {len(results)} cases passed\n")
    return _FAILED if is_worse or not all(result.passed for result in results) else 0


def _add_ledger_commands(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    def add(name: str, help: str, run: Any) -> argparse.ArgumentParser:
        command = commands.add_parser(name, help=help, description=help)
        command.set_defaults(run=run)
        command.add_argument("--store", metavar="FILE", required=True, help="the store of the hub")
        return command

    approve = add("approve", "approve a call that waits", _decide)
    approve.add_argument("id", metavar="ID", help="the id of the approval")
    deny = add("deny", "refuse a call that waits", _decide)
    deny.add_argument("id", metavar="ID", help="the id of the approval")
    deny.add_argument("--reason", help="what the call is answered with")
    deny.set_defaults(denies=True)
    pending = add("pending", "list the calls that wait for an approval", _pending)
    ledger = add("ledger", "list what calls that may have effects have done", _ledger)
    ledger.add_argument("--run", dest="of_run", metavar="RUN", help="only rows of this run")
    ledger.add_argument("--state", choices=("started", "done", "failed", "unknown"))
    for command in (pending, ledger):
        command.add_argument("--json", action="store_true", help="one JSON object a line")


def _decide(given: argparse.Namespace) -> int:
    denies = getattr(given, "denies", False)

    def decide(hub: "ToolHub") -> list[Any]:
        if denies:
            hub.deny(given.id, given.reason)
        else:
            hub.approve(given.id)
        return []

    code = _with_store(given, decide, str)
    if code == 0:
        _say(f"toolhub: {'denied' if denies else 'approved'} {given.id}")
    return code


def _pending(given: argparse.Namespace) -> int:
    def line(row: Any) -> str:
        run = "" if row.run is None else f" run={row.run}"
        return f"{row.id}{run} {row.shown}"

    return _with_store(given, lambda hub: hub.pending(), line)


def _ledger(given: argparse.Namespace) -> int:
    def line(row: Any) -> str:
        run = "" if row.run is None else f" run={row.run}"
        why = "" if row.error is None else f" ({row.error})"
        return f"{row.id} {row.state:7}{run} {row.server or row.source}/{row.tool} {row.arguments[:19]}{why}"

    return _with_store(given, lambda hub: hub.ledger(given.of_run, state=given.state), line)


def _with_store(
    given: argparse.Namespace, work: "Callable[[ToolHub], Sequence[Any]]", line: "Callable[[Any], str]"
) -> int:
    """Work with the store of a hub, and print what comes of it."""
    import json

    from . import ToolHub
    from .exceptions import ToolError

    if not os.path.isfile(given.store):
        return _failed(f"there is no store at '{given.store}'", _WRONG_USAGE)
    try:
        with ToolHub(store=given.store) as hub:
            rows = work(hub)
    except (OSError, ToolError) as error:
        return _failed(error, _FAILED)
    for row in rows:
        text = json.dumps(row.to_dict(), ensure_ascii=False) if given.json else line(row)
        sys.stdout.write(f"{text}\n")
    return 0


def _login(given: argparse.Namespace) -> int:
    from . import ToolHub
    from .exceptions import ToolError

    def show(_server: str, url: str) -> None:
        import webbrowser

        _say(f"toolhub: sign in at {url}")
        webbrowser.open(url)

    with ToolHub(open_url=show) as hub:
        errors = [error for path in given.config for error in hub.load_mcp(path).errors]
        if errors:
            return _failed(errors[0], _WRONG_USAGE)
        try:
            report = hub.connect_sync([given.server])
        except ToolError as error:
            return _failed(error, _WRONG_USAGE)
        if given.server in report.failed:
            return _failed(report.failed[given.server], _FAILED)
    _say(f"toolhub: signed in at {given.server}")
    return 0


def _serve(given: argparse.Namespace) -> int:
    import logging

    from . import ToolHub
    from .exceptions import ToolError

    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="%(name)s: %(message)s")
    logging.getLogger("toolhub.serving").setLevel(logging.INFO)
    try:
        # Tools may print while they are imported.
        with contextlib.nullcontext() if given.http else _stdout_to_stderr():
            hub = ToolHub(tools=given.tools, skills=given.skills, store=given.store)
            errors = [error for path in given.config for error in hub.load_mcp(path).errors]
    except (OSError, TypeError, ValueError, ToolError) as error:
        return _failed(error, _WRONG_USAGE)
    with hub:
        if errors:
            return _WRONG_USAGE  # they are logged
        try:
            hub._serve_configured(
                "http" if given.http else "stdio",
                lambda: _serve_options(given),
                lambda serving: _say(f"toolhub: serving {len(hub)} tools at {serving.url}"),
            )
        except (TypeError, ValueError) as error:
            return _failed(error, _WRONG_USAGE)
        except ToolError as error:
            return _failed(error, _FAILED)
        except KeyboardInterrupt:
            return 0
    return 0


_OPTIONS = (
    *("host", "port", "path", "sse_path", "grace", "name", "instructions"),
    *("allowed_hosts", "allowed_origins", "search_mode", "core", "audit"),
)


def _serve_options(given: argparse.Namespace) -> dict[str, Any]:
    """The options in the configuration files under `serve`; the environment and the arguments come after them."""
    from ._core import serve_section

    options: dict[str, Any] = {}
    for path in given.config:
        options |= serve_section(path) or {}
    for key in ("ready", "transport", "authenticate"):
        if key in options:
            raise ValueError(f"`serve` in a configuration file cannot have {key!r}")
    if token := os.environ.get("TOOLHUB_TOKEN"):
        options["token"] = token
    return options | {key: value for key in _OPTIONS if (value := getattr(given, key)) is not None}


def _failed(error: Exception | str, code: int) -> int:
    _say(f"toolhub: {error}")
    return code


def _say(line: str) -> None:
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()


@contextlib.contextmanager
def _stdout_to_stderr() -> Generator[None]:
    """What is printed meanwhile goes to stderr, because a line that is no message would break the protocol."""
    sys.stdout.flush()
    own = os.dup(1)
    os.dup2(2, 1)
    try:
        yield
    finally:
        sys.stdout.flush()
        os.dup2(own, 1)
        os.close(own)
