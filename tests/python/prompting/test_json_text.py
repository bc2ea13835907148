"""What a vendor's schema cannot express is requested as JSON text, and arrives as the value that was meant."""

import asyncio
import json
from typing import Any

import pytest

from toolhub import ToolHub

ALL_STRICT = {
    "type": ["string", "null"],
    "description": "all arguments, by their names (a JSON object, as text)",
}


def hub_of(got: list[Any]) -> ToolHub:
    hub = ToolHub()

    def take(**given: Any) -> str:
        got.append(given)
        return "ok"

    def add(name: str, properties: dict[str, Any], **more: Any) -> None:
        schema = {"type": "object", "properties": properties, "required": list(properties), **more}
        hub.register(take, name=name, description="x", parameters=schema)

    add("total", {"values": {"type": "array", "items": {}}})
    add("store", {"value": {}})
    add("maybe", {"value": {"anyOf": [{}, {"type": "null"}]}})
    add("query", {"filter": {"anyOf": [{"type": "string"}, {"type": "object"}]}})
    add("fixed", {"value": {"const": {"k": 1}}})
    add("pick", {"value": {"enum": [{"a": 1}, {"a": 2}]}})
    add("mixed", {"value": {"enum": ["a", {"b": [1]}]}})
    hub.register(
        take,
        name="labels",
        description="x",
        parameters={"type": "object", "additionalProperties": {"type": "string"}},
    )
    return hub


def gemini(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    return {"role": "model", "parts": [{"functionCall": {"name": name, "args": arguments}}]}


def openai(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    function = {"name": name, "arguments": json.dumps(arguments)}
    call = {"id": "c", "type": "function", "function": function}
    return {"role": "assistant", "content": None, "tool_calls": [call]}


BOTH = [
    ("store", {"value": '{"a": [1]}'}, {"value": {"a": [1]}}),
    ("store", {"value": "[1, 2]"}, {"value": [1, 2]}),
    ("store", {"value": "plain words"}, {"value": "plain words"}),
    ("maybe", {"value": '{"a": 1}'}, {"value": {"a": 1}}),
    ("total", {"values": ['{"a": 1}', "x"]}, {"values": [{"a": 1}, "x"]}),
    ("query", {"filter": '{"a": 1}'}, {"filter": {"a": 1}}),
    ("query", {"filter": "a = 1"}, {"filter": "a = 1"}),
    ("query", {"filter": "[1]"}, {"filter": "[1]"}),
    ("fixed", {"value": '{"k": 1}'}, {"value": {"k": 1}}),
    ("pick", {"value": '{"a": 2}'}, {"value": {"a": 2}}),
    ("mixed", {"value": '{"b": [1]}'}, {"value": {"b": [1]}}),
    ("mixed", {"value": "a"}, {"value": "a"}),
    ("labels", {"arguments": '{"env": "dev"}'}, {"env": "dev"}),
    ("labels", {"arguments": {"env": "dev"}}, {"env": "dev"}),
    ("labels", {"arguments": None}, {}),
    ("labels", {"env": "dev"}, {"env": "dev"}),
    ("labels", {"arguments": "dev"}, {"arguments": "dev"}),
]


@pytest.mark.parametrize("gemini_last", [True, False])
@pytest.mark.parametrize(
    ("write", "name", "sent", "expected"),
    [
        *((write, *case) for case in BOTH for write in (gemini, openai)),
        (gemini, "total", {"values": ["1", "2.5"]}, {"values": [1, 2.5]}),
        (gemini, "store", {"value": "true"}, {"value": True}),
        (openai, "store", {"value": "true"}, {"value": "true"}),
        (openai, "total", {"values": ["1", 2.5]}, {"values": ["1", 2.5]}),
    ],
)
def test_text_arrives_as_what_it_stands_for(
    write: Any, name: str, sent: dict[str, Any], expected: dict[str, Any], gemini_last: bool
) -> None:
    got: list[Any] = []
    hub = hub_of(got)
    # Both were shown the tools: a message is read in the form of its own API.
    for vendor in [hub.as_gemini, lambda: hub.as_openai(strict=True)][:: -1 if gemini_last else 1]:
        assert vendor().skipped == []
    outcome = asyncio.run(hub.run(write(name, sent)))
    assert (outcome.results[0].error, got) == (None, [expected])


def test_the_schema_says_so() -> None:
    hub = hub_of([])
    strict = {tool["function"]["name"]: tool["function"]["parameters"] for tool in hub.as_openai(strict=True)}
    assert strict["labels"]["properties"] == {"arguments": ALL_STRICT}
    assert '{"k":1}' in strict["fixed"]["properties"]["value"]["description"]
    assert '{"a":2}' in strict["pick"]["properties"]["value"]["description"]
    assert strict["store"]["properties"]["value"]["description"] == "an object or a list as JSON text"
    shown = {tool["name"]: tool["parameters"] for tool in hub.as_gemini()}
    assert shown["labels"]["properties"]["arguments"]["type"] == "STRING"
    # A tool without parameters stays one.
    hub.register(
        lambda: "ok", name="nothing", description="x", parameters={"type": "object", "properties": {}}
    )
    assert hub.as_openai(strict=True, tools=["nothing"])[0]["function"]["parameters"]["properties"] == {}
    assert "parameters" not in hub.as_gemini(tools=["nothing"])[0]
