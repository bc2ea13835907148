"""`toolhub cassette`: what a cassette has recorded."""

from ._exits import USAGE, Failure
from ._output import add_json_argument, clean, put, put_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse


def add_arguments(parser: "argparse.ArgumentParser") -> None:
    """Those of the command."""
    parser.add_argument("file", metavar="FILE")
    add_json_argument(parser)


def run(given: "argparse.Namespace") -> int:
    """Print a line for each event."""
    from ..testing.cassettes import CassetteError
    from ..testing.showing import events_of, lines_of

    try:
        if given.json:
            put_json({"events": events_of(given.file)})
        else:
            for line in lines_of(given.file):
                put(clean(line))
    except CassetteError as error:
        raise Failure(error, USAGE) from None
    return 0
