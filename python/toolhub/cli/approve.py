"""`toolhub pending`, `approve`, `deny`, `ledger` and `settle`: calls that wait for a person, and what calls have done."""

from ._output import FAILED, NOT_FOUND, OK, USAGE, Failure, answer, failing, one_line, put, put_json, say
from ._sources import existing_store

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Sequence
    from typing import Any, TypeVar

    from ..hub import ToolHub

    T = TypeVar("T")


def add_arguments(parser: "argparse.ArgumentParser") -> None:
    """Those of the command at hand."""
    command = parser.get_default("command")
    if command in ("approve", "deny"):
        parser.add_argument("id", metavar="ID", help="the id that 'toolhub pending' shows")
    if command == "settle":
        parser.add_argument("id", metavar="ID", help="the id that 'toolhub ledger --state unknown' shows")
        parser.add_argument(
            "decision",
            choices=("done", "failed", "again"),
            metavar="DECISION",
            help="done: it happened; failed: it did not, and the run continues with a failure; again: the run calls it again",
        )
        parser.add_argument("--result", metavar="JSON", help="its result, with done (default: null)")
    if command == "approve":
        parser.add_argument(
            "--full", action="store_true", help="print the whole question, and decide nothing"
        )
    if command == "deny":
        parser.add_argument("--reason", help="the reason that the call's error gives")
    if command == "ledger":
        parser.add_argument("--run", dest="of_run", metavar="RUN", help="only rows of this run")
        parser.add_argument(
            "--state", choices=("started", "not_sent", "done", "failed", "unknown"), help="only these rows"
        )


def run(given: "argparse.Namespace") -> int:
    """Carry out the command at hand."""
    commands = {
        "approve": _decide,
        "deny": _decide,
        "pending": _pending,
        "ledger": _ledger,
        "settle": _settle,
    }
    return commands[given.command](given)


def _decide(given: "argparse.Namespace") -> int:
    if getattr(given, "full", False):
        return _show(given)
    denies = given.command == "deny"
    _with_store(given, lambda hub: hub.deny(given.id, given.reason) if denies else hub.approve(given.id))
    state = "denied" if denies else "approved"
    answer(given, {"id": given.id, "state": state}, f"{state} {given.id}", say)
    return OK


def _show(given: "argparse.Namespace") -> int:
    rows = _with_store(given, lambda hub: [row for row in hub.pending() if row.id == given.id])
    if not rows:
        raise Failure(f"No call waits for approval '{given.id}'.", NOT_FOUND)
    answer(given, rows[0].to_dict(), one_line(rows[0].shown), put)
    return OK


def _pending(given: "argparse.Namespace") -> int:
    from .._core import shown_in_short

    def line(row: "Any") -> str:
        run = "" if row.run is None else f" run={row.run}"
        return f"{row.id}{run} {shown_in_short(row.shown)}"

    return _put(given, _with_store(given, lambda hub: hub.pending()), line)


def _ledger(given: "argparse.Namespace") -> int:
    from datetime import datetime

    def line(row: "Any") -> str:
        started = datetime.fromtimestamp(row.started_at).strftime("%Y-%m-%d %H:%M:%S")
        where = "" if row.server is None else f" on {row.server}"
        run = "" if row.run is None else f", run {row.run}"
        who = f", for {row.principal}" if row.principal else ""
        why = "" if row.error is None else f": {row.error}"
        return f"{row.id}  {started}  {row.state:8}  {row.tool}{where}{run}{who}{why}"

    rows = _with_store(given, lambda hub: hub.ledger(given.of_run, state=given.state))
    code = _put(given, rows, line)
    if unknown := sum(row.state == "unknown" for row in rows):
        advice = "check what happened, then run 'toolhub settle ID done', 'failed' or 'again'"
        say(f"unknown outcomes: {unknown}; {advice}")
    return code


def _settle(given: "argparse.Namespace") -> int:
    import json

    if given.result is not None and given.decision != "done":
        raise Failure("'--result' is for 'done'", USAGE)
    try:
        result = None if given.result is None else json.loads(given.result)
    except ValueError as error:
        raise Failure(f"'--result' is not valid JSON: {error}", USAGE) from None
    _with_store(given, lambda hub: hub.settle(given.id, given.decision, result))
    told = f"settled {given.id}: {given.decision}"
    answer(given, {"id": given.id, "decision": given.decision}, told, say)
    return OK


def _put(given: "argparse.Namespace", rows: "Sequence[Any]", line: "Callable[[Any], str]") -> int:
    if given.json:
        put_json({given.command: [row.to_dict() for row in rows]})
        return OK
    for row in rows:
        put(one_line(line(row)))
    return OK


def _with_store(given: "argparse.Namespace", work: "Callable[[ToolHub], T]") -> "T":
    """What comes of working with the store of a hub."""
    from ..exceptions import ErrorKind, ToolError
    from ..hub import ToolHub

    try:
        with failing(FAILED, OSError), ToolHub(store=existing_store(given)) as hub:
            return work(hub)
    except ToolError as error:
        raise Failure(error, NOT_FOUND if error.kind is ErrorKind.NOT_FOUND else FAILED) from None
