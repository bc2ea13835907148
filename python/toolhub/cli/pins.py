"""`toolhub pins`: accepted definitions of tools, and those that have changed since."""

import argparse

from ._catalog import connect_missing, open_hub, require_server
from ._output import FAILED, NOT_FOUND, OK, Failure, answer, clean, counted, put_json, put_table, say


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Those of the command."""
    parser.add_argument("--accept", metavar="SERVER[.TOOL]", help="accept changed definitions")
    parser.add_argument("--changed", action="store_true", help="only those that wait to be accepted")


def run(given: argparse.Namespace) -> int:
    """Print the pins, or accept changed ones; the exit code is 1 while a definition differs from the accepted one."""
    with open_hub(given) as (hub, problems):
        code = connect_missing(hub, problems)
        ids = [info.id for info in hub.servers()]
        if given.accept is not None:
            server, _, tool = given.accept.partition(".")
            if given.accept in ids:
                server, tool = given.accept, ""
            require_server(ids, server)
            report = hub.connect_sync([server])
            if server in report.failed:
                raise Failure(report.failed[server], code or FAILED)
            accepted = hub.pins.accept(server, tool or None)
            if tool and not any(pin["server"] == server and pin["tool"] == tool for pin in hub.pins.list()):
                raise Failure(f"no tool '{tool}' of '{server}' is pinned", NOT_FOUND)
            answer(given, {"accepted": accepted}, f"accepted {counted(accepted, 'changed definition')}", say)
            return OK
        pins = [pin for pin in hub.pins.list() if not given.changed or pin["state"] != "accepted"]
        if given.json:
            put_json({"pins": pins})
        elif pins:
            put_table(
                ("SERVER", "TOOL", "STATE"),
                [(clean(p["server"]), clean(p["tool"]), p["state"]) for p in pins],
            )
        else:
            say("no tool is pinned; set `pin` to true under `toolhub` of a server")
        return code or (FAILED if any(pin["state"] != "accepted" for pin in pins) else OK)
