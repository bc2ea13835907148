"""Words of the command line: where arguments may stand, and what is counted."""

from __future__ import annotations

import json

import pytest

from support.cli import User

TOOLS = """
from toolhub import tool

@tool
def echo(**given: str) -> dict:
    "Give it back"
    return given
"""
SOURCES = ("--tools", "tools", "--config", "", "--store", "")


@pytest.fixture
def echo(user: User) -> User:
    (user.home / "tools").mkdir()
    (user.home / "tools" / "one.py").write_text(TOOLS, "utf-8")
    return user


@pytest.mark.parametrize(
    ("words", "given"),
    [
        (("echo", "a=1", *SOURCES), {"a": "1"}),
        (("echo", *SOURCES, "a=1"), {"a": "1"}),
        (("echo", "a=1", *SOURCES, "b=2"), {"a": "1", "b": "2"}),
        ((*SOURCES, "echo", "--", "-n=5", "--json=x"), {"-n": "5", "--json": "x"}),
        (("echo", *SOURCES, "--", "-n=5"), {"-n": "5"}),
        ((*SOURCES, "--", "echo", "a=1"), {"a": "1"}),
    ],
)
def test_arguments_may_stand_behind_options(
    words: tuple[str, ...], given: dict[str, str], echo: User
) -> None:
    done = echo.run("call", *words)
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout.replace("'", '"')) == given


@pytest.mark.parametrize(
    "words", [("echo", "-n=5"), ("echo", *SOURCES, "--nonsense", "a=1"), ("echo", "a=1", "-n")]
)
def test_what_looks_like_an_option_must_be_one(words: tuple[str, ...], echo: User) -> None:
    done = echo.run("call", *words)
    assert done.returncode == 2
    assert "unrecognized arguments: -" in done.stderr


def test_a_missing_tool_is_all_that_is_missing(user: User) -> None:
    done = user.run("call")
    assert (done.returncode, done.stderr) == (
        2,
        "toolhub: the following arguments are required: TOOL; 'toolhub call --help' shows the usage\n",
    )


def test_a_file_with_a_byte_order_mark(echo: User) -> None:
    (echo.home / "given.json").write_bytes(b'\xef\xbb\xbf{"a": "1"}')
    for word in ("@given.json", "@-"):
        done = echo.run("call", "echo", word, *SOURCES, input='\ufeff{"a": "1"}')
        assert (done.returncode, done.stderr) == (0, "")


def test_one_tool_is_one_tool(echo: User) -> None:
    assert echo.run("export", "-o", "client.py", *SOURCES).stderr == "toolhub: wrote 1 tool to client.py\n"


def test_a_prompt_has_at_most_so_many_tools(user: User) -> None:
    (user.home / "tools").mkdir()
    text = TOOLS.replace("echo", "calculate") + TOOLS.replace("echo", "zebra") + TOOLS
    (user.home / "tools" / "some.py").write_text(text, "utf-8")
    for query in ([], ["--query", "give it back"]):
        done = user.run("prompt", "--limit", "1", "--style", "names", *query, *SOURCES)
        named = [name for name in ("calculate", "zebra", "echo") if name in done.stdout]
        assert len(named) == 1, done.stdout


def test_the_columns_of_a_search_are_aligned(user: User) -> None:
    (user.home / "tools").mkdir()
    (user.home / "tools" / "some.py").write_text(TOOLS.replace("Give it back", "Look up a price"), "utf-8")
    lines = user.run("search", "look", "price", "--tools", "tools", "--store", "").stdout.splitlines()
    assert len(lines) > 1
    assert len({line.index("Look up") for line in lines}) == 1, lines
