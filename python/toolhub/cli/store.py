"""`toolhub store accept`: go on with a store that is not the one that was here before."""

import argparse

from ._output import FAILED, OK, answer, failing, say
from ._sources import existing_store


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Those of the command."""
    parser.add_argument(
        "action",
        choices=("accept",),
        metavar="accept",
        help="accept the store as it is: open runs and approvals end, new ones may begin",
    )


def run(given: argparse.Namespace) -> int:
    """Accept the store."""
    from .._core import accept_store

    store = existing_store(given)
    with failing(FAILED, OSError):
        accepted = accept_store(store)
    told = f"there is nothing to accept: {store} is the store that was here before"
    told = f"accepted {store}; its open runs and approvals have ended" if accepted else told
    answer(given, {"store": store, "accepted": accepted}, told, say)
    return OK
