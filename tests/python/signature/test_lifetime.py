"""What describing costs: nothing at import, once for each function, and no function is kept alive."""

import asyncio
import gc
import subprocess
import sys
import weakref
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from pydantic import TypeAdapter

import toolhub
from toolhub import ToolHub
from toolhub._signature.build import describe


def run_alone(code: str) -> str:
    """Run code in a fresh interpreter that finds the same package, and give what it prints."""
    # Not through `toolhub/__init__.py`: what that imports is not the matter here.
    alone = (
        "import sys, types\n"
        "package = types.ModuleType('toolhub')\n"
        f"package.__path__ = [{str(Path(toolhub.__file__).parent)!r}]\n"
        "sys.modules['toolhub'] = package\n"
        "before = set(sys.modules)\n"
    )
    done = subprocess.run(
        [sys.executable, "-S", "-c", alone + code], capture_output=True, text=True, timeout=50
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_the_import_loads_nothing() -> None:
    code = "import toolhub._signature\nprint(sorted(set(sys.modules) - before))"
    assert run_alone(code) == "['toolhub._signature']"


def test_a_given_schema_needs_no_pydantic() -> None:
    code = """
from toolhub._signature.build import describe
def add(a: int, b: int):
    "Add."
class Tool:
    name = "tool"
    parameters = {"type": "object", "properties": {"a": {}}}
    def execute(self, input): ...
print(describe(add, parameters={}).name, describe(Tool()).name)
print("pydantic" in sys.modules or "docstring_parser" in sys.modules)
"""
    assert run_alone(code).split() == ["add", "tool", "False"]


def counting() -> Any:
    return patch("toolhub._signature.arguments.TypeAdapter", wraps=TypeAdapter)


def test_a_function_is_compiled_once() -> None:
    def add(a: int, b: set[int]) -> int:
        return a + len(b)

    with counting() as adapters:
        tools = [describe(add, name=f"add{number}") for number in range(100_000)]
    assert adapters.call_count == 1
    assert len({id(tool.parameters) for tool in tools}) == 1
    assert tools[-1].name == "add99999"
    assert tools[-1].call is add


def test_methods_are_compiled_once_for_all_objects() -> None:
    class Tool:
        def add(self, a: int, b: set[int]) -> int:
            return a + len(b)

    with counting() as adapters:
        for _ in range(10):
            describe(Tool().add)
    assert adapters.call_count == 1
    with pytest.raises(TypeError, match="needs an object"):
        describe(Tool.add)
    assert list(describe(Tool().add).parameters["properties"]) == ["a", "b"]


def test_changes_of_a_function_are_seen() -> None:
    def tool(a: int = 1): ...

    assert describe(tool).description == ""
    tool.__doc__ = "New."
    assert describe(tool).description == "New."
    tool.__defaults__ = (2,)
    assert describe(tool).parameters["properties"]["a"]["default"] == 2


def plain() -> Any:
    def tool(a: int, b: list[int] | None = None, *rest: int): ...

    return tool


def generating() -> Any:
    async def tool(a: int) -> AsyncIterator[int]:
        yield a

    return tool


@pytest.mark.parametrize("make", [plain, generating])
def test_functions_are_not_kept_alive(make: Any) -> None:
    function = make()
    described = describe(function)
    gone = weakref.ref(function)
    del described, function
    gc.collect()
    assert gone() is None


def test_objects_are_not_kept_alive() -> None:
    class Tool:
        name = "tool"

        def execute(self, input: int) -> int:
            return input

    obj = Tool()
    describe(obj)
    gone = weakref.ref(obj)
    del obj
    gc.collect()
    assert gone() is None


def test_describing_from_many_threads() -> None:
    def tool(a: int): ...

    async def main() -> list[Any]:
        return await asyncio.gather(*(asyncio.to_thread(describe, tool) for _ in range(50)))

    assert {str(found.parameters) for found in asyncio.run(main())} == {str(describe(tool).parameters)}


class Box:
    def __init__(self, content: Any) -> None:
        self.content = content


def _plain_default(hub: ToolHub) -> Any:
    def tool(x: int, owner: Any = hub) -> int:
        return x

    return tool


def _keyword_default(hub: ToolHub) -> Any:
    async def tool(x: int, *, owner: ToolHub | None = hub) -> int:
        return x

    return tool


def _boxed_default(hub: ToolHub) -> Any:
    def tool(x: int, owner: Any = Box([hub])) -> int:  # noqa: B008
        return x

    return tool


def _method_default(hub: ToolHub) -> Any:
    def tool(x: int, call: Any = hub.call) -> int:
        return x

    return tool


def _closure(hub: ToolHub) -> Any:
    return lambda x=1, get=lambda: hub: x


@pytest.mark.parametrize(
    "make", [_plain_default, _keyword_default, _boxed_default, _method_default, _closure]
)
def test_a_default_that_refers_to_the_hub_does_not_keep_it_alive(make: Any) -> None:
    hub = ToolHub()
    gone = weakref.ref(hub)
    hub.register(make(hub), name="tool")
    assert hub.call("tool", {"x": 1}).success
    del hub
    gc.collect()
    assert gone() is None
