"""What `approve` sees is what runs: checked, coerced, with the tool's own names, and no other code can change it afterwards."""

from __future__ import annotations

import asyncio
import json
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolhub import ToolHub
from toolhub.permissions import Approval

pytestmark = pytest.mark.anyio

MIRROR = Path(__file__).parents[2] / "mcp" / "servers" / "mirror.py"
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "to": {"type": "string"},
        "count": {"type": "integer"},
        "urgent": {"type": ["boolean", "null"]},
        "tags": {"type": "array", "items": {"type": "string"}},
        "filter[id]": {"type": "object", "properties": {"id": {"type": "integer"}}},
    },
    "required": ["to"],
}
LEAVES = st.sampled_from(
    [None, True, 0, 5, -3, 2.0, 0.5, "", "5", "a", "true", "null", '{"id": "7"}', '["x", 1]', "é\n"]
)
VALUES = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["id", "to", "x"]), inner, max_size=2)
    ),
    max_leaves=4,
)
ARGUMENTS = st.dictionaries(
    st.sampled_from(["to", "count", "urgent", "tags", "filter[id]", "filter_id_", "odd"]), VALUES
)


def shapes(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """The call as each format and API writes it."""
    text = json.dumps(arguments)
    return {
        "tags": f'<tool_call>{{"tool_name": "{name}", "arguments": {text}}}</tool_call>',
        "text": f'<tool_call>{{"name": "{name}", "arguments": {json.dumps(text)}}}</tool_call>',
        "broken": f'<tool_call>{{"name": "{name}", "parameters": {text}, }}',
        "mistral": f'[TOOL_CALLS][{{"name": "{name}", "arguments": {text}}}]',
        "openai": {
            "role": "assistant",
            "tool_calls": [
                {"id": "1", "type": "function", "function": {"name": name, "arguments": text}},
            ],
        },
        "responses": [{"type": "function_call", "call_id": "1", "name": name, "arguments": text}],
        "anthropic": [{"type": "tool_use", "id": "1", "name": name, "input": arguments}],
        "gemini": {"parts": [{"functionCall": {"name": name, "args": arguments}}]},
    }


def acting(ran: list[Any]) -> dict[str, ToolHub]:
    """Tools of each kind that note what reaches them."""

    class Tool:
        name = "send_mail"
        description = "Sends."
        parameters = SCHEMA

        def execute(self, input: Any) -> str:
            ran.append(input)
            return "sent"

    def schema(**arguments: Any) -> str:
        ran.append(arguments)
        return "sent"

    def signature(
        to: str, count: int = 0, urgent: bool | None = None, tags: list[str] | None = None, odd: Any = None
    ) -> str:
        ran.append({"to": to, "count": count, "urgent": urgent, "tags": tags, "odd": odd})
        return "sent"

    hubs = {}
    for kind, tool, parameters in (
        ("schema", schema, SCHEMA),
        ("signature", signature, None),
        ("object", Tool(), None),
    ):
        hub = ToolHub()
        hub.register(tool, name="send_mail", parameters=parameters)
        hubs[kind] = hub
    return hubs


RAN: list[Any] = []
HUBS = acting(RAN)
DEFAULTS = {"count": 0, "urgent": None, "tags": None, "odd": None}


@given(arguments=ARGUMENTS, kind=st.sampled_from(sorted(HUBS)), declared=st.booleans(), strict=st.booleans())
def test_the_approved_arguments_are_those_of_the_tool(
    arguments: dict[str, Any], kind: str, declared: bool, strict: bool
) -> None:
    hub = HUBS[kind]
    if declared:
        hub.as_openai(strict=strict)
    for shape, message in shapes("send_mail", arguments).items():
        asked: list[Approval] = []
        RAN.clear()

        async def approve(approval: Approval, asked: list[Approval] = asked) -> bool:
            asked.append(approval)
            return True

        outcome = asyncio.run(hub.run(message, approve=approve))
        (result,) = outcome.results
        if not result.success:
            assert result.kind == "invalid_arguments", (shape, result.error)
            assert (asked, RAN) == ([], []), shape
            continue
        shown = asked[0].arguments
        if kind == "signature":
            shown = {**DEFAULTS, **shown}
        assert [shown] == RAN, shape
        assert json.dumps(RAN[0], sort_keys=True) == json.dumps(dict(shown), sort_keys=True), shape


async def test_a_server_gets_the_approved_arguments() -> None:
    async with ToolHub() as hub:
        env = {"SCHEMA": json.dumps(SCHEMA)}
        hub.add_server("m", command=sys.executable, args=[str(MIRROR)], env=env)
        assert (await hub.connect()).connected == ["m"]
        asked: list[Any] = []

        def approve(approval: Approval) -> bool:
            asked.append(json.loads(json.dumps(approval.arguments)))
            approval.arguments["tags"].append("hostile")
            return True

        request = {"to": 5, "count": "7", "tags": '["a"]', "filter[id]": {"id": "3"}}
        for message in shapes("mirror", request).values():
            (result,) = (await hub.run(message, approve=approve)).results
            wanted = {"to": "5", "count": 7, "tags": ["a"], "filter[id]": {"id": 3}}
            assert (asked.pop(), json.loads(result.text)) == (wanted, wanted)


@pytest.mark.parametrize("kind", sorted(HUBS))
async def test_the_arguments_cannot_change_between_approval_and_run(kind: str) -> None:
    RAN.clear()
    tags = ["a"]
    arguments: dict[str, Any] = {"to": "x", "tags": tags}

    def approve(approval: Approval) -> bool:
        approval.arguments["tags"].append("of the question")  # type: ignore[index]
        approval.arguments["to"] = "enemy"  # type: ignore[index]
        # Another thread has the objects of the request.
        thread = threading.Thread(target=lambda: (tags.append("of the caller"), arguments.update(to="enemy")))
        thread.start()
        thread.join()
        return True

    hub = HUBS[kind]
    result = await hub.dispatch({"tool_name": "send_mail", "arguments": arguments}, approve=approve)
    assert result.success
    assert (RAN[0]["to"], RAN[0]["tags"]) == ("x", ["a"])


async def test_arguments_that_do_not_fit_are_not_shown() -> None:
    asked: list[Any] = []
    message = '<tool_call>{"name": "send_mail", "arguments": {"count": "many"}}</tool_call>'
    for hub in HUBS.values():
        outcome = await hub.run(message, approve=lambda approval: asked.append(approval) or True)
        assert outcome.results[0].kind == "invalid_arguments"
    assert asked == []


async def test_another_candidate_gets_its_own_arguments_and_a_question_of_its_own() -> None:
    hub, ran = ToolHub(), list[Any]()

    def first(count: int) -> None:
        ran.append(count)
        raise ConnectionError("not today")

    hub.register(first, name="handle", priority=0)
    text = {"type": "object", "properties": {"count": {"type": "string"}}}
    hub.register(lambda **given: ran.append(given), name="handle", priority=1, parameters=text)
    asked: list[Any] = []
    message = '<tool_call>{"name": "handle", "arguments": {"count": "5"}}</tool_call>'
    outcome = await hub.run(message, approve=lambda call: asked.append(dict(call.arguments)) or True)
    assert asked == [{"count": 5}, {"count": "5"}]
    assert ran == [5, {"count": "5"}], "each gets what was approved for it"
    assert outcome.results[0].success


async def test_nobody_is_asked_about_arguments_that_are_refused() -> None:
    hub = ToolHub()
    asked: list[Approval] = []

    @hub.tool
    def remove(count: int) -> str:
        return f"removed {count}"

    outcome = await hub.run(
        '<tool_call>{"name": "remove", "arguments": {"count": "many"}}</tool_call>'
        '<tool_call>{"name": "remove", "arguments": {}}</tool_call>',
        approve=lambda approval: bool(asked.append(approval)),
    )
    assert [result.success for result in outcome.results] == [False, False]
    assert asked == []
