"""`toolhub login`: signs in at a server in the browser. The token is kept for later runs of this user."""

import argparse

from ._catalog import open_hub, require_server, tell
from ._output import OK, USAGE, Failure, answer, code_of_connect, failing, say


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Those of the command."""
    parser.add_argument("server", metavar="SERVER", help="the name of the server in the configuration")
    parser.add_argument("--no-browser", action="store_true", help="only print the address to open")
    parser.add_argument(
        "--timeout", type=float, metavar="SECONDS", help="how long to wait for the login (default: 300)"
    )


def run(given: argparse.Namespace) -> int:
    """Connect the server; when it wants a login, show the page and wait for the user."""
    from ..exceptions import ToolError

    asked: list[str] = []

    def show(_server: str, url: str) -> None:
        asked.append(url)
        say(f"sign in at {url}")
        if not given.no_browser:
            import webbrowser

            webbrowser.open(url)

    with open_hub(given, login={"open_url": show}) as (hub, problems):
        tell(problems)
        require_server((info.id for info in hub.servers()), given.server)
        with failing(USAGE, ToolError, ValueError):
            report = hub.connect_sync([given.server], timeout=given.timeout)
        if given.server in report.failed:
            error = report.failed[given.server]
            raise Failure(error, code_of_connect(error.kind))
    told = f"signed in at {given.server}" if asked else f"connected to {given.server} (no login required)"
    answer(given, {"server": given.server, "connected": True, "asked": bool(asked)}, told, say)
    return OK
