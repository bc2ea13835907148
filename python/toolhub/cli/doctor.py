"""`toolhub doctor`: for each server the first step that fails, and what to do about it."""

import os

from .. import _core
from . import _diagnosis
from ._catalog import connect_with_progress, open_hub, require_server
from ._diagnosis import STEPS, Diagnosis
from ._output import AUTH, CONNECT, FAILED, OK, USAGE, Failure, clean, paint, put, put_json
from ._sources import config_files

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse

    from ..hub import ToolHub

_CODES = {"file": USAGE, "command": CONNECT, "start": CONNECT, "era": CONNECT, "auth": AUTH}
_TIMEOUT = 20.0


def add_arguments(parser: "argparse.ArgumentParser") -> None:
    """Those of the command."""
    parser.add_argument("servers", nargs="*", default=[], metavar="SERVER", help="only these servers")
    parser.add_argument(
        "--timeout", type=float, default=_TIMEOUT, metavar="SECONDS", help="for each server (default: 20)"
    )


def run(given: "argparse.Namespace") -> int:
    """Print what was found; the exit code is that of the first server with a problem."""
    files = config_files(given)
    if not files:
        raise Failure("there is no configuration; name a file with --config, or run 'toolhub import'", USAGE)
    found: list[Diagnosis] = []
    # Each file is loaded on its own, so that a broken one does not hide the others.
    with open_hub(given, []) as (hub, _):
        for path in files:
            found += _load(hub, path)
        ids = {one.id for one in found} | {info.id for info in hub.servers()}
        for id in given.servers:
            require_server(sorted(ids), id)
        found += _examine(hub, given)
    if given.servers:
        found = [one for one in found if one.id in given.servers]
    if given.json:
        put_json(
            {"ok": all(one.failed is None for one in found), "servers": [_as_json(one) for one in found]}
        )
    else:
        for one in found:
            _put(one)
    return next((_CODES.get(one.failed, FAILED) for one in found if one.failed is not None), OK)


def _load(hub: "ToolHub", path: str) -> list[Diagnosis]:
    """What is wrong with a file and its entries."""
    report = hub.load_mcp(path)
    try:
        ids = list(_core.config_entries(os.path.expanduser(path)))
    except ValueError:
        return [_diagnosis.wrong_file(path, report.errors[0] if report.errors else "cannot be read")]
    wrong: list[Diagnosis] = []
    for id in ids:
        about = [error for error in report.errors if f"server '{id}'" in error]
        if about:
            wrong.append(_diagnosis.wrong_entry(id, about[0]))
    if not ids:
        message = (report.errors or report.warnings or [f"{path}: names no servers."])[0]
        wrong.append(_diagnosis.wrong_file(path, message))
    return wrong


def _examine(hub: "ToolHub", given: "argparse.Namespace") -> list[Diagnosis]:
    """Connect the servers and look at what they list."""
    asked = [
        info.id
        for info in hub.servers()
        if info.state != "disabled" and (not given.servers or info.id in given.servers)
    ]
    if not asked:
        return []
    report = connect_with_progress(hub, asked, given.timeout)
    silent = [info.id for info in hub.servers() if info.id in report.connected and info.tools is None]
    unlisted = hub.refresh_sync(silent, timeout=given.timeout).failed if silent else {}
    found: list[Diagnosis] = []
    for info in hub.servers():
        if info.id not in asked:
            continue
        error = report.failed.get(info.id)
        if error is not None and info.state == "connected":
            one = _diagnosis.not_listed(info.id, error)
        elif error is not None:
            one = _diagnosis.not_connected(info.id, info.transport, error)
        elif info.tools is None:
            one = _diagnosis.not_listed(info.id, unlisted.get(info.id))
        else:
            tools = hub._core.tools(None, info.id)
            own = [one for tool in tools for one in tool.candidates if one.server == info.id]
            one = _diagnosis.connected(info, own)
        found.append(_diagnosis.note_stray_output(one, info))
    return found


def _put(one: Diagnosis) -> None:
    put(paint(clean(one.id), "bold") + (f"  {one.facts}" if one.failed is None else ""))
    if one.failed is None:
        put(f"  {paint('ok', 'green')}      {', '.join(STEPS)}")
    else:
        if one.passed:
            put(f"  {paint('ok', 'green')}      {', '.join(one.passed)}")
        put(f"  {paint('FAILED', 'red')}  {one.failed}: {clean(one.message)}")
        put(f"          {one.advice}")
    for note in one.notes:
        put(f"  {paint('note', 'yellow')}    {clean(note)}")


def _as_json(one: Diagnosis) -> dict[str, object]:
    return {
        "id": one.id,
        "ok": one.failed is None,
        "failed": one.failed,
        "message": one.message or None,
        "advice": one.advice or None,
        "passed": one.passed,
        "notes": one.notes,
    }
