"""Types become JSON Schema that is easy to read, and validators that give real Python values."""

import dataclasses
import datetime
import decimal
import enum
import math
import pathlib
import typing
import uuid
from collections.abc import Callable, Sequence
from typing import Annotated, Any, Literal, Optional, Protocol, Union, Unpack

import pytest
import typing_extensions
from pydantic import BaseModel, Field, RootModel, ValidationError
from pydantic.json_schema import SkipJsonSchema

from support.checking import reaching, taking, violations
from toolhub import ToolHub
from toolhub._signature.build import describe


class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Size(enum.IntEnum):
    SMALL = 1
    LARGE = 2


class Person(BaseModel):
    """Somebody."""

    name: str
    age: int = Field(ge=0, description="in years")
    friends: list["Person"] = []


@dataclasses.dataclass
class Point:
    x: int
    y: float = 0.0


class Movie(typing.TypedDict, total=False):
    """A film."""

    title: typing.Required[str]
    year: int
    cast: list[Person]


class Series(typing_extensions.TypedDict):
    title: str
    movies: list[Movie]


class Foreign:
    """A class that pydantic knows nothing about."""


class Quacks(Protocol):
    def quack(self) -> str: ...


def schema_of(hint: Any, **options: Any) -> dict[str, Any]:
    def tool(it):
        return it

    tool.__annotations__["it"] = hint
    return describe(tool, **options).parameters


def one(hint: Any) -> dict[str, Any]:
    return schema_of(hint)["properties"]["it"]


def checked(hint: Any, value: Any) -> Any:
    def tool(it):
        return it

    tool.__annotations__["it"] = hint
    described = describe(tool)
    return described.call(**described.build({"it": value}))


def test_two_integers() -> None:
    def add(a: int, b: int = 2) -> int:
        """Add two numbers.

        Args:
            a: the first
            b: the second
        """
        return a + b

    tool = describe(add)
    assert (tool.name, tool.description, tool.style) == ("add", "Add two numbers.", "kwargs")
    assert tool.call is add
    assert not tool.is_async
    assert tool.parameters == {
        "type": "object",
        "properties": {
            "a": {"type": "integer", "description": "the first"},
            "b": {"type": "integer", "description": "the second", "default": 2},
        },
        "required": ["a"],
        "additionalProperties": False,
    }


@pytest.mark.parametrize(
    ("hint", "expected"),
    [
        (int, {"type": "integer"}),
        (float, {"type": "number"}),
        (str, {"type": "string"}),
        (bool, {"type": "boolean"}),
        (None, {"type": "null"}),
        (Any, {}),
        (list[int], {"type": "array", "items": {"type": "integer"}}),
        (Sequence[str], {"type": "array", "items": {"type": "string"}}),
        (set[int], {"type": "array", "items": {"type": "integer"}, "uniqueItems": True}),
        (dict[str, int], {"type": "object", "additionalProperties": {"type": "integer"}}),
        (Optional[int], {"anyOf": [{"type": "integer"}, {"type": "null"}]}),  # noqa: UP045
        (int | None, {"anyOf": [{"type": "integer"}, {"type": "null"}]}),
        (Union[int, str], {"anyOf": [{"type": "integer"}, {"type": "string"}]}),  # noqa: UP007
        (Literal["a", "b"], {"type": "string", "enum": ["a", "b"]}),
        (datetime.datetime, {"type": "string", "format": "date-time"}),
        (datetime.date, {"type": "string", "format": "date"}),
        (uuid.UUID, {"type": "string", "format": "uuid"}),
        (pathlib.Path, {"type": "string", "format": "path"}),
        (bytes, {"type": "string", "format": "binary"}),
        (Color, {"$ref": "#/$defs/Color"}),
        (Person, {"$ref": "#/$defs/Person"}),
        (Point, {"$ref": "#/$defs/Point"}),
        (Movie, {"$ref": "#/$defs/Movie"}),
        (Annotated[int, Field(ge=1, le=9)], {"type": "integer", "minimum": 1, "maximum": 9}),
        (Annotated[int, Field(description="how many")], {"type": "integer", "description": "how many"}),
        (Annotated[int, "how many"], {"type": "integer", "description": "how many"}),
        (Annotated[int, typing_extensions.Doc("how many")], {"type": "integer", "description": "how many"}),
    ],
)
def test_hints_in_the_schema(hint: Any, expected: dict[str, Any]) -> None:
    assert one(hint) == expected


def test_a_tuple_lists_its_items() -> None:
    schema = one(tuple[int, str])
    assert schema["prefixItems"] == [{"type": "integer"}, {"type": "string"}]
    assert (schema["minItems"], schema["maxItems"]) == (2, 2)


@pytest.mark.parametrize(
    ("hint", "given", "value"),
    [
        (int, "5", 5),
        (int, 10**60, 10**60),
        (float, math.inf, math.inf),
        (bool, "true", True),
        (bytes, b"\xff\x00", b"\xff\x00"),
        (Color, "red", Color.RED),
        (Size, 2, Size.LARGE),
        (datetime.datetime, "2025-01-31T12:00:00", datetime.datetime(2025, 1, 31, 12)),
        (datetime.timedelta, "PT90S", datetime.timedelta(seconds=90)),
        (pathlib.Path, "/tmp/x", pathlib.Path("/tmp/x")),
        (decimal.Decimal, "1.10", decimal.Decimal("1.10")),
        (uuid.UUID, str(uuid.UUID(int=7)), uuid.UUID(int=7)),
        (set[int], [1, 1, "2"], {1, 2}),
        (tuple[int, str], [1, "a"], (1, "a")),
        (Point, {"x": "3"}, Point(3)),
        (Person, {"name": "Li", "age": 3}, Person(name="Li", age=3)),
        (Movie, {"title": "M", "year": "1931"}, {"title": "M", "year": 1931}),
        (Series, {"title": "S", "movies": [{"title": "M"}]}, {"title": "S", "movies": [{"title": "M"}]}),
        (list[Movie] | None, [{"title": "M"}], [{"title": "M"}]),
        (Any, {"free": [1]}, {"free": [1]}),
    ],
)
def test_values_become_python_values(hint: Any, given: Any, value: Any) -> None:
    found = reaching(taking(hint), {"it": given})
    assert found == value
    assert type(found) is type(value)


def test_not_a_number_passes() -> None:
    assert math.isnan(checked(float, math.nan))


def test_typed_dicts_of_the_standard_library_keep_their_rules() -> None:
    definition = schema_of(Movie)["$defs"]["Movie"]
    assert definition["required"] == ["title"]
    assert definition["description"] == "A film."
    assert definition["properties"]["cast"]["items"] == {"$ref": "#/$defs/Person"}
    assert checked(Annotated[Movie, "x"], {"title": "M"}) == {"title": "M"}
    with pytest.raises(ValidationError, match="title"):
        checked(Movie, {"year": 1})


def test_definitions_are_kept_without_titles() -> None:
    schema = schema_of(Person)
    assert schema["$defs"]["Person"] == {
        "description": "Somebody.",
        "type": "object",
        "properties": {
            "name": {"type": "string"},
            "age": {"type": "integer", "minimum": 0, "description": "in years"},
            "friends": {"type": "array", "items": {"$ref": "#/$defs/Person"}, "default": []},
        },
        "required": ["name", "age"],
    }


def test_a_title_that_a_user_gave_is_no_noise() -> None:
    class Titled(BaseModel):
        title: Annotated[str, Field(title="Headline")]

    assert schema_of(Titled)["$defs"]["Titled"]["properties"] == {
        "title": {"type": "string", "title": "Headline"}
    }


def test_keys_keep_the_order_of_the_source() -> None:
    def tool(zebra: int, apple: int, mango: int) -> None: ...

    assert list(describe(tool).parameters["properties"]) == ["zebra", "apple", "mango"]


@pytest.mark.parametrize(
    ("default", "shown"),
    [
        (None, {"default": None}),
        (Color.RED, {"default": "red"}),
        (Point(1, 2.0), {"default": {"x": 1, "y": 2.0}}),
        (pathlib.Path("a"), {"default": "a"}),
        ((1, 2), {"default": [1, 2]}),
        (object(), {}),
        (math.nan, {}),
        (print, {}),
        ("x" * 10_000, {}),
    ],
)
def test_defaults_are_shown_where_json_can(default: Any, shown: dict[str, Any]) -> None:
    def tool(it=default): ...

    assert describe(tool).parameters["properties"]["it"] == shown
    assert describe(tool).build({}) == {}, "the function's own default applies"


def test_a_default_of_none_allows_none() -> None:
    def tool(limit: int = None, size: Annotated[int, Field(ge=1, description="how big")] = None):  # noqa: RUF013
        return limit, size

    described = describe(tool)
    assert described.build({"limit": None, "size": None}) == {"limit": None, "size": None}
    assert described.parameters["properties"]["size"] == {
        "anyOf": [{"type": "integer", "minimum": 1}, {"type": "null"}],
        "description": "how big",
        "default": None,
    }
    with pytest.raises(ValidationError):
        described.build({"size": 0})


def test_a_field_as_default_is_a_note_with_a_default() -> None:
    def tool(limit: int = Field(10, ge=1, description="how many"), name: str = Field(min_length=1)):
        return limit, name

    described = describe(tool)
    assert described.parameters["properties"]["limit"] == {
        "type": "integer",
        "minimum": 1,
        "description": "how many",
        "default": 10,
    }
    assert described.parameters["required"] == ["name"]
    assert described.call(**described.build({"name": "a"})) == (10, "a")


def test_an_alias_is_what_the_caller_says() -> None:
    def tool(from_: Annotated[str, Field(alias="from")]):
        return from_

    described = describe(tool)
    assert list(described.parameters["properties"]) == ["from"]
    assert described.call(**described.build({"from": "here"})) == "here"


def test_words_of_the_field_come_before_the_docstring() -> None:
    def tool(a: Annotated[int, Field(description="by field")], b: int):
        """Do.

        :param a: by docstring
        :param b: also by docstring
        """

    properties = describe(tool).parameters["properties"]
    assert properties["a"]["description"] == "by field"
    assert properties["b"]["description"] == "also by docstring"


def test_foreign_classes_are_checked_but_not_described() -> None:
    def tool(it: Foreign, many: list[Foreign]):
        """Do.

        Args:
            it: the thing
        """
        return it, many

    described = describe(tool)
    assert described.parameters["properties"] == {
        "it": {"description": "the thing (Python type: Foreign)"},
        "many": {"type": "array", "items": {"description": "Python type: Foreign"}},
    }
    thing = Foreign()
    assert described.call(**described.build({"it": thing, "many": [thing]})) == (thing, [thing])
    with pytest.raises(ValidationError, match="Foreign"):
        described.build({"it": 3, "many": []})


@pytest.mark.parametrize("hint", [Quacks, Callable[[int], int], type[Foreign], "no type at all", 5])
def test_strange_hints_never_stop_a_description(hint: Any, recwarn: pytest.WarningsRecorder) -> None:
    schema = one(hint)
    assert schema.keys() <= {"description"}
    assert schema["description"].startswith("Python type: ")


@pytest.mark.parametrize("hint", [Quacks, 5, "no type at all"])
def test_strange_hints_accept_anything(hint: Any) -> None:
    assert checked(hint, 3) == 3


class Ring(RootModel["Ring | None"]):
    pass


def test_a_type_that_is_only_itself() -> None:
    assert one(Ring) == {"$ref": "#/$defs/Ring"}
    assert checked(Ring, None) == Ring(None)


def test_a_large_default_is_shown_exactly_unless_it_is_long() -> None:
    def tool(limit: int = 10**30, long: int = 10**3000):
        return limit, long

    shown = {"limit": {"type": "integer", "default": 10**30}, "long": {"type": "integer"}}
    assert describe(tool).parameters["properties"] == shown
    assert reaching(tool, {}) == (10**30, 10**3000)


def test_parameters_may_be_hidden() -> None:
    def tool(a: int, secret: SkipJsonSchema[int] = 3, b: int = 4):
        return a, secret, b

    assert describe(tool).parameters["properties"] == {
        "a": {"type": "integer"},
        "b": {"type": "integer", "default": 4},
    }
    assert reaching(tool, {"a": "1", "secret": 5}) == (1, 5, 4)
    assert violations(tool, {"a": 1, "secret": []}) == [
        "secret: expected a valid integer, got an array of 0 items"
    ]


@pytest.mark.parametrize(
    "name", ["_private", "__mangled", "self", "cls", "args", "kwargs", "arguments", "model_config"]
)
def test_any_name_will_do(name: str) -> None:
    scope: dict[str, Any] = {}
    exec(f"def tool({name}: int, /, *more): return {name}", scope)
    described = describe(scope["tool"])
    assert described.call(**described.build({name: 3})) == 3


def test_look_around_in_patterns_works() -> None:
    """The core checks the pattern by the schema; the builder must not run it without a limit."""

    def take(it: Annotated[str, Field(pattern=r"^(?!bad).*$")]) -> str:
        return it

    with ToolHub() as hub:
        hub.register(take)
        assert hub.call("take", {"it": "good"}).result == "good"
        assert hub.call("take", {"it": "bad"}).kind == "invalid_arguments"


def test_no_hint_accepts_anything() -> None:
    def tool(it): ...

    assert describe(tool).parameters["properties"] == {"it": {}}
    assert describe(tool).build({"it": print}) == {"it": print}


def test_extra_arguments() -> None:
    def closed(a: int): ...
    def opened(a: int, **more): ...
    def typed(a: int, **more: float): ...

    assert describe(closed).parameters["additionalProperties"] is False
    assert describe(opened).parameters["additionalProperties"] is True
    assert describe(typed).parameters["additionalProperties"] == {"type": "number"}
    with pytest.raises(ValidationError):
        describe(closed).build({"a": 1, "b": 2})
    assert describe(opened).build({"a": 1, "b": "2"}) == {"a": 1, "b": "2"}
    assert describe(typed).build({"a": 1, "b": 2.5}) == {"a": 1, "b": 2.5}
    with pytest.raises(ValidationError):
        describe(typed).build({"a": 1, "b": "x"})


def test_extra_arguments_do_not_open_what_is_inside() -> None:
    def tool(point: Point, person: Person, **more: Person): ...

    described = describe(tool)
    assert described.parameters["additionalProperties"] == {"$ref": "#/$defs/Person"}
    with pytest.raises(ValidationError, match="z"):
        described.build({"point": {"x": 1, "z": 3}, "person": {"name": "a", "age": 1}})


class Options(typing.TypedDict, total=False):
    depth: typing.Required[int]
    name: str


def test_unpacked_keywords_are_parameters() -> None:
    def tool(**options: Unpack[Options]):
        return options

    schema = describe(tool).parameters
    assert schema["properties"] == {"depth": {"type": "integer"}, "name": {"type": "string"}}
    assert schema["required"] == ["depth"]
    assert schema["additionalProperties"] is False


def test_building_gives_a_new_dict() -> None:
    def tool(a: int, b: Any): ...

    given = {"a": 1, "b": []}
    found = describe(tool).build(given)
    assert found == given
    assert found is not given


def test_json_text_is_taken_for_objects_and_arrays_only_where_needed() -> None:
    def tool(point: Point = None, rows: list[int] | None = None, text: str = "", free: str | dict = ""):
        return point, rows, text, free

    assert reaching(tool, {"point": '{"x": 1}', "rows": " [1, 2]"}) == (Point(1), [1, 2], "", "")
    assert reaching(tool, {"text": "[1]", "free": '{"x": 1}'}) == (None, None, "[1]", '{"x": 1}')
    assert violations(tool, {"point": '{"x": "no"}'}) == [
        'point: expected an object or null, got \'{"x": "no"}\' (string)'
    ]
    violations(tool, {"point": "{no json"})
    violations(tool, {"rows": "[1]"}, coerce=False)


@pytest.mark.parametrize(
    ("hint", "right", "wrong"),
    [
        (int, 5, "5"),
        (int, 5, True),
        (float, 5, "5.0"),
        (bool, True, "true"),
        (str, "a", 5),
        (datetime.date, "2025-01-31", 5),
        (datetime.date, datetime.date(2025, 1, 31), "soon"),
        (Point, {"x": 1}, {"x": "1"}),
        (Point, Point(1), [1]),
        (Person, {"name": "a", "age": 1}, {"name": "a", "age": "1"}),
        (tuple[int, str], [1, "a"], ["1", "a"]),
        (set[int], [1, 2], ["1"]),
        (Color, "red", "green"),
        (Foreign, Foreign(), 3),
        (dict[str, int], {"a": 1}, {"a": "1"}),
        (bytes, b"\xff", 3),
    ],
)
def test_strict_takes_the_json_form_and_coerces_nothing(hint: Any, right: Any, wrong: Any) -> None:
    reaching(taking(hint), {"it": right}, coerce=False)
    assert violations(taking(hint), {"it": wrong}, coerce=False)


@pytest.mark.parametrize(
    "value",
    [math.inf, 1e308, "\ud800", {1: "a"}, (1, 2), pytest.param(10**5000, id="digits")],
)
@pytest.mark.parametrize("hint", [Any, Annotated[Any, "more than a plain hint"]], ids=["plain", "built"])
def test_strict_gives_back_what_it_was_given(value: Any, hint: Any) -> None:
    assert reaching(taking(hint), {"it": value}, coerce=False) == value


@pytest.mark.parametrize(
    ("tool", "single"),
    [
        (lambda a: 0, "a"),
        (lambda a, b=1: 0, "a"),
        (lambda a=1: 0, "a"),
        (lambda a, b: 0, None),
        (lambda a=1, b=2: 0, None),
        (lambda: 0, None),
        (lambda *many: 0, "many"),
        (lambda **more: 0, None),
        (lambda a, **more: 0, "a"),
    ],
)
def test_which_argument_a_bare_value_is_for(tool: Any, single: str | None) -> None:
    hub = ToolHub()
    hub.register(tool, name="tool")
    result = hub.call("tool", 5)
    assert result.success if single else "expected named arguments" in str(result.error)
