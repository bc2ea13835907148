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
QUESTIONS = {
    "password": {"password": {"type": "string"}},
    "titled": {"value": {"type": "string", "title": "API key"}},
    "pin": {"city": {"type": "string"}, "pin": {"type": "integer"}},
}


def hub_with(era: str, **options: Any) -> ToolHub:
    hub = ToolHub()
    hub.add_server("freeweather", command=sys.executable, args=[SERVER, era], **options)
    return hub


async def asked(url: str, properties: dict[str, Any]) -> Any:
    """The result of a call whose tool asks, and perhaps is answered."""
    params: dict[str, Any] = {"name": "ask", "arguments": {"properties": properties}, "_meta": CAN_ANSWER}
    return (await ask(url, "tools/call", params)).result


@pytest.mark.parametrize("era", ["legacy", "modern"])
async def test_a_question_says_who_asks(era: str) -> None:
    async with hub_with(era) as hub, served(hub) as at:
        first = await asked(at.url, {"city": {"type": "string"}})
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
        result = await hub.execute("ask", {"properties": QUESTIONS["password"]})
    assert result.success, result.error
    assert seen == (["freeweather"] if trust == "full" else [])
    assert ("hunter2" in result.text) == (trust == "full")
