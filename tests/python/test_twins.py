"""Every method that waits exists twice, for async and for blocking code, by one scheme of names."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from typing import Any, get_args, get_type_hints

import pytest

from toolhub import CurrentCall, ToolHub, questions, serving
from toolhub.hub.pins import Pins
from toolhub.hub.prompts import Prompts
from toolhub.hub.resources import Resources
from toolhub.hub.skills import Skills

OTHER_NAMES = {
    "execute": "call",
    "execute_many": "call_many",
    "execute_by_capability": "call_by_capability",
    "aclose": "close",
    "aserve": "serve",
}
OWNERS = {
    "": ToolHub,
    "resources.": Resources,
    "prompts.": Prompts,
    "skills.": Skills,
    "pins.": Pins,
    "current_call().": CurrentCall,
}


def methods() -> dict[str, Callable[..., Any]]:
    found = {
        f"{part}{name}": method
        for part, owner in OWNERS.items()
        for name, method in inspect.getmembers(owner, inspect.isfunction)
    }
    return {name: method for name, method in found.items() if not name.rpartition(".")[2].startswith("_")}


def asynchronous() -> list[str]:
    return [name for name, method in methods().items() if inspect.iscoroutinefunction(method)]


def accepted(method: Callable[..., Any]) -> tuple[list[str], set[str]]:
    """The names of the positional parameters, in order, and of all keywords, those of an unpacked `TypedDict` included."""
    positional: list[str] = []
    keywords: set[str] = set()
    for parameter in list(inspect.signature(method).parameters.values())[1:]:
        if parameter.kind is parameter.VAR_KEYWORD:
            (options,) = get_args(get_type_hints(method, localns=vars(serving))[parameter.name])
            keywords |= get_type_hints(options).keys()
        else:
            keywords.add(parameter.name)
            if parameter.kind is not parameter.KEYWORD_ONLY:
                positional.append(parameter.name)
    return positional, keywords


@pytest.mark.parametrize("name", asynchronous())
def test_an_async_method_has_a_blocking_twin_that_takes_the_same(name: str) -> None:
    twin = OTHER_NAMES.get(name, f"{name}_sync")
    assert twin in methods(), f"{name} has no blocking twin {twin}"
    assert not inspect.iscoroutinefunction(methods()[twin])
    assert accepted(methods()[twin]) == accepted(methods()[name])
    # `toolhub` imports the classes of serving and of questions on first use.
    later = vars(serving) | vars(questions)
    returned = [get_type_hints(methods()[one], localns=later)["return"] for one in (name, twin)]
    assert returned[0] == returned[1]


@pytest.mark.parametrize("name", [name for name in methods() if name.endswith("_sync")])
def test_nothing_is_called_sync_without_an_async_twin(name: str) -> None:
    assert name.removesuffix("_sync") in asynchronous()


def test_twins_are_named_by_one_scheme() -> None:
    assert set(OTHER_NAMES) == {name for name in asynchronous() if f"{name}_sync" not in methods()}
    assert [name for name in asynchronous() if name[0] == "a" and name[1:] in methods()] == [
        "aclose",
        "aserve",
    ]


def test_blocking_twins_do_the_same_inside_a_running_loop_too() -> None:
    hub = ToolHub()
    hub.register(len, name="length", capabilities=["count"])
    request = {"tool_name": "length", "arguments": {"obj": "abc"}}
    text = '<tool_call>{"name": "length", "arguments": {"obj": "abc"}}</tool_call>'

    def blocking() -> list[Any]:
        return [
            hub.call("length", {"obj": "abc"}).result,
            hub.call_by_capability("count", {"obj": "abc"}, 1).result,
            hub.call_many([("length", {"obj": "abc"})])[0].result,
            hub.dispatch_sync(request, timeout=20).result,
            hub.run_sync(text, allowed=["length"]).results[0].result,
        ]

    async def inside() -> list[Any]:
        return blocking()

    assert blocking() == [3] * 5 == asyncio.run(inside())


def test_servers_connect_and_refresh_in_blocking_code() -> None:
    with ToolHub() as hub:
        hub.add_server("missing", command="no-such-program-anywhere")
        heard: list[tuple[str, bool]] = []
        report = hub.connect_sync(progress=lambda id, error: heard.append((id, error is None)))
        assert list(report.failed) == ["missing"]
        assert heard == [("missing", False)]
        assert list(hub.refresh_sync(["missing"]).failed) == ["missing"]
