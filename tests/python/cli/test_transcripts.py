"""Transcripts: commands with what they print and their exit code, word for word.

A file in `transcripts/` has lines `$ command`, run by bash; then what is printed, errors first, where `...` stands for any
text; and `[exit N]` unless the code is 0. All commands of a file run in one folder that has the files of `WORLD`, for a user
whose store knows the tools of `shop.py`.
"""

from __future__ import annotations

import doctest
import re
import shutil
import subprocess
from pathlib import Path
from typing import NamedTuple

import pytest

from support.cli import User
from support.pages import blocks
from toolhub.cli._commands import COMMANDS
from toolhub.cli._complete import _options

FOLDER = Path(__file__).with_name("transcripts")
FILES = sorted(FOLDER.glob("*.txt"))
PAGE = Path(__file__).parents[3] / "docs" / "reference" / "command-line.md"

WORLD = {
    "tools/maths.py": '''
import toolhub

print("a module that prints")

@toolhub.tool(read_only=True)
def add(a: int, b: int = 1) -> int:
    """Add two numbers."""
    return a + b
''',
    "skills/haiku/SKILL.md": """---
name: haiku
description: How to write a haiku.
---
Three lines.
""",
    "price.json": '{"item": "tea", "count": 2}',
    "answer.txt": 'Let me see. <tool_call>{"name": "price", "arguments": {"item": "tea",}}</tool_call>',
    "damaged.txt": "<tool_call>{oops!}</tool_call>",
    "agent.py": """
from toolhub import ToolHub
import sys
hub = ToolHub()
hub.register(lambda a: a, name="echo", read_only=True)
print(hub.call("echo", {"a": sys.argv[1]}).text)
""",
    "cases.yaml": "cases:\n  - name: echoes\n    cassette: run.ndjson\n    called: [echo]\n",
    ".cursor/mcp.json": '{"mcpServers": {"notes": {"command": "notes-server", "env": {"KEY": "hunter2"}}}, /* mine */}',
}


class Step(NamedTuple):
    command: str
    output: str
    code: int


def steps(text: str) -> list[Step]:
    found: list[Step] = []
    for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        command, _, output = part.partition("\n")
        code = re.search(r"^\[exit (\d+)\]\n?\Z", output, flags=re.MULTILINE)
        output = output if code is None else output[: code.start()]
        found.append(Step(command, output, 0 if code is None else int(code[1])))
    return found


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_transcript(path: Path, warm_user: User, tmp_path: Path) -> None:
    follow(steps(path.read_text("utf-8")), warm_user, tmp_path)


def test_the_page_about_the_command_line(warm_user: User, tmp_path: Path) -> None:
    """Its examples are a transcript too."""
    follow([step for block in console_blocks() for step in steps(block)], warm_user, tmp_path)


def test_the_page_has_every_command_and_every_option() -> None:
    page = PAGE.read_text("utf-8")
    for command in COMMANDS:
        assert re.search(rf"`toolhub {command}\b", page), f"`toolhub {command}` is missing"
    general = {"--help", "--json", "--config", "--store", "--tools", "--skills"}
    for command in COMMANDS:
        if command != "serve":  # it has a page of its own
            for option in set(_options(command)) - general:
                assert f"`{option}" in page, f"{option} of `toolhub {command}` is missing"


def console_blocks() -> list[str]:
    return [block.code + "\n" for block in blocks(PAGE.read_text("utf-8")) if block.language == "console"]


def follow(todo: list[Step], warm_user: User, tmp_path: Path) -> None:
    """Run the commands one after another and compare what they print."""
    for name, text in WORLD.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, "utf-8")
    # What a transcript changes, others do not see.
    for name in ("mcp.json", "hub.db"):
        shutil.copy(warm_user.home / name, tmp_path / name)
    environment = {
        **warm_user.environment,
        "HOME": str(tmp_path),
        "TOOLHUB_CONFIG": "mcp.json",
        "TOOLHUB_STORE": "hub.db",
    }
    assert todo, "a transcript without a command"
    checker = doctest.OutputChecker()
    for step in todo:
        done = subprocess.run(
            ["bash", "-c", f"set -o pipefail; {step.command}"],
            cwd=tmp_path,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            encoding="utf-8",
            timeout=50,
        )
        printed = done.stderr + done.stdout
        assert checker.check_output(step.output, printed, doctest.ELLIPSIS), (
            f"$ {step.command}\nexpected\n{step.output}\nprinted\n{printed}"
        )
        assert done.returncode == step.code, f"$ {step.command}\n{printed}"


def test_there_are_enough_of_them() -> None:
    assert len(FILES) >= 30


def test_a_transcript_is_read_as_it_is_written() -> None:
    assert steps("a remark\n$ one\nout\n\nmore\n[exit 3]\n$ two\n") == [
        Step("one", "out\n\nmore\n", 3),
        Step("two", "", 0),
    ]
