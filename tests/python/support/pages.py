"""The Python blocks of a page of the documentation, and a program that runs them: `python pages.py PAGE`.

They are run as a user runs them, so the program imports nothing but the standard library.
"""

from __future__ import annotations

import ast
import asyncio
import contextlib
import inspect
import io
import re
import sys
import textwrap
import types
from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path
from typing import NamedTuple

FENCE = re.compile(r"^(?P<indent>[ \t]*)(?P<fence>`{3,}|~{3,})[ \t]*(?P<language>[\w+-]*)")
NO_RUN = re.compile(r"<!--\s*no-run:(?P<reason>.*)-->")
# These would look like examples and never run.
OTHER_NAMES = {"py", "python3", "pycon", "ipython"}


class Block(NamedTuple):
    line: int  # of the first line of code, from 1
    end: int  # the line that closes it, from 1
    language: str
    code: str
    reason: str | None  # for not running it
    output: str | None = None  # what it must print: the text block that follows it


def blocks(text: str) -> Iterator[Block]:
    """All fenced blocks of a Markdown text, also indented ones (in lists)."""
    lines = text.splitlines()
    at = 0
    while at < len(lines):
        opening = FENCE.match(lines[at])
        if opening is None:
            at += 1
            continue
        closing = re.compile(rf"^[ \t]*{opening['fence'][0]}{{{len(opening['fence'])},}}[ \t]*$")
        end = next((i for i in range(at + 1, len(lines)) if closing.match(lines[i])), None)
        if end is None:
            raise ValueError(f"the block that starts on line {at + 1} is never closed")
        before = next((line for line in reversed(lines[:at]) if line.strip()), "")
        mark = NO_RUN.search(before)
        code = textwrap.dedent("\n".join(lines[at + 1 : end]))
        yield Block(
            at + 2, end + 1, opening["language"].lower(), code, mark["reason"].strip() if mark else None
        )
        at = end + 1


def runnable(text: str) -> list[Block]:
    """The Python blocks that are to run; an error for one that would silently not."""
    found: list[Block] = []
    all_blocks = list(blocks(text))
    for block, following in zip_longest(all_blocks, all_blocks[1:]):
        if block.language in OTHER_NAMES:
            raise ValueError(f"line {block.line - 1}: write python, not {block.language}, so that it is run")
        if block.language != "python":
            continue
        if block.reason == "":
            raise ValueError(f"line {block.line - 1}: `no-run` needs a reason")
        if block.reason is None:
            prints = following is not None and following.language == "text" and "print(" in block.code
            is_next = prints and not "".join(text.splitlines()[block.end : following.line - 2]).strip()
            found.append(block._replace(output=following.code if is_next else None))
    return found


def execute(page: Path) -> None:
    """Runs the blocks of one page, in this process."""
    # A module, not a bare dict: annotations are looked up in the module of a class.
    module = sys.modules["__main__"] = types.ModuleType("__main__")
    with asyncio.Runner() as runner:
        for block in runnable(page.read_text("utf-8")):
            # Blank lines before it, so that a traceback names the line of the page.
            source = "\n" * (block.line - 1) + block.code
            code = compile(source, str(page), "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)
            with contextlib.redirect_stdout(io.StringIO()) as printed:
                result = eval(code, module.__dict__)  # a coroutine when the block awaits
                if inspect.iscoroutine(result):
                    runner.run(result)
            sys.stdout.write(printed.getvalue())
            if block.output is not None:
                compare(f"{page}, line {block.line}", block.output + "\n", printed.getvalue())


def compare(where: str, expected: str, printed: str) -> None:
    """Fails unless a block printed what the page shows; `...` stands for any text, as in docstrings."""
    import doctest  # and with it the debugger, which most pages do not need

    if not doctest.OutputChecker().check_output(expected, printed, doctest.ELLIPSIS):
        raise AssertionError(f"{where}: the page shows\n{expected}\nbut the block printed\n{printed}")


if __name__ == "__main__":
    execute(Path(sys.argv[1]))
