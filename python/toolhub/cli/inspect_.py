"""`toolhub inspect`: a recorded run, or an audit log, as one page that needs nothing else. The core makes the page."""

import argparse
import os

from ._output import USAGE, answer, failing, put


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Those of the command."""
    parser.description = (
        "Write a cassette or an audit log as a page: lanes by provider, a filter, the details of each call."
    )
    parser.add_argument("file", metavar="FILE", help="a cassette or an audit log")
    parser.add_argument("other", nargs="?", metavar="OTHER", help="another run to compare it with")
    parser.add_argument("--output", "-o", metavar="FILE", help="the page (default: FILE ending in .html)")


def run(given: argparse.Namespace) -> int:
    """Write the page, and print its path."""
    from ..inspector import write

    with failing(USAGE, ValueError, OSError):
        page = str(write(given.file, given.output, other=given.other, lang=language()))
    answer(given, {"page": page}, page, put)
    return 0


_VARIABLES = ("TOOLHUB_LANG", "LC_ALL", "LC_MESSAGES", "LANG")


def language() -> str:
    """`zh` for a Chinese locale, else `en`. `TOOLHUB_LANG` comes before the locale."""
    named = next((value for name in _VARIABLES if (value := os.environ.get(name))), "")
    return "zh" if named.lower().startswith("zh") else "en"
