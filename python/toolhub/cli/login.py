"""`toolhub login`: signs in at a server in the browser. The token is kept for later runs of this user."""

from ._catalog import open_hub, require_server, tell
from ._exits import OK, USAGE, Failure, code_of_connect
from ._output import add_json_argument, put_json, say
from ._sources import add_source_arguments

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse


def add_arguments(parser: "argparse.ArgumentParser") -> None:
    """Those of the command."""
    parser.add_argument("server", metavar="SERVER", help="the name of the server in the configuration")
    parser.add_argument("--no-browser", action="store_true", help="only print the address to open")
    parser.add_argument(
        "--timeout", type=float, metavar="SECONDS", help="how long to wait for the user (300)"
    )
    add_json_argument(parser)
    add_source_arguments(parser, folders=False)


def run(given: "argparse.Namespace") -> int:
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
        require_server([vars(info) for info in hub.servers()], given.server)
        try:
            report = hub.connect_sync([given.server], timeout=given.timeout)
        except (ToolError, ValueError) as error:
            raise Failure(error, USAGE) from None
        if given.server in report.failed:
            error = report.failed[given.server]
            raise Failure(error, code_of_connect(error.kind))
    if given.json:
        put_json({"server": given.server, "connected": True, "asked": bool(asked)})
    elif asked:
        say(f"signed in at {given.server}")
    else:
        say(f"connected to {given.server} (no login required)")
    return OK
