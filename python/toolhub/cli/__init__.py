"""The command `toolhub`: one file a command, imported when that command runs.

    main ─► _commands (names and one line each) ─► a command: `add_arguments(parser)`, `run(given) -> exit code`
                                                     ├ _sources   --config, --tools, --skills, --store
                                                     ├ _catalog   the tools: from the store alone, or from a hub
                                                     ├ _output    text, tables and JSON; what a terminal gets
                                                     ├ _language  sentences in the language of the user
                                                     └ _shapes    JSON Schema as types of a signature

`list`, `search`, `show` and the completion of names read the store through the core, without an event loop. Everything
else uses the public interface of `ToolHub`. Results go to stdout; problems, progress and questions to stderr.
"""

import sys

from ._exits import INTERRUPTED, OK, Failure

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["main"]

# The command that the completion scripts call; people need not see it.
_COMPLETE = "__complete"


def main(arguments: "Sequence[str] | None" = None) -> int:
    """Run a command. The exit code is 0 for success, 1 for a failed tool, 2 for wrong usage, 3 if a server cannot be
    reached, 4 if it refuses the credentials, 5 if there is no such thing, and 130 after Ctrl-C.
    """
    words = sys.argv[1:] if arguments is None else list(arguments)
    try:
        code = _run(words)
        # Here, so that a reader that has gone is noticed now and not at the exit of the interpreter.
        sys.stdout.flush()
        return code
    except Failure as failure:
        from ._language import said

        _say(f"toolhub: {said(str(failure))}")
        return failure.code
    except KeyboardInterrupt:
        _say("")
        return INTERRUPTED
    except BrokenPipeError:
        # As `| head` does; what is still in the buffer must not raise again at exit.
        import os

        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return OK


def _run(words: "list[str]") -> int:
    if words[:1] == [_COMPLETE]:
        from . import _complete

        return _complete.run(words[1:])
    from ._commands import parse

    given = parse(words)
    return given.run(given)


def _say(line: str) -> None:
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()
