"""`toolhub connect`: connects servers and lists their tools, which the store then keeps."""

import argparse

from ._catalog import connect_with_progress, open_hub, require_server, server_as_json, tell
from ._output import OK, clean, code_of_connect, put_json, put_table, say
from ._sources import NO_SERVER


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Those of the command."""
    parser.add_argument("servers", nargs="*", default=[], metavar="SERVER", help="only these servers")
    parser.add_argument("--timeout", type=float, metavar="SECONDS", help="limit for each server")


def run(given: argparse.Namespace) -> int:
    """Print the state of each server; the exit code is 3 if one cannot be reached, 4 if one wants a login."""
    with open_hub(given) as (hub, problems):
        tell(problems)
        ids = [info.id for info in hub.servers()]
        for id in given.servers:
            require_server(ids, id)
        report = connect_with_progress(hub, given.servers or None, given.timeout)
        rows = [row for row in hub._servers.rows() if not given.servers or row["id"] in given.servers]
        if given.json:
            put_json({"servers": [server_as_json(row) for row in rows], "problems": problems})
        elif rows:
            columns = ("id", "state", "transport", "era", "tools")
            shown = ({**row, "era": row["era"] or "-", "tools": row["tools"] or 0} for row in rows)
            put_table(
                ("SERVER", "STATE", "TRANSPORT", "ERA", "TOOLS"),
                ([row[one] for one in columns] for row in shown),
            )
        else:
            say(NO_SERVER)
        for id, error in report.failed.items():
            if not given.json:
                say(clean(f"'{id}': {error}"))
        return max((code_of_connect(error.kind) for error in report.failed.values()), default=OK)
