"""`toolhub demo`: a short tour of the hub."""

from ._output import add_json_argument, put_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse


def add_arguments(parser: "argparse.ArgumentParser") -> None:
    """Those of the command."""
    add_json_argument(parser)


def run(given: "argparse.Namespace") -> int:
    """Give the tour; with `--json` what it prints is one text in an object."""
    from .. import demo

    if not given.json:
        demo.main()
        return 0
    import contextlib
    import io

    with contextlib.redirect_stdout(io.StringIO()) as printed:
        demo.main()
    put_json({"tour": printed.getvalue()})
    return 0
