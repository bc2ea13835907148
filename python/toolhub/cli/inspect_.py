"""`toolhub inspect`: a recorded run, or an audit log, as one page that needs nothing else. The core makes the page."""

from ._exits import USAGE, Failure
from ._language import language
from ._output import add_json_argument, put, put_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse


def add_arguments(parser: "argparse.ArgumentParser") -> None:
    """Those of the command."""
    parser.description = (
        "Write a cassette or an audit log as a page: lanes by provider, a filter, the details of each call."
    )
    parser.add_argument("file", metavar="FILE", help="a cassette or an audit log")
    parser.add_argument("other", nargs="?", metavar="OTHER", help="another run to compare it with")
    parser.add_argument("--output", "-o", metavar="FILE", help="the page (FILE with the ending .html)")
    add_json_argument(parser)


def run(given: "argparse.Namespace") -> int:
    """Write the page, and print its path."""
    from ..inspector import write

    try:
        page = write(given.file, given.output, other=given.other, lang=language())
    except (ValueError, OSError) as error:
        raise Failure(str(error), USAGE) from None
    if given.json:
        put_json({"page": str(page)})
    else:
        put(str(page))
    return 0
