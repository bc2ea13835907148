"""`toolhub cassette`: what a cassette has recorded."""

import argparse

from ._output import USAGE, clean, failing, put, put_json


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Those of the command."""
    parser.add_argument("file", metavar="FILE", help="the cassette")


def run(given: argparse.Namespace) -> int:
    """Print a line for each event."""
    from ..testing.cassettes import CassetteError, events_of, lines_of

    with failing(USAGE, CassetteError):
        if given.json:
            put_json({"events": events_of(given.file)})
        else:
            for line in lines_of(given.file):
                put(clean(line))
    return 0
