"""`toolhub demo`: a short tour of the hub."""

import argparse

from ._output import put_json


def run(given: argparse.Namespace) -> int:
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
