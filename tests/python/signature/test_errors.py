"""What cannot be a tool is refused in one clear sentence, when it is described."""

from types import SimpleNamespace
from typing import Any

import pytest
from pydantic import BaseModel

from toolhub._signature.build import describe


def add(a: int, b: int) -> int:
    return a + b


class Class:
    @classmethod
    def make(cls) -> None: ...


@pytest.mark.parametrize(
    ("obj", "message"),
    [
        (42, r"42 \(int\) is none of these"),
        (None, r"None \(NoneType\) is none of these"),
        ("x" * 1000, r"x… \(str\) is none of these"),
        ({"name": "x"}, r"A dict is not a tool: register each of its items"),
        (SimpleNamespace(name="x", description="y"), r"SimpleNamespace object has no execute\(input\)"),
        (SimpleNamespace(name="x", execute=3), r"SimpleNamespace.execute must be a method, not int"),
        (SimpleNamespace(name=3, execute=print), r"SimpleNamespace.name must be text, not int"),
        (
            SimpleNamespace(name="a", description=3, execute=print),
            r"SimpleNamespace.description must be text",
        ),
        (Class.__dict__["make"], r"register it as Class.method"),
        (pytest, r"\(module\) is none of these"),
    ],
)
def test_not_a_tool(obj: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message) as failed:
        describe(obj)
    assert "\n" not in str(failed.value)


@pytest.mark.parametrize("name", ["", "  "])
def test_empty_names(name: str) -> None:
    with pytest.raises(ValueError, match="name of a tool must not be empty"):
        describe(add, name=name)
    with pytest.raises(ValueError, match=r"has execute\(\) but no name"):
        describe(SimpleNamespace(name=name, execute=print))


def test_no_name_at_all() -> None:
    with pytest.raises(ValueError, match="set its attribute `name` or pass name="):
        describe(SimpleNamespace(execute=print))


@pytest.mark.parametrize("wrong", [{"name": 3}, {"description": b"x"}])
def test_words_must_be_text(wrong: dict[str, Any]) -> None:
    with pytest.raises(TypeError, match="must be text, not "):
        describe(add, **wrong)


@pytest.mark.parametrize(
    ("schema", "kind", "message"),
    [
        ([], TypeError, "must be a JSON Schema as a dict, not list"),
        ("object", TypeError, "must be a JSON Schema as a dict, not str"),
        ({1: 2}, TypeError, "has the key 1"),
        ({"type": "string"}, ValueError, "not of type 'string'"),
        ({"type": ["string", "null"]}, ValueError, "not of type"),
        ({"properties": ["a"]}, TypeError, "must have a dict as its properties, not list"),
    ],
)
def test_wrong_schemas(schema: Any, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        describe(add, parameters=schema)


@pytest.mark.parametrize(
    "schema", [{}, {"type": "object"}, {"type": ["object", "null"]}, {"properties": {"a": {}}}]
)
def test_given_schemas_replace_the_signature(schema: dict[str, Any]) -> None:
    before = dict(schema)
    tool = describe(add, parameters=schema)
    assert tool.parameters == {"type": "object", **schema}
    assert schema == before
    assert (tool.build, tool.is_checked) == (None, True)
    assert tool.call(a=1, b=2) == 3


def test_a_given_schema_keeps_the_way_of_calling() -> None:
    def tool(a, /, *rest):
        return a, rest

    assert describe(tool, parameters={}).call(a=1, rest=[2, 3]) == (1, (2, 3))


def test_a_given_model_is_its_schema() -> None:
    class Sum(BaseModel):
        a: int
        b: int

    tool = describe(add, parameters=Sum)  # type: ignore[arg-type]
    assert tool.parameters["properties"] == {"a": {"type": "integer"}, "b": {"type": "integer"}}
    assert "title" not in tool.parameters
