"""Calls by the names and with the arguments of an API reach the tool as it is."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from pydantic import BaseModel

from toolhub import ToolHub

pytestmark = pytest.mark.anyio


def message(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    function = {"name": name, "arguments": json.dumps(arguments)}
    return {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "c1", "type": "function", "function": function}],
    }


@pytest.fixture
def hub() -> ToolHub:
    hub = ToolHub()

    @hub.tool(name="files.read")
    def read(path: str, lines: int = 10, options: dict[str, int] | None = None) -> Any:
        return [path, lines, options]

    return hub


async def test_run_takes_the_names_of_an_api(hub: ToolHub) -> None:
    name = hub.as_openai()[0]["function"]["name"]
    outcome = await hub.run(message(name, {"path": "a"}))
    assert outcome.results[0].result == ["a", 10, None]
    assert outcome.messages[0]["tool_call_id"] == "c1"


async def test_what_is_allowed_is_the_tool_not_its_name_for_an_api(hub: ToolHub) -> None:
    name = hub.as_openai()[0]["function"]["name"]
    asked: list[str] = []
    forbidden = await hub.run(message(name, {"path": "a"}), allowed=["!files.*", "*"])
    assert forbidden.results[0].kind == "not_allowed"
    allowed = await hub.run(message(name, {"path": "a"}), allowed=["files.*"])
    assert allowed.results[0].success

    @hub.tool(name="files.delete", effects=True)
    def delete(path: str) -> str:
        return path

    name = hub.as_openai(tools=["files.delete"])[0]["function"]["name"]
    refused = await hub.run(message(name, {"path": "a"}), approve=lambda asks: asked.append(asks.name))
    assert refused.results[0].kind == "not_allowed"
    assert asked == ["files.delete"]


async def test_strict_arguments_reach_the_tool_unchanged(hub: ToolHub) -> None:
    (tool,) = hub.as_openai(strict=True)
    parameters = tool["function"]["parameters"]
    assert parameters["required"] == ["path", "lines", "options"]
    given = {"path": "a", "lines": None, "options": '{"x": 1}'}
    outcome = await hub.run(message(tool["function"]["name"], given))
    assert outcome.results[0].result == ["a", 10, {"x": 1}], outcome.results[0].error


LIMITED: dict[str, Any] = {
    "type": "object",
    "properties": {
        "page": {"type": "integer"},
        "lim": {"type": "integer", "default": 5},
        "or_null": {"type": ["string", "null"]},
    },
    "required": ["page"],
}
NAMED: dict[str, Any] = {
    "type": "object",
    "properties": {
        "kind": {"const": "named"},
        "page": {"type": "integer"},
        "lim": {"type": ["string", "null"]},
    },
    "required": ["kind"],
}
NODE: dict[str, Any] = {
    "type": "object",
    "properties": {"v": {"type": "string"}, "next": {"$ref": "#/$defs/Node"}},
    "required": ["v"],
}
NULL: dict[str, Any] = {"type": "null"}


@pytest.mark.parametrize("declared", [True, False])
@pytest.mark.parametrize(
    ("schema", "given", "expected"),
    [
        ({"anyOf": [LIMITED, NULL]}, {"page": 1, "lim": None, "or_null": None}, {"page": 1, "or_null": None}),
        ({"anyOf": [{"type": "array", "items": LIMITED}, NULL]}, [{"page": 1, "lim": None}], [{"page": 1}]),
        ({"anyOf": [NAMED, LIMITED]}, {"page": 1, "lim": None}, {"page": 1}),
        (
            {"anyOf": [NAMED, LIMITED]},
            {"kind": "named", "page": None, "lim": None},
            {"kind": "named", "lim": None},
        ),
        ({"$ref": "#/$defs/Node"}, {"v": "x", "next": None}, {"v": "x"}),
        ({"anyOf": [{"$ref": "#/$defs/Node"}, NULL]}, {"v": "x", "next": None}, {"v": "x"}),
        (
            {"anyOf": [{"$ref": "#/$defs/Node"}, NULL]},
            {"v": "x", "next": '{"v": "y", "next": null}'},
            {"v": "x", "next": {"v": "y"}},
        ),
    ],
)
async def test_nulls_for_what_is_not_given_are_left_out_of_unions_and_of_recursive_schemas(
    schema: dict[str, Any], given: Any, expected: Any, declared: bool
) -> None:
    hub = ToolHub()
    parameters = {"properties": {"it": schema}, "$defs": {"Node": NODE}}
    hub.register(lambda it: it, name="find", parameters=parameters)
    if declared:
        hub.as_openai(strict=True)
    outcome = await hub.run(message("find", {"it": given}))
    assert outcome.results[0].result == expected, outcome.results[0].error


class Limited(BaseModel):
    page: int
    lim: int = 5


class Sized(BaseModel):
    size: int
    name: str = "square"


@pytest.mark.parametrize("declared", [True, False])
@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"opt": {"page": 1, "lim": None}}, "page=1 lim=5"),
        ({"rows": [{"page": 1}, {"page": 2, "lim": None}]}, "page=2 lim=5"),
        ({"either": {"size": 1, "name": None}}, "size=1 name='square'"),
    ],
)
async def test_models_of_a_function_get_their_defaults(
    given: dict[str, Any], expected: str, declared: bool
) -> None:
    hub = ToolHub()

    @hub.tool
    def find(
        opt: Limited | None = None, rows: list[Limited] | None = None, either: Limited | Sized | None = None
    ) -> str:
        return str(opt or either or (rows or [None])[-1])

    if declared:
        hub.as_openai(strict=True)
    outcome = await hub.run(message("find", given))
    assert outcome.results[0].result == expected, outcome.results[0].error
    refused = await hub.run(message("find", {"opt": {"page": None}, "rows": [None]}))
    assert refused.results[0].kind == "invalid_arguments"
    assert "opt.page" in str(refused.results[0].error)


class Node(BaseModel):
    v: str
    next: Node | None = None
    kids: list[Node] = []
    meta: dict[str, int] = {}


@pytest.mark.parametrize("declare", [lambda hub: hub.as_openai(strict=True), ToolHub.as_gemini])
async def test_open_objects_inside_of_models_are_read_from_their_text(
    declare: Callable[[ToolHub], Any],
) -> None:
    hub = ToolHub()

    @hub.tool
    def find(node: Node) -> str:
        return node.model_dump_json(exclude_defaults=True)

    given = {"v": '{"a": 1}', "next": '{"v": "b", "kids": null}', "kids": ['{"v": "c"}'], "meta": '{"x": 1}'}
    expected = {"v": '{"a": 1}', "next": {"v": "b"}, "kids": [{"v": "c"}], "meta": {"x": 1}}
    declare(hub)
    outcome = await hub.run(message("find", {"node": given}))
    assert outcome.results[0].success, outcome.results[0].error
    assert json.loads(outcome.results[0].result) == expected


async def test_of_alternatives_at_the_top_only_those_that_are_given_arrive() -> None:
    hub = ToolHub()
    one: dict[str, Any] = {"properties": {"a": {"type": "string"}}, "required": ["a"]}
    other: dict[str, Any] = {"properties": {"b": {"type": "string"}}, "required": ["b"]}
    hub.register(lambda **given: given, name="find", parameters={"oneOf": [one, other]})
    hub.as_openai(strict=True)
    outcome = await hub.run(message("find", {"a": None, "b": "x"}))
    assert outcome.results[0].result == {"b": "x"}


async def test_a_null_of_any_type_is_a_value_unless_strict_mode_demands_it() -> None:
    hub = ToolHub()

    @hub.tool
    def show(must: Any, may: Any = 5) -> Any:
        return [must, may]

    given = {"must": None, "may": None}
    block = {"type": "tool_use", "id": "t", "name": "show", "input": given}
    for declare, said, expected in (
        (hub.as_openai, message("show", given), [None, None]),
        (lambda: hub.as_openai(strict=True), message("show", given), [None, 5]),
        (hub.as_anthropic, {"role": "assistant", "content": [block]}, [None, None]),
        # Each API was shown its own form.
        (list[Any], message("show", given), [None, 5]),
    ):
        declare()
        assert (await hub.run(said)).results[0].result == expected


async def test_parameters_get_their_names_back() -> None:
    hub = ToolHub()
    schema = {"type": "object", "properties": {"filter[id]": {"type": "string"}}, "required": ["filter[id]"]}
    hub.register(lambda **given: given, name="list", parameters=schema)
    for tools, key in ((hub.as_anthropic(), "input_schema"), (hub.as_gemini(), "parameters")):
        (name,) = tools[0][key]["properties"]
        assert name != "filter[id]"
        assert tools[0][key]["required"] == [name]
        result = await hub.dispatch({"tool_name": "list", "arguments": {name: "7"}})
        assert result.result == {"filter[id]": "7"}


NESTED: dict[str, Any] = {
    "type": "object",
    "properties": {
        "$filter": {
            "type": "object",
            "properties": {
                "user name": {"type": "string"},
                "@rows": {
                    "type": "array",
                    "items": {"type": "object", "properties": {"城市": {"type": "string"}}},
                },
                "more": {
                    "type": "object",
                    "additionalProperties": {"properties": {"a/b": {"type": "integer"}}},
                },
            },
            "required": ["user name"],
        },
        "either": {
            "anyOf": [{"type": "null"}, {"type": "object", "properties": {"x y": {"type": "integer"}}}]
        },
    },
}


def as_sent(schema: dict[str, Any], value: Any) -> Any:
    """A value with the names of the schema that an API was shown, which are in its descriptions."""
    if isinstance(value, list):
        return [as_sent(schema["items"], one) for one in value]
    if not isinstance(value, dict):
        return value
    branches = schema.get("anyOf", [])
    schema = next((branch for branch in branches if branch.get("properties")), schema)
    sent: dict[str, Any] = {}
    for name, inner in value.items():
        shown = schema.get("properties", {})
        key = next((key for key, one in shown.items() if f'"{name}"' in one.get("description", "")), name)
        sent[key] = as_sent(shown.get(key) or schema.get("additionalProperties") or {}, inner)
    return sent


async def test_keys_inside_of_parameters_get_their_names_back() -> None:
    hub = ToolHub()
    hub.register(lambda **given: given, name="list", parameters=NESTED)
    filters: dict[str, Any] = {"user name": "x", "@rows": [{"城市": "Paris"}]}
    for tools, key in ((hub.as_anthropic(), "input_schema"), (hub.as_gemini(), "parameters")):
        shown = tools[0][key]
        more: Any = {"k": {"a/b": 1}}
        given: dict[str, Any] = {"$filter": {**filters, "more": more}, "either": {"x y": 2}}
        sent = as_sent(shown, given)
        assert sent != given
        inner = sent["$filter"] if "$filter" in sent else next(iter(sent.values()))
        assert "user name" not in inner
        result = await hub.dispatch({"tool_name": "list", "arguments": sent})
        assert result.result == given, result.error


@pytest.mark.parametrize(
    "declare", [lambda hub: hub.as_openai(strict=True), ToolHub.as_gemini, ToolHub.as_openai]
)
@pytest.mark.parametrize("is_required", [True, False])
@pytest.mark.parametrize(
    "schema",
    [
        {"type": "string", "nullable": True},
        {"type": ["string", "integer"], "nullable": True},
        {"type": "string", "enum": ["x"], "nullable": True},
        {"anyOf": [{"type": "string"}, {"type": "integer"}], "nullable": True},
        {"oneOf": [{"type": "string"}], "nullable": True},
        {"$ref": "#/$defs/Node", "nullable": True},
        {"allOf": [{"$ref": "#/$defs/Node"}], "nullable": True},
        {"const": "x", "nullable": True},
    ],
)
async def test_null_reaches_what_is_nullable(
    schema: dict[str, Any], is_required: bool, declare: Callable[[ToolHub], Any]
) -> None:
    hub = ToolHub()
    parameters = {
        "type": "object",
        "properties": {"it": schema},
        "required": ["it"] if is_required else [],
        "$defs": {"Node": {**NODE, "properties": {"v": {"type": "string"}, "next": schema}}},
    }
    hub.register(lambda **given: given, name="find", parameters=parameters)
    declare(hub)
    outcome = await hub.run(message("find", {"it": None}))
    assert outcome.results[0].result == {"it": None}, outcome.results[0].error
    if "$ref" in str(schema):
        outcome = await hub.run(message("find", {"it": {"v": "x", "next": None}}))
        assert outcome.results[0].result == {"it": {"v": "x", "next": None}}, outcome.results[0].error


async def test_a_model_is_told_the_names_that_an_api_does_not_take() -> None:
    hub = ToolHub()
    city = {"type": "string", "description": "Where."}
    schema = {
        "properties": {"城市": city, "日期": {"type": "string"}, "days": {"type": "integer"}},
        "anyOf": [{"required": ["城市"]}, {"required": ["日期", "days"]}],
    }
    hub.register(lambda **given: given, name="天气", parameters=schema)
    for (tool,), key in ((hub.as_anthropic(), "input_schema"), (hub.as_gemini(), "parameters")):
        assert tool["name"].startswith("tool_")
        assert tool["description"] == '"天气"'
        where, when, days = tool[key]["properties"]
        assert where.startswith("param_")
        assert when.startswith("param_")
        assert days == "days"
        assert tool[key]["properties"][where]["description"] == '"城市": Where.'
        assert tool[key]["properties"][when]["description"] == '"日期"'
        assert "description" not in tool[key]["properties"][days]
        assert tool[key]["description"] == f"give one of these: {where}; {when} + days"
        outcome = await hub.run(message(tool["name"], {where: "Bonn"}))
        assert outcome.results[0].result == {"城市": "Bonn"}
    (tool,) = hub.as_openai()
    assert tool["function"]["description"] == '"天气"'
    assert tool["function"]["parameters"]["description"] == "give one of these: 城市; 日期 + days"


async def test_what_gemini_wrote_as_json_text_is_read_again() -> None:
    hub = ToolHub()
    inner = {"type": "object", "properties": {"any": {}, "text": {"type": "string"}}}
    schema = {
        "properties": {"value": {}, "text": {"type": "string"}, "rows": {"type": "array", "items": inner}}
    }
    hub.register(lambda **given: given, name="put", parameters=schema)
    given = {
        "value": '{"a": [1, null]}',
        "text": '{"a": 1}',
        "rows": [{"any": "5", "text": "5"}, {"any": "plain words"}, {"any": '"quoted"'}],
    }
    as_given = await hub.dispatch({"tool_name": "put", "arguments": given})
    assert as_given.result == given, "the schema does not ask for JSON text"
    (declared,) = hub.as_gemini()
    assert declared["parameters"]["properties"]["value"]["type"] == "STRING"
    read = (await hub.dispatch({"tool_name": "put", "arguments": given})).result
    assert read["value"] == {"a": [1, None]}
    assert read["text"] == '{"a": 1}'
    assert read["rows"] == [{"any": 5, "text": "5"}, {"any": "plain words"}, {"any": "quoted"}]
    hub.as_openai()
    assert (await hub.dispatch({"tool_name": "put", "arguments": given})).result == given


def test_dispatch_and_explain_know_the_names_of_an_api(hub: ToolHub) -> None:
    name = hub.as_gemini()[0]["name"]
    result = hub.dispatch_sync({"tool_name": name, "arguments": {"path": "a"}})
    assert result.result == ["a", 10, None]
    assert result.meta["tool"] == "files.read"
    assert hub.explain({"tool_name": name, "arguments": {"path": "a"}}).text.startswith("'files.read'")
    near = hub.dispatch_sync({"tool_name": "files_reed", "arguments": {}})
    assert near.kind == "not_found"


def test_lists_by_query(hub: ToolHub) -> None:
    for name in ("send_mail", "read_mail", "draw"):
        hub.register(len, name=name, description=name.replace("_", " "))
    names = [tool["name"] for tool in hub.as_anthropic("read mail", 1)]
    assert names == ["read_mail"]
    assert [tool["name"] for tool in hub.as_anthropic("read mail", 2, core=["draw"])] == ["draw", "read_mail"]
    assert len(hub.as_anthropic()) == 4
    assert len(hub.as_anthropic(limit=2)) == 2


def test_a_name_that_was_made_for_an_api_belongs_to_the_tool_that_has_it(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with ToolHub() as hub:
        hub.register(lambda a: a, name="search web", read_only=True)
        (made,) = (tool["function"]["name"] for tool in hub.as_openai())
        hub.register(lambda b: b, name=made, read_only=True)
        (only,) = hub.as_openai()
        assert only["function"]["name"] == made
        assert list(only["function"]["parameters"]["properties"]) == ["b"]
    assert "'search web' is left out for openai: its name for the API" in caplog.text
