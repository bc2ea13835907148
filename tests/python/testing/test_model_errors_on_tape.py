"""A model that failed when it was recorded fails in the same way in a replay."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from toolhub import ToolHub, kit
from toolhub.agents import ChatLoop
from toolhub.exceptions import ErrorKind, ServerError, ToolError
from toolhub.testing import record, replay


class ClientError(Exception):
    """An exception of a client library, with arguments of its own."""

    def __init__(self, status: int, why: str) -> None:
        super().__init__(status, why)
        self.status = status

    def __str__(self) -> str:
        return f"{self.args[1]} ({self.status})"


class Unmakeable(Exception):
    """One whose arguments are not those that it was made with."""

    def __init__(self, *, why: str) -> None:
        super().__init__(f"unmakeable: {why}")


class OwnError(ToolError):
    """An error with a kind, of a user's own class."""


SECRET = "sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJKL"

ERRORS = {
    "timeout": TimeoutError("the model is late"),
    "key": KeyError("choices"),
    "os": ConnectionRefusedError(111, "Connection refused"),
    "client": ClientError(503, "busy"),
    "unmakeable": Unmakeable(why="so"),
    "halves": ValueError("a \ud800 b"),
    "own": OwnError("too much", kind="limit"),
    "server": ToolError("busy", kind="http", status=503, retry_after=2.5),
}


async def ask(error: Exception) -> Exception:
    def model(prompt: str) -> str:
        raise error

    try:
        await kit.ask(model, "Well?")
    except Exception as raised:
        return raised
    raise AssertionError("it must fail")


@pytest.mark.parametrize("error", ERRORS.values(), ids=list(ERRORS))
def test_an_error_has_the_same_class_and_text_in_a_replay(error: Exception, tmp_path: Path) -> None:
    with record(tmp_path / "c.ndjson"):
        asyncio.run(ask(error))
    with replay(tmp_path / "c.ndjson"):
        again = asyncio.run(ask(AssertionError("the model is not asked")))
    assert again is not error
    assert kit.describe_error(again) == kit.describe_error(error)
    if not isinstance(error, (Unmakeable, OwnError)):
        assert type(again) is type(error)


def test_the_details_of_an_error_are_kept(tmp_path: Path) -> None:
    with record(tmp_path / "c.ndjson"):
        asyncio.run(ask(ERRORS["server"]))
        asyncio.run(ask(ERRORS["own"]))
        asyncio.run(ask(ERRORS["client"]))
    with replay(tmp_path / "c.ndjson"):
        server, own, client = (asyncio.run(ask(AssertionError())) for _ in range(3))
    assert isinstance(server, ServerError)
    assert (server.kind, server.status, server.retry_after) == (ErrorKind.HTTP, 503, 2.5)
    assert isinstance(own, ToolError)
    assert own.kind is ErrorKind.LIMIT
    assert isinstance(client, ClientError)
    assert client.status == 503


def test_an_agent_says_the_same_and_a_cassette_has_no_secrets(tmp_path: Path) -> None:
    def model(prompt: str) -> str:
        raise TimeoutError(f"late {SECRET}")

    def answer() -> Any:
        return ChatLoop(ToolHub(), model).answer_sync("Well?")

    with record(tmp_path / "c.ndjson"):
        first = answer()
    with replay(tmp_path / "c.ndjson"):
        again = answer()
    assert first.text == again.text == "The model failed: TimeoutError: late [openai-secret]"
    assert SECRET not in (tmp_path / "c.ndjson").read_text()


def test_a_cassette_loads_no_module_and_makes_nothing_but_exceptions(tmp_path: Path) -> None:
    path = tmp_path / "c.ndjson"
    with record(path):
        asyncio.run(ask(ERRORS["key"]))
    recorded = path.read_text()
    for name in (
        "antigravity:fly",
        "builtins:print",
        "builtins:SystemExit",
        "os:system",
        "nowhere",
        "a:b.c:d",
    ):
        path.write_text(recorded.replace("builtins:KeyError", name))
        with replay(path):
            again = asyncio.run(ask(AssertionError()))
        assert isinstance(again, ToolError)
        assert str(again) == "'choices'"
    assert json.loads(recorded.splitlines()[1])["error"]["upstream"]["data"]["type"] == "builtins:KeyError"
