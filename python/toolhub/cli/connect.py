"""`toolhub connect`: connects servers and lists their tools, which the store then keeps."""

from ._catalog import connect_with_progress, open_hub, require_server, tell
from ._describe import server_as_json
from ._exits import OK, code_of_connect
from ._output import add_json_argument, clean, put_json, put_table, say
from ._sources import NO_SERVER, add_source_arguments

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse


def add_arguments(parser: "argparse.ArgumentParser") -> None:
    """Those of the command."""
    parser.add_argument("servers", nargs="*", default=[], metavar="SERVER", help="only these servers")
    parser.add_argument("--timeout", type=float, metavar="SECONDS", help="the limit for each server")
    add_json_argument(parser)
    add_source_arguments(parser, folders=False)


def run(given: "argparse.Namespace") -> int:
    """Print the state of each server; the exit code is 3 if one cannot be reached, 4 if one wants a login."""
    with open_hub(given) as (hub, problems):
        tell(problems)
        rows = [vars(info) for info in hub.servers()]
        for id in given.servers:
            require_server(rows, id)
        report = connect_with_progress(hub, given.servers or None, given.timeout)
        rows = [vars(info) for info in hub.servers() if not given.servers or info.id in given.servers]
        if given.json:
            put_json({"servers": [server_as_json(row) for row in rows], "problems": problems})
        elif rows:
            shown = [
                (row["id"], row["state"], row["transport"], row["era"] or "-", row["tools"] or 0)
                for row in rows
            ]
            put_table(("SERVER", "STATE", "TRANSPORT", "ERA", "TOOLS"), shown)
        else:
            say(NO_SERVER)
        for id, error in report.failed.items():
            if not given.json:
                say(clean(f"'{id}': {error}"))
        codes = [code_of_connect(error.kind) for error in report.failed.values()]
        return max(codes, default=OK)
