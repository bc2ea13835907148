"""`toolhub store accept`: go on with a store that is not the one that was here before."""

from ._exits import FAILED, OK, Failure
from ._output import add_json_argument, put_json, say
from ._sources import add_store_argument, existing_store

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse


def add_arguments(parser: "argparse.ArgumentParser") -> None:
    """Those of the command."""
    parser.add_argument(
        "action",
        choices=("accept",),
        metavar="accept",
        help="accept the store as it is: open runs and approvals end, new ones may begin",
    )
    add_json_argument(parser)
    add_store_argument(parser)


def run(given: "argparse.Namespace") -> int:
    """Accept the store."""
    from .._core import accept_store

    store = existing_store(given)
    try:
        accepted = accept_store(store)
    except OSError as error:
        raise Failure(error, FAILED) from None
    if given.json:
        put_json({"store": store, "accepted": accepted})
    elif accepted:
        say(f"accepted {store}; its open runs and approvals have ended")
    else:
        say(f"there is nothing to accept: {store} is the store that was here before")
    return OK
