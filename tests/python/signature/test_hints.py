"""Hints that are text: postponed, local, known only to type checkers."""

from __future__ import annotations

import dataclasses
import functools
import sys
import textwrap
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, TypedDict

import pytest
from pydantic import BaseModel, Field, ValidationError

from toolhub._signature.build import describe

if TYPE_CHECKING:
    from pandas import DataFrame


class Person(BaseModel):
    name: str


class Place(NamedTuple):
    x: int
    y: int = 0


@dataclasses.dataclass
class Box:
    owner: Person
    size: int = 1
    seed: dataclasses.InitVar[int] = 0


class Film(TypedDict):
    title: str
    lead: Person


class Node(TypedDict, total=False):
    value: int
    children: list[Node]


def properties(obj: Any) -> dict[str, Any]:
    return describe(obj).parameters["properties"]


def test_postponed_hints() -> None:
    def tool(a: int, p: Person, b: Annotated[int, Field(ge=1)] = 1, c: list[Person] | None = None): ...

    found = properties(tool)
    assert found["a"] == {"type": "integer"}
    assert found["p"] == {"$ref": "#/$defs/Person"}
    assert found["b"] == {"type": "integer", "minimum": 1, "default": 1}
    assert found["c"]["anyOf"][0]["items"] == {"$ref": "#/$defs/Person"}


def test_postponed_hints_inside_classes() -> None:
    def tool(film: Film, box: Box): ...

    found = describe(tool).build(
        {"film": {"title": "M", "lead": {"name": "P"}}, "box": {"owner": {"name": "P"}}}
    )
    assert found["film"]["lead"] == Person(name="P")
    assert found["box"].owner == Person(name="P")


def test_postponed_hints_of_constructors() -> None:
    assert properties(Place) == {"x": {"type": "integer"}, "y": {"type": "integer", "default": 0}}
    assert properties(Box)["owner"] == {"$ref": "#/$defs/Person"}
    assert properties(Box)["seed"] == {"type": "integer", "default": 0}


def test_a_name_for_type_checkers_only_means_anything() -> None:
    def tool(frame: DataFrame, frames: list[DataFrame], n: int):
        """Do.

        Args:
            frame: the data
        """

    found = properties(tool)
    assert found["frame"] == {"description": "the data (Python type: DataFrame)"}
    assert found["frames"] == {"description": "Python type: list[DataFrame]"}
    assert found["n"] == {"type": "integer"}
    assert describe(tool).build({"frame": 1, "frames": 2, "n": 3}) == {"frame": 1, "frames": 2, "n": 3}


def test_local_classes_are_found_while_their_function_runs() -> None:
    class Local(BaseModel):
        a: int

    def tool(it: Local): ...

    def register() -> dict[str, Any]:
        return properties(tool)

    assert register() == {"it": {"$ref": "#/$defs/Local"}}


def test_local_classes_of_a_function_that_has_ended_mean_anything() -> None:
    def make() -> Any:
        class Gone(BaseModel):
            a: int

        def tool(it: Gone, n: int): ...

        return tool

    assert properties(make()) == {"it": {"description": "Python type: Gone"}, "n": {"type": "integer"}}


def test_a_class_that_is_defined_later() -> None:
    module: dict[str, Any] = {"__name__": "later", "BaseModel": BaseModel}
    exec("def tool(it: 'Later'): ...", module)
    assert properties(module["tool"]) == {"it": {"description": "Python type: Later"}}
    exec("class Later(BaseModel): a: int", module)
    assert properties(module["tool"]) == {"it": {"$ref": "#/$defs/Later"}}


def test_names_in_a_closure_are_found() -> None:
    def make() -> Any:
        class Kept(BaseModel):
            a: int

        def tool(it: Kept):
            return isinstance(it, Kept)

        return tool

    tool = describe(make())
    assert tool.parameters["properties"] == {"it": {"$ref": "#/$defs/Kept"}}
    assert tool.call(**tool.build({"it": {"a": 1}}))


def test_a_wrapper_from_another_module_does_not_matter() -> None:
    module: dict[str, Any] = {"functools": functools}
    exec(
        textwrap.dedent("""
        def traced(function):
            @functools.wraps(function)
            def wrapper(*args, **kwargs):
                return function(*args, **kwargs)
            return wrapper
        """),
        module,
    )

    def tool(p: Person): ...

    assert properties(module["traced"](tool)) == {"p": {"$ref": "#/$defs/Person"}}


def test_references_inside_real_hints() -> None:
    def tool(it): ...

    tool.__annotations__["it"] = list["Person"]
    assert properties(tool) == {"it": {"type": "array", "items": {"$ref": "#/$defs/Person"}}}
    tool.__annotations__["it"] = list["Nobody"]  # noqa: F821
    tool.__doc__ = "changed"
    assert properties(tool)["it"].keys() == {"description"}


def test_a_field_of_a_dataclass_that_cannot_be_resolved() -> None:
    @dataclasses.dataclass
    class Broken:
        frame: DataFrame

    def tool(it: Broken, n: int): ...

    described = describe(tool)
    assert described.parameters["properties"] == {
        "it": {"description": "Python type: " + Broken.__qualname__},
        "n": {"type": "integer"},
    }
    assert described.build({"it": 1, "n": 2}) == {"it": 1, "n": 2}


def test_text_that_is_no_hint() -> None:
    def tool(it): ...

    tool.__annotations__["it"] = "the number of things; at most 5"
    assert describe(tool).build({"it": [1]}) == {"it": [1]}


def test_hints_that_fail_when_they_are_looked_at() -> None:
    def tool(it: 1 / 0, n: int): ...

    assert describe(tool).build({"it": 1, "n": 2}) == {"it": 1, "n": 2}


def test_a_typed_dict_that_cannot_be_resolved() -> None:
    class Row(TypedDict):
        frame: DataFrame

    def tool(row: Row, n: int): ...

    assert describe(tool).build({"row": 1, "n": 2}) == {"row": 1, "n": 2}


def test_self_containing_typed_dicts() -> None:
    def tool(node: Node): ...

    described = describe(tool)
    assert described.build({"node": {"value": 1, "children": [{"value": 2}]}})["node"]["value"] == 1
    with pytest.raises(ValidationError):
        described.build({"node": {"value": "x"}})


@pytest.mark.skipif(sys.version_info < (3, 12), reason="syntax of Python 3.12")
def test_type_parameters_and_aliases() -> None:
    module: dict[str, Any] = {"__name__": "modern"}
    exec(
        textwrap.dedent("""
        from __future__ import annotations
        type Rows = list[int]
        def tool[T: int](it: T, rows: Rows): ...
        """),
        module,
    )
    tool = describe(module["tool"])
    assert tool.parameters["properties"]["it"] == {"type": "integer"}
    assert tool.build({"it": 1, "rows": [2]}) == {"it": 1, "rows": [2]}
