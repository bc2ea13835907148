"""The command `toolhub`: one file a command, imported when that command runs.

    main ─► _commands (names and one line each) ─► a command: `add_arguments(parser)`, `run(given) -> exit code`
                                                     ├ _sources   --config, --tools, --skills, --store
                                                     ├ _catalog   the tools: from the store alone, or from a hub
                                                     ├ _output    text, tables and JSON; what a terminal gets
                                                     └ _shapes    JSON Schema as types of a signature

`list`, `search`, `show` and the completion of names read the store through the core, without an event loop. Everything
else uses the public interface of `ToolHub`. Results go to stdout; problems, progress and questions to stderr.
"""

import sys
from collections.abc import Sequence

from . import _output
from ._output import OK, Failure, OutputError

__all__ = ["main"]

# The command that the completion scripts call; people need not see it.
_COMPLETE = "__complete"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command. The exit code is 0 for success, 1 for a failed tool, 2 for wrong usage, 3 if a server cannot be
    reached, 4 if it refuses the credentials, 5 if there is no such thing, 6 if what was done cannot be printed, and 130
    after Ctrl-C.
    """
    words = sys.argv[1:] if arguments is None else list(arguments)
    _escape_what_cannot_be_encoded()
    try:
        code = _run(words)
        # Here, so that a reader that has gone is noticed now and not at the exit of the interpreter.
        _flush()
        return code
    except Failure as failure:
        return _fail(failure, words)
    except OutputError as error:
        _output.say(f"the command ran, but its output cannot be written: {error}")
        _output.forget(sys.stdout)
        return _output.NOT_WRITTEN
    except KeyboardInterrupt:
        _output.write_err("\n")
        return _output.INTERRUPTED
    except BrokenPipeError:
        # As `| head` does.
        _output.forget(sys.stdout)
        return OK


def _run(words: list[str]) -> int:
    if words[:1] == [_COMPLETE]:
        from . import _complete

        return _complete.run(words[1:])
    from ._commands import parse

    given = parse(words)
    return given.run(given)


def _fail(failure: Failure, words: list[str]) -> int:
    """Say why a command failed; with `--json` the reason is an object on stdout as well, whatever command it was."""
    if not failure.is_said:
        _output.say(str(failure))
    own = words[: words.index("--")] if "--" in words else words
    if "--json" in own:
        if own[:1] == ["serve"] and "--http" not in own:
            # There, stdout is for the client.
            _output.write_err(_output.json_text(failure.as_json(), sys.stderr))
            return failure.code
        try:
            _output.write_out(_output.json_text(failure.as_json(), sys.stdout))
            _flush()
        except (OutputError, BrokenPipeError):
            _output.forget(sys.stdout)
    return failure.code


def _escape_what_cannot_be_encoded() -> None:
    """A terminal or a pipe may have fewer characters than a tool answers with."""
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="backslashreplace")  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]


def _flush() -> None:
    if _output.has_stream(sys.stdout):
        try:
            sys.stdout.flush()
        except BrokenPipeError:
            raise
        except OSError as error:
            raise OutputError(error.strerror) from None
