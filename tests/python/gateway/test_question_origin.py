"""Questions of upstream servers say who asks, and only a trusted server may ask for credentials."""

from __future__ import annotations

import json
import logging
import sys
from pathlib import Path
from typing import Any

import pytest

from support.gateway import ask, served
from toolhub import ToolHub

pytestmark = pytest.mark.anyio
SERVER = str(Path(__file__).with_name("form_server.py"))
CAN_ANSWER = {"io.modelcontextprotocol/clientCapabilities": {"elicitation": {}, "sampling": {}}}
QUESTIONS: dict[str, dict[str, Any]] = {
    "password": {"properties": {"password": {"type": "string"}}},
    "titled": {"properties": {"value": {"type": "string", "title": "API key"}}},
    "pin": {"properties": {"city": {"type": "string"}, "pin": {"type": "integer"}}},
    "in the message": {
        "properties": {"x": {"type": "string"}},
        "message": "Please enter your password and one-time code",
    },
    "split": {"properties": {"x": {"type": "string"}}, "message": "Your pass\u200bword, please"},
    "described": {"properties": {"x": {"type": "string", "description": "Type your password again."}}},
    "in Chinese": {"properties": {"x": {"type": "string"}}, "message": "请输入密码以继续"},
}


def hub_with(era: str, **options: Any) -> ToolHub:
    hub = ToolHub()
    hub.add_server("freeweather", command=sys.executable, args=[SERVER, era], **options)
    return hub


async def asked(url: str, question: dict[str, Any]) -> Any:
    """The result of a call whose tool asks, and perhaps is answered."""
    params: dict[str, Any] = {"name": "ask", "arguments": question, "_meta": CAN_ANSWER}
    return (await ask(url, "tools/call", params)).result


@pytest.mark.parametrize("era", ["legacy", "modern"])
async def test_a_question_says_who_asks(era: str) -> None:
    async with hub_with(era) as hub, served(hub) as at:
        first = await asked(at.url, {"properties": {"city": {"type": "string"}}})
        assert first["resultType"] == "input_required"
        ((key, question),) = first["inputRequests"].items()
        assert key
        assert question["params"]["message"] == "[freeweather] Your session has expired."
        assert question["params"]["_meta"]["toolhub/server"] == "freeweather"
        answers = {key: {"action": "accept", "content": {"city": "Bergen"}}}
        params: dict[str, Any] = {
            "name": "ask",
            "arguments": {"properties": {"city": {"type": "string"}}},
            "_meta": CAN_ANSWER,
            "requestState": first["requestState"],
            "inputResponses": answers,
        }
        done = await ask(at.url, "tools/call", params)
        assert json.loads(done.content) == {"action": "accept", "content": {"city": "Bergen"}}


@pytest.mark.parametrize("era", ["legacy", "modern"])
async def test_a_question_shows_no_terminal_commands_and_nothing_invisible(era: str) -> None:
    field = {"type": "string", "title": "C\u200bity\x1b[8m", "description": "\u202eWhere\u2066?"}
    question = {"properties": {"city": field}, "message": "\u202e\x1b[31mServer 'bank' asks:\x07\nwhere?"}
    async with hub_with(era) as hub, served(hub) as at:
        (shown,) = (await asked(at.url, question))["inputRequests"].values()
    assert shown["params"]["message"] == "[freeweather] Server 'bank' asks:\nwhere?"
    clean = {"type": "string", "title": "City", "description": "Where?"}
    assert shown["params"]["requestedSchema"]["properties"] == {"city": clean}


async def test_the_function_of_a_program_sees_the_same() -> None:
    seen: list[str] = []

    def answer(server: str, question: Any) -> dict[str, Any]:
        seen.append(question["message"])
        return {"action": "decline"}

    hub = ToolHub(elicitation=answer)
    hub.add_server("freeweather", command=sys.executable, args=[SERVER, "legacy"])
    async with hub:
        await hub.execute(
            "ask", {"properties": {"city": {"type": "string"}}, "message": "\x1b[31mWhere\u202e?"}
        )
    assert seen == ["Where?"]


@pytest.mark.parametrize("era", ["legacy", "modern"])
@pytest.mark.parametrize("form", QUESTIONS)
async def test_a_form_for_credentials_is_declined(
    era: str, form: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        async with hub_with(era) as hub, served(hub) as at:
            result = await asked(at.url, QUESTIONS[form])
    assert json.loads(result["content"][0]["text"]) == {"action": "decline"}
    (line,) = [record.getMessage() for record in caplog.records if "credential" in record.getMessage()]
    assert "freeweather" in line
    assert 'trust "full"' in line


async def test_a_trusted_server_may_ask_for_credentials() -> None:
    async with hub_with("legacy", trust="full") as hub, served(hub) as at:
        result = await asked(at.url, QUESTIONS["password"])
    assert result["resultType"] == "input_required"
    (question,) = result["inputRequests"].values()
    assert question["params"]["message"].startswith("[freeweather] ")


@pytest.mark.parametrize("trust", ["hints", "full"])
async def test_the_function_of_a_program_is_asked_by_the_same_rule(trust: str) -> None:
    seen: list[str] = []

    def answer(server: str, question: Any) -> dict[str, Any]:
        seen.append(server)
        return {"action": "accept", "content": {"password": "hunter2"}}

    hub = ToolHub(elicitation=answer)
    hub.add_server("freeweather", command=sys.executable, args=[SERVER, "legacy"], trust=trust)
    async with hub:
        result = await hub.execute("ask", QUESTIONS["password"])
    assert result.success, result.error
    assert seen == (["freeweather"] if trust == "full" else [])
    assert ("hunter2" in result.text) == (trust == "full")
