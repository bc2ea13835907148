"""Arguments as JSON text, which is what APIs give."""

from __future__ import annotations

import json
from typing import Annotated, Any, ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import Json

from toolhub import ToolHub


def weather(city: str, days: int = 1) -> str:
    return f"{city} for {days}"


class Execute:
    name, description = "any", "Takes anything."

    def execute(self, input: Any) -> Any:
        return input


@pytest.fixture
def hub() -> ToolHub:
    hub = ToolHub()
    hub.register(weather)
    hub.register(Execute())
    hub.register(
        lambda text: text,
        name="echo",
        parameters={"properties": {"text": {"type": "string"}}, "required": ["text"]},
    )
    return hub


@pytest.mark.parametrize("text", ['{"city": "Paris", "days": 3}', ' \n {"days": "3", "city": "Paris"}'])
def test_an_object_of_parameters_is_read_however_it_is_called(hub: ToolHub, text: str) -> None:
    assert hub.call("weather", text).result == "Paris for 3"
    assert hub.dispatch_sync({"tool_name": "weather", "arguments": text}).result == "Paris for 3"
    assert hub.call_many([("weather", text)])[0].result == "Paris for 3"
    assert "The arguments fit." in hub.explain("weather", text).text
    call = json.dumps({"name": "weather", "arguments": text})
    assert hub.run_sync(f"<tool_call>{call}</tool_call>").results[0].result == "Paris for 3"


def test_other_text_stays_the_value_of_the_one_argument(hub: ToolHub) -> None:
    for text in ('{"query": "Paris"}', "{not json}", '["city"]', '{"city": "Paris", "unit": "C"}', "{}"):
        assert hub.call("weather", text).result == f"{text} for 1"
        assert hub.call("echo", text).result == text
        assert hub.call("any", text).result == text
        assert hub.dispatch_sync({"tool_name": "echo", "arguments": text}).result == text


def test_a_mapping_is_never_read_twice(hub: ToolHub) -> None:
    text = '{"text": "hello"}'
    assert hub.call("echo", text).result == "hello"
    assert hub.call("echo", {"text": text}).result == text
    assert hub.call("echo", text, coerce=False).result == text


def test_an_argument_that_is_declared_as_json_text_keeps_it(hub: ToolHub) -> None:
    declared = {"type": "string", "contentMediaType": "application/json"}
    hub.register(lambda text: text, name="store", parameters={"properties": {"text": declared}})
    assert hub.call("store", '{"text": "hello"}').result == '{"text": "hello"}'

    def read(data: Annotated[Any, Json]) -> Any:
        return data

    hub.register(read)
    assert hub.call("read", '{"data": 5}').result == {"data": 5}


def test_a_tool_without_an_argument_for_text_gets_the_object(hub: ToolHub) -> None:
    hub.register(lambda **extra: extra, name="free")
    hub.register(lambda: "done", name="nothing")
    assert hub.call("free", '{"a": 1}').result == {"a": 1}
    assert hub.call("nothing", "{}").result == "done"
    refused = hub.call("nothing", '{"speed": 3}')
    assert refused.kind == "invalid_arguments"
    assert "speed" in str(refused.error)


def test_an_object_with_execute_gets_a_mapping_if_it_declares_the_keys(hub: ToolHub) -> None:
    class Forecast(Execute):
        name = "forecast"
        parameters: ClassVar = {
            "type": "object",
            "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
        }

    hub.register(Forecast())
    assert hub.call("forecast", '{"city": "Paris"}').result == {"city": "Paris"}
    assert hub.call("forecast", "Paris").result == "Paris"


@given(st.text())
def test_a_text_that_is_not_an_object_arrives_unchanged(text: str) -> None:
    hub = ToolHub()
    hub.register(Execute())
    assert hub.call("any", text).result == text
