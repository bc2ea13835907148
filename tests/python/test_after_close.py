"""After `close` a call gives a result of kind `closed`, and every other method raises it."""

import asyncio
import inspect
from collections.abc import Callable
from typing import Any

import pytest

from toolhub import ErrorKind, ToolError, ToolHub

CALL = '<tool_call>{"name": "t", "arguments": {"x": 1}}</tool_call>'

CALLS: dict[str, Callable[[ToolHub], Any]] = {
    "execute": lambda hub: asyncio.run(hub.execute("t", {"x": 1})),
    "call": lambda hub: hub.call("t", {"x": 1}),
    "call cached": lambda hub: hub.call("t", {"x": 1}, cache_ttl=1),
    "call in a run": lambda hub: hub.call("t", {"x": 1}, run="r"),
    "call approved": lambda hub: hub.call("t", {"x": 1}, approve="ask"),
    "call on a server": lambda hub: hub.call("t", {"x": 1}, server="s"),
    "call missing": lambda hub: hub.call("nope"),
    "call_many": lambda hub: hub.call_many([("t", {"x": 1})])[0],
    "call_by_capability": lambda hub: hub.call_by_capability("cap", {"x": 1}),
    "dispatch": lambda hub: hub.dispatch_sync({"name": "t", "arguments": {"x": 1}}),
    "dispatch unreadable": lambda hub: hub.dispatch_sync({"arguments": {}}),
    "run": lambda hub: hub.run_sync(CALL).results[0],
}
NOT_CALLS: dict[str, Callable[[ToolHub], Any]] = {
    "tools": lambda hub: hub.tools(),
    "get": lambda hub: hub.get("t"),
    "search": lambda hub: hub.search("t"),
    "recommend": lambda hub: hub.recommend("t"),
    "capabilities": lambda hub: hub.capabilities(),
    "find_by_capability": lambda hub: hub.find_by_capability("cap"),
    "explain": lambda hub: hub.explain("t"),
    "stats": lambda hub: hub.stats(),
    "register": lambda hub: hub.register(len, name="l"),
    "unregister": lambda hub: hub.unregister("t"),
    "load_mcp": lambda hub: hub.load_mcp({"mcpServers": {}}),
    "add_server": lambda hub: hub.add_server("s", command="x"),
    "remove_server": lambda hub: hub.remove_server("s"),
    "servers": lambda hub: hub.servers(),
    "connect": lambda hub: asyncio.run(hub.connect()),
    "refresh": lambda hub: asyncio.run(hub.refresh()),
    "ledger": lambda hub: hub.ledger(),
    "resume": lambda hub: hub.resume("r"),
    "settle": lambda hub: hub.settle("x", "done"),
    "pending": lambda hub: hub.pending(),
    "approve": lambda hub: hub.approve("x"),
    "deny": lambda hub: hub.deny("x"),
    "system_prompt": lambda hub: hub.system_prompt(),
    "as_openai": lambda hub: hub.as_openai(),
    "read_more": lambda hub: hub.read_more("h"),
    "add_alias": lambda hub: hub.add_alias("a"),
    "resources.list": lambda hub: hub.resources.list_sync(),
    "resources.add": lambda hub: hub.resources.add("app://a", "x"),
    "prompts.get": lambda hub: asyncio.run(hub.prompts.get("p")),
    "skills.read_file": lambda hub: hub.skills.read_file_sync("s", "x"),
    "skills.run_script": lambda hub: asyncio.run(hub.skills.run_script("s", "x")),
    "pins.list": lambda hub: hub.pins.list(),
    "on_event": lambda hub: hub.on_event(print),
}


@pytest.fixture
def hub() -> ToolHub:
    hub = ToolHub()
    hub.register(lambda x: x, name="t", capabilities=["cap"])
    hub.close()
    return hub


@pytest.mark.parametrize("what", CALLS)
def test_a_call_gives_a_result(hub: ToolHub, what: str) -> None:
    result = CALLS[what](hub)
    assert (result.kind, result.meta["error"]["outcome"]) == (ErrorKind.CLOSED, "not_sent")
    assert result.error == "The hub is closed; make a new ToolHub."


@pytest.mark.parametrize("what", NOT_CALLS)
def test_what_is_not_a_call_raises(hub: ToolHub, what: str) -> None:
    with pytest.raises(ToolError, match="The hub is closed; make a new ToolHub") as raised:
        NOT_CALLS[what](hub)
    assert raised.value.kind is ErrorKind.CLOSED


def test_no_other_method_answers_as_if_the_hub_were_open(hub: ToolHub) -> None:
    """Methods that need no argument, but for those that end the hub, and decorators, which raise when they decorate."""
    answered: list[str] = []
    for name in dir(ToolHub):
        method = getattr(ToolHub, name)
        if (
            name.startswith("_")
            or not inspect.isfunction(method)
            or name in ("close", "aclose", "tool", "prompt")
        ):
            continue
        needed = [
            one
            for one in list(inspect.signature(method).parameters.values())[1:]
            if one.default is one.empty and one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD)
        ]
        if needed:
            continue
        try:
            got = getattr(hub, name)()
            if inspect.isawaitable(got):
                asyncio.run(got)  # type: ignore[arg-type]
        except ToolError as error:
            answered += [] if error.kind is ErrorKind.CLOSED else [f"{name}: {error}"]
        else:
            answered.append(name)
    assert answered == []


def test_closing_again_and_looking_at_it_are_fine(hub: ToolHub) -> None:
    hub.close()
    asyncio.run(hub.aclose())
    assert repr(hub) == "<ToolHub with 0 tools, closed>"
