"""Objects with name, description and execute(input), in the forms that orchestrators have."""

import asyncio
import dataclasses
from types import SimpleNamespace
from typing import Annotated, Any

import pytest
from pydantic import BaseModel, Field

from support.checking import reaching, violations
from toolhub._signature.build import describe


class Query(BaseModel):
    """A question."""

    text: str
    limit: int = 10


class Search:
    """Searches."""

    name = "search"
    description = "Search the web."

    def execute(self, input):
        return ("found", input)


class Base:
    name = "tool"
    description = "A tool."


def with_hint(hint: Any) -> Any:
    class Tool(Base):
        def execute(self, input):
            return ("got", input)

    Tool.execute.__annotations__["input"] = hint
    return Tool()


def test_the_plain_shape() -> None:
    obj = Search()
    tool = describe(obj)
    assert (tool.name, tool.description, tool.style) == ("search", "Search the web.", "value")
    assert (tool.value_key, tool.is_async) == ("input", False)
    assert tool.call("x") == ("found", "x")
    obj.execute = lambda input: ("patched", input)  # type: ignore[method-assign]
    assert tool.call("x") == ("patched", "x")
    assert tool.parameters == {"type": "object", "properties": {"input": {}}, "required": ["input"]}


WORDS = Annotated[str, Field(description="what to do")]


@pytest.mark.parametrize(
    "hint",
    [
        Any,
        str,
        dict,
        dict[str, Any],
        str | dict,
        str | None,
        object,
        "Unknown",
        Annotated[str, "what"],
        WORDS,
    ],
)
@pytest.mark.parametrize("value", ["x", 5, None, {"q": 1}, [1], b"\xff"])
def test_hints_that_say_nothing_accept_everything(hint: Any, value: Any) -> None:
    tool = describe(with_hint(hint))
    assert (tool.build, tool.is_checked, tool.value_key) == (None, False, "input")
    for coerce in (True, False):
        assert reaching(with_hint(hint), {"input": value}, coerce=coerce) == ("got", value)


def test_a_mapping_is_shown_as_an_open_object() -> None:
    schema = describe(with_hint(dict[str, Any])).parameters
    assert (schema["type"], schema["properties"], schema["additionalProperties"]) == ("object", {}, True)


def test_words_in_a_free_hint_are_shown_and_constraints_hold() -> None:
    assert describe(with_hint(WORDS)).parameters["properties"]["input"]["description"] == "what to do"
    assert violations(with_hint(Annotated[str, Field(min_length=2)]), "a") == [
        "input: expected a string of at least 2 characters, got 'a' (string)"
    ]


def test_a_hint_that_says_something_is_checked() -> None:
    tool = describe(with_hint(int))
    assert tool.parameters["properties"] == {"input": {"type": "integer"}}
    assert reaching(with_hint(int), "5") == ("got", 5)
    assert reaching(with_hint(int), {"input": "5"}) == ("got", 5)
    assert violations(with_hint(int), "x") == ["input: expected an integer, got 'x' (string)"]
    assert violations(with_hint(int), "5", coerce=False)


def test_a_model_as_input_is_the_schema() -> None:
    tool = describe(with_hint(Query))
    assert list(tool.parameters["properties"]) == ["text", "limit"]
    assert (tool.parameters["type"], tool.parameters["required"]) == ("object", ["text"])
    assert "$defs" not in tool.parameters
    assert (tool.style, tool.value_key) == ("value", "input")
    search = with_hint(Query)
    for given in (
        {"text": "a", "limit": "3"},
        {"input": {"text": "a", "limit": 3}},
        Query(text="a", limit=3),
    ):
        assert reaching(search, given) == ("got", Query(text="a", limit=3))
    assert reaching(search, '{"text": "a"}') == ("got", Query(text="a"))
    assert sorted(violations(search, {"limit": "x"})) == [
        "limit: expected an integer, got 'x' (string)",
        "text: required argument is missing, expected a string",
    ]
    assert violations(search, 5) == ["expected an object with the arguments text, limit, got 5 (integer)"]


def test_a_model_with_a_field_named_like_the_parameter_is_not_unwrapped() -> None:
    class Inner(BaseModel):
        input: str

    tool = describe(with_hint(Inner))
    assert tool.value_key is None
    assert reaching(with_hint(Inner), {"input": "a"}) == ("got", Inner(input="a"))
    assert violations(with_hint(Inner), {"input": []}) == [
        "input: expected a string, got an array of 0 items"
    ]


class Tree(BaseModel):
    children: list["Tree"] = []


def test_a_recursive_model_keeps_its_definitions() -> None:
    schema = describe(with_hint(Tree)).parameters
    assert schema["properties"]["children"]["items"] == {"$ref": "#/$defs/Tree"}
    assert "Tree" in schema["$defs"]
    assert "title" not in schema


def test_async_execute() -> None:
    class Tool(Base):
        async def execute(self, input: str) -> str:
            await asyncio.sleep(0)
            return input

    tool = describe(Tool())
    assert tool.is_async
    assert asyncio.run(tool.call("x")) == "x"


def test_generators_are_collected() -> None:
    class Tool(Base):
        def execute(self, input):
            yield from input

    assert describe(Tool()).call("ab") == ["a", "b"]


def test_positional_only_input() -> None:
    class Tool(Base):
        def execute(self, input, /):
            return input

    tool = describe(Tool())
    assert (tool.style, tool.call("x")) == ("value", "x")


@pytest.mark.parametrize("attribute", ["parameters", "input_schema", "inputSchema", "args_schema"])
def test_declared_schemas(attribute: str) -> None:
    schema = {"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]}
    obj = Search()
    setattr(obj, attribute, schema)
    tool = describe(obj)
    assert tool.parameters == schema
    assert tool.parameters is not schema
    assert (tool.build, tool.is_checked) == (None, True)
    assert tool.style == "value"
    assert tool.value_key is None, "'input' is not a declared property"


@pytest.mark.parametrize(
    ("properties", "key"),
    [({}, "input"), ({"input": {}}, "input"), ({"input": {}, "limit": {}}, None), ({"query": {}}, None)],
)
def test_what_is_unwrapped_with_a_declared_schema(properties: dict[str, Any], key: str | None) -> None:
    obj = Search()
    obj.parameters = {"type": "object", "properties": properties}  # type: ignore[attr-defined]
    assert describe(obj).value_key == key


def test_a_declared_model() -> None:
    class Tool(Base):
        args_schema = Query

        def execute(self, text, limit=1):
            return text, limit

    tool = describe(Tool())
    assert tool.parameters == {
        "description": "A question.",
        "type": "object",
        "properties": {"text": {"type": "string"}, "limit": {"type": "integer", "default": 10}},
        "required": ["text"],
    }
    assert (tool.style, tool.build) == ("kwargs", None)


def test_attributes_that_only_share_the_name_are_no_schema() -> None:
    class Tool(Search):
        def parameters(self) -> list[int]:
            return []

    assert describe(Tool()).parameters["properties"] == {"input": {}}


def test_a_declared_schema_must_be_of_an_object() -> None:
    obj = Search()
    obj.input_schema = {"type": "string"}  # type: ignore[attr-defined]
    with pytest.raises(
        ValueError, match=r'Search.input_schema must be .* "type": "object", not of type .string'
    ):
        describe(obj)


def test_several_parameters_are_keywords() -> None:
    class Tool(Base):
        def execute(self, query: str, limit: int = 3):
            return query, limit

    tool = describe(Tool())
    assert (tool.style, tool.value_key) == ("kwargs", None)
    assert tool.build is not None
    assert tool.call(**tool.build({"query": "a", "limit": 4})) == ("a", 4)


@pytest.mark.parametrize("kind", ["**more", "*, query", "*many", "", "query, **more"])
def test_other_signatures_are_keywords(kind: str) -> None:
    module: dict[str, Any] = {}
    exec(f"class Tool:\n    name = 'tool'\n    def execute(self, {kind}): return 1", module)
    assert describe(module["Tool"]()).style == "kwargs"


def test_execute_without_a_signature_takes_a_value() -> None:
    tool = describe(SimpleNamespace(name="max", execute=max))
    assert (tool.style, tool.value_key) == ("value", "input")
    assert tool.call([1, 3, 2]) == 3
    assert (tool.build, tool.is_checked) == (None, False)
    assert reaching(SimpleNamespace(name="max", execute=max), [1, 3, 2]) == 3


def test_words_of_objects() -> None:
    class Documented:
        """From the class."""

        name = "a"

        def execute(self, input):
            """From the method.

            Args:
                input: what to do
            """

    class Undocumented(Documented):
        description = None

    assert describe(Documented()).description == "From the class."
    assert describe(Undocumented()).description == "From the method."
    assert describe(Undocumented()).parameters["properties"]["input"] == {"description": "what to do"}


def test_what_is_given_comes_first() -> None:
    schema = {"properties": {"q": {}}}
    obj = Search()
    obj.parameters = {"type": "object"}  # type: ignore[attr-defined]
    tool = describe(obj, name="find", description="Finds.", parameters=schema)
    assert (tool.name, tool.description) == ("find", "Finds.")
    assert tool.parameters == {"type": "object", "properties": {"q": {}}}


def test_a_class_is_instantiated() -> None:
    class Counting(Search):
        def __init__(self) -> None:
            self.name = "counting"

    tool = describe(Counting)
    assert tool.name == "counting"
    assert tool.call(1) == ("found", 1)


@dataclasses.dataclass
class Configured:
    key: str
    name: str = "configured"

    def execute(self, input):
        return input


def test_a_class_that_needs_arguments() -> None:
    with pytest.raises(
        TypeError, match=r"Configured has execute\(\) but cannot be made without arguments .*'key'"
    ):
        describe(Configured)
    assert describe(Configured("k")).name == "configured"


def test_a_class_that_fails_to_start() -> None:
    class Broken(Search):
        def __init__(self) -> None:
            raise OSError("no disk")

    with pytest.raises(TypeError, match="no disk"):
        describe(Broken)


def test_callable_objects_with_execute() -> None:
    class Both:
        def execute(self, input):
            return "execute"

        def __call__(self, a: int):
            return "call"

    assert describe(Both()).style == "kwargs"
    assert describe(Both(), name="both").style == "value"


def test_two_objects_of_one_class_share_the_work() -> None:
    class Tool(Base):
        def execute(self, a: int, b: int):
            return self, a, b

    first, second = Tool(), Tool()
    one, two = describe(first), describe(second)
    assert one.build is two.build
    assert one.call(a=1, b=2)[0] is first
    assert two.call(a=1, b=2)[0] is second
