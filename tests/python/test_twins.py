"""Every method that waits exists twice, for async and for blocking code, by one scheme of names."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args, get_type_hints

import pytest

from toolhub import ToolHub, serving
from toolhub.hub.prompts import Prompts
from toolhub.hub.resources import Resources

SHORT = {"call": "execute", "call_many": "execute_many", "call_by_capability": "execute_by_capability"}


PARTS = {"resources.": Resources, "prompts.": Prompts}


def methods() -> dict[str, Callable[..., Any]]:
    found = {
        f"{part}{name}": method
        for part, owner in {"": ToolHub, **PARTS}.items()
        for name, method in inspect.getmembers(owner, inspect.isfunction)
    }
    return {name: method for name, method in found.items() if not name.rpartition(".")[2].startswith("_")}


def asynchronous() -> list[str]:
    return [name for name, method in methods().items() if inspect.iscoroutinefunction(method)]


def blocking_twin(name: str) -> str:
    """`execute` → `execute_sync`; `aclose`, `aload_tools`: the blocking one has the plain name."""
    plain = name.removeprefix("a")
    return plain if name.startswith("a") and plain in methods() else f"{name}_sync"


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
    twin = blocking_twin(name)
    assert twin in methods(), f"{name} has no blocking twin {twin}"
    assert not inspect.iscoroutinefunction(methods()[twin])
    assert accepted(methods()[twin]) == accepted(methods()[name])
    # `toolhub` imports the classes of serving on first use.
    returned = [get_type_hints(methods()[one], localns=vars(serving))["return"] for one in (name, twin)]
    assert returned[0] == returned[1]


@pytest.mark.parametrize("name", [name for name in methods() if name.endswith("_sync")])
def test_nothing_is_called_sync_without_an_async_twin(name: str) -> None:
    assert name.removesuffix("_sync") in asynchronous()


@pytest.mark.parametrize(("short", "long"), SHORT.items())
def test_short_names_take_the_same(short: str, long: str) -> None:
    assert accepted(methods()[short]) == accepted(methods()[long])


def test_blocking_twins_do_the_same_inside_a_running_loop_too() -> None:
    hub = ToolHub()
    hub.register(len, name="length", capabilities=["count"])
    request = {"tool_name": "length", "arguments": {"obj": "abc"}}
    text = '<tool_call>{"name": "length", "arguments": {"obj": "abc"}}</tool_call>'

    def blocking() -> list[Any]:
        return [
            hub.execute_sync("length", {"obj": "abc"}).result,
            hub.execute_by_capability_sync("count", {"obj": "abc"}, 1).result,
            hub.execute_many_sync([("length", {"obj": "abc"})])[0].result,
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


@pytest.mark.anyio
async def test_what_blocks_has_an_async_twin(tmp_path: Path) -> None:
    (tmp_path / "tools").mkdir()
    module = tmp_path / "tools" / "one.py"
    module.write_text(
        "import toolhub\n\n@toolhub.tool\ndef shout(text: str) -> str:\n    return text.upper()\n"
    )
    skill = tmp_path / "skills" / "greet" / "SKILL.md"
    skill.parent.mkdir(parents=True)
    skill.write_text("---\nname: greet\ndescription: Greets\n---\nSay hello.\n")
    (skill.parent / "script.sh").write_text("echo hello")
    config = tmp_path / "mcp.json"
    config.write_text('{"mcpServers": {"files": {"command": "files-server"}}}')
    async with ToolHub(store=tmp_path / "hub.db") as hub:
        assert (await hub.aload_tools(tmp_path / "tools")).loaded == ["shout"]
        assert (await hub.aload_skills(tmp_path / "skills")).loaded == ["greet"]
        assert (await hub.aload_mcp(config)).loaded == ["files"]
        assert await hub.aread_skill_file("greet", "script.sh") == "echo hello"
        module.write_text("")
        assert (await hub.areload()).removed == ["shout"]
        assert await hub.aflush()
