"""Where a routed call goes: the rules of its source, and the forms that a request may have."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from toolhub import ErrorKind, ToolHub

pytestmark = pytest.mark.anyio


def says(answer: str) -> Callable[..., Any]:
    async def speak(text: str = "") -> str:
        return answer + text

    return speak


def offer(hub: ToolHub, name: str, *places: str, **more: Any) -> None:
    """Registers candidates that answer with their place: `tools`, `skills`, or the id of a server."""
    for place in places:
        where: dict[str, Any] = (
            {"source": place} if place in ("tools", "skills") else {"source": "mcps", "server": place}
        )
        hub.register(says(place), name=name, **where, **more)


def order(hub: ToolHub, request: Any, **options: Any) -> list[str]:
    """Who would be asked, in order."""
    candidates = hub.explain(request, **options).candidates
    return [candidate.server or candidate.source for candidate in candidates]


async def answered(hub: ToolHub, source: Any, **options: Any) -> tuple[Any, str]:
    """Who answers, and by which rule."""
    request = {"tool_name": "t", "arguments": {}, "source": source}
    result = await hub.dispatch(request, strategy="fallback", **options)
    return result.result, result.meta["route"]


TABLE = [
    (None, "excel", "auto"),
    ("", "excel", "auto"),
    ("  ", "excel", "auto"),
    ("native", "excel", "alias"),
    ("appflowy", "excel", "alias"),
    (" AppFlowy ", "excel", "alias"),
    ("ours", "excel", "alias"),
    ("mine", "tools", "alias"),
    ("sheets", "Word", "alias"),
    ("Word", "Word", "server"),
    (" word", "Word", "server"),
    ("mcps:Word", "Word", "server"),
    ("tools", "tools", "source"),
    ("TOOLS", "tools", "source"),
    ("skills", "skills", "source"),
    ("mcps", "excel", "source"),
]


@pytest.mark.parametrize(("source", "who", "rule"), TABLE)
async def test_the_table_of_sources(source: str | None, who: str, rule: str) -> None:
    hub = ToolHub()
    for label, target in {"ours": None, "Mine": "tools", "sheets": "Word"}.items():
        hub.add_alias(label, target)
    offer(hub, "t", "tools", "skills", "excel", "Word")
    assert await answered(hub, source) == (who, rule)
    assert hub.explain({"name": "t", "source": source}).rule == rule


async def test_mcp_servers_come_first_then_priority_whatever_has_worked_before() -> None:
    hub = ToolHub()
    offer(hub, "t", "tools", "skills", "excel", "word")
    assert order(hub, {"name": "t"}) == ["excel", "word", "tools", "skills"]
    assert order(hub, "t") == ["tools", "skills", "excel", "word"]
    await hub.execute("t", {}, source="skills")
    await hub.execute("t", {}, server="word")
    assert order(hub, {"name": "t"}) == ["word", "excel", "tools", "skills"], "the last one among its equals"


@pytest.mark.parametrize("native", ["tools", "skills"])
async def test_a_native_tool_is_asked_only_when_the_servers_have_failed(native: str) -> None:
    hub = ToolHub()
    offer(hub, "t", native, "excel")
    for source in (None, "native", "appflowy"):
        result = await hub.dispatch({"tool_name": "t", "source": source})
        assert (result.result, result.meta["source"], len(result.meta["attempts"])) == ("excel", "mcps", 1)

    def broken(text: str = "") -> str:
        raise OSError("gone")

    hub.unregister("t", source="mcps")
    hub.register(broken, name="t", source="mcps", server="excel", read_only=True)
    result = await hub.dispatch({"tool_name": "t"})
    assert (result.result, result.meta["strategy"]) == (native, "fallback")


@pytest.mark.parametrize(
    ("hub_prefers", "call_prefers", "routed", "by_name"),
    [
        (None, None, "excel", "tools"),
        ("priority", None, "tools", "tools"),
        ("mcps", None, "excel", "excel"),
        (None, "priority", "tools", "tools"),
        ("priority", "mcps", "excel", "excel"),
    ],
)
async def test_who_is_preferred_is_an_option_of_hub_and_call(
    hub_prefers: str | None, call_prefers: str | None, routed: str, by_name: str
) -> None:
    def fresh() -> ToolHub:
        # What has succeeded last comes first the next time, so each question has a hub of its own.
        hub = ToolHub(prefer=hub_prefers)
        offer(hub, "t", "tools", "excel", capabilities=["speak"])
        return hub

    options: dict[str, Any] = {"prefer": call_prefers}
    assert order(fresh(), {"name": "t"}, **options)[0] == routed
    assert order(fresh(), "t", **options)[0] == by_name
    options["strategy"] = "fallback"
    assert (await fresh().dispatch({"name": "t"}, **options)).result == routed
    assert (await fresh().execute("t", {}, **options)).result == by_name
    assert (await fresh().execute_by_capability("speak", {}, **options)).result == by_name


def test_what_is_preferred_must_be_known() -> None:
    with pytest.raises(ValueError, match="prefer must be 'priority' or 'mcps', got \"mcp\""):
        ToolHub(prefer="mcp")
    with pytest.raises(ValueError, match="shadow must be 'report' or 'deny'"):
        ToolHub(shadow="forbid")
    with pytest.raises(ValueError, match="prefer must be"):
        ToolHub().explain("t", prefer="x")


async def test_an_unknown_source_names_the_known_ones() -> None:
    hub = ToolHub()
    hub.add_server("excel", command="no-such-program")
    offer(hub, "t", "tools", "word")
    result = await hub.dispatch({"id": "c", "tool_name": "t", "source": "exel"})
    assert result.kind is ErrorKind.NOT_FOUND
    assert result.error == (
        "There is no source 'exel'. Known servers: 'excel', 'word'. Known sources: tools, skills, mcps. "
        "Did you mean 'excel'?"
    )
    assert result.meta["error"]["suggestions"] == ["excel"]
    assert (result.meta["call_id"], result.meta["route"]) == ("c", "unknown")
    assert hub.explain({"name": "t", "source": "exel"}).rule == "unknown"


async def test_a_server_with_the_name_of_a_source_or_label() -> None:
    hub = ToolHub()
    hub.add_alias("word", "excel")
    offer(hub, "t", "tools", "excel", "word", "native")
    hub.register(says("server tools"), name="t", source="mcps", server="tools")
    assert await answered(hub, "tools") == ("tools", "source")
    assert await answered(hub, "mcps:tools") == ("server tools", "server")
    assert await answered(hub, "native") == ("native", "server"), "an id beats a label without a target"
    assert await answered(hub, "word") == ("excel", "alias"), "a target beats an id"
    assert await answered(hub, "mcps:word") == ("word", "server")


@pytest.mark.parametrize(
    ("label", "target"), [("", None), ("tools", None), ("Skills", "x"), ("x", ""), ("mcps", "mcps")]
)
def test_what_cannot_be_an_alias(label: str, target: str | None) -> None:
    with pytest.raises(ValueError, match="alias"):
        ToolHub().add_alias(label, target)


@pytest.mark.parametrize("source", [5, ["excel"], {"server": "excel"}, True])
async def test_a_source_that_is_no_text_is_an_answer_for_the_model(source: Any) -> None:
    hub = ToolHub()
    offer(hub, "t", "tools")
    result = await hub.dispatch({"name": "t", "source": source})
    assert result.kind is ErrorKind.INVALID_ARGUMENTS
    assert f"got {type(source).__name__}" in str(result.error)
    assert hub.explain({"name": "t", "source": source}).rule == "unreadable"


@dataclass
class Call:
    """The attributes of a parsed call."""

    name: str
    arguments: dict[str, Any] = field(default_factory=dict[str, Any])
    id: str = "call_1"
    source: str | None = None
    error: str | None = None


@pytest.mark.parametrize(
    "request_",
    [
        {"id": "call_1", "tool_name": "t", "arguments": {"text": "!"}},
        {"id": "call_1", "name": "t", "parameters": {"text": "!"}},
        {"id": "call_1", "name": "t", "args": {"text": "!"}, "source": None, "error": None},
        {"id": "call_1", "name": "t", "arguments": '{"text": "!"}'},
        {"id": "call_1", "name": "t", "arguments": "!"},
        Call("t", {"text": "!"}),
    ],
)
async def test_all_forms_of_a_request(request_: Any) -> None:
    hub = ToolHub()
    offer(hub, "t", "tools")
    result = await hub.dispatch(request_)
    assert (result.result, result.meta["call_id"], result.meta["route"]) == ("tools!", "call_1", "auto")


async def test_an_id_is_made_and_is_always_text() -> None:
    hub = ToolHub()
    offer(hub, "t", "tools")
    made = [(await hub.dispatch({"name": "t"})).meta["call_id"] for _ in range(3)]
    assert len(set(made)) == 3
    assert (await hub.dispatch({"name": "t", "id": 7})).meta["call_id"] == "7"


async def test_what_cannot_be_read_is_answered_without_a_call() -> None:
    hub, called = ToolHub(), []
    hub.register(called.append, name="t")
    broken = Call("t", error="The arguments end in the middle of a string.")
    for request, tool, sentence in [
        (broken, "t", "The arguments end in the middle of a string."),
        ({"name": "t", "error": "Unreadable."}, "t", "Unreadable."),
        ({"arguments": {}}, "", "The call names no tool: expected 'tool_name' as text, got nothing."),
        ({"name": ""}, "", "The call names no tool: expected 'tool_name' as text, got nothing."),
        ({"name": 5}, "", "The call names no tool: expected 'tool_name' as text, got int."),
    ]:
        result = await hub.dispatch(request)
        assert (result.kind, result.error) == (ErrorKind.INVALID_ARGUMENTS, sentence)
        assert (result.meta["tool"], result.meta["route"]) == (tool, "unreadable")
        assert sentence in hub.explain(request).text
    assert called == []


@pytest.mark.parametrize("request_", [None, 5, "t", ["t"], object()])
async def test_what_is_no_request_at_all_is_a_programming_error(request_: Any) -> None:
    with pytest.raises(TypeError, match="a request must be a mapping with tool_name and arguments"):
        await ToolHub().dispatch(request_)


async def test_options_are_those_of_execute_but_for_the_source() -> None:
    hub = ToolHub()
    offer(hub, "t", "tools", read_only=True)
    first = await hub.dispatch({"id": "a", "name": "t"}, cache_ttl=60)
    second = await hub.dispatch({"id": "b", "name": "t"}, cache_ttl=60)
    assert (first.meta["cached"], second.meta["cached"]) == (False, True)
    assert (first.meta["call_id"], second.meta["call_id"]) == ("a", "b")
    strict = await hub.dispatch({"name": "t", "arguments": '{"text": "x"}'}, coerce=False)
    assert strict.result == 'tools{"text": "x"}', "without coercion a text is a bare value"
    with pytest.raises(TypeError, match="source"):
        await hub.dispatch({"name": "t"}, source="tools")


def test_the_blocking_twin() -> None:
    hub = ToolHub()
    offer(hub, "t", "tools")
    result = hub.dispatch_sync({"id": "a", "name": "t", "args": {"text": "!"}}, timeout=20)
    assert (result.result, result.meta["call_id"]) == ("tools!", "a")


async def test_a_closed_hub_says_so() -> None:
    hub = ToolHub()
    hub.close()
    result = await hub.dispatch({"id": "a", "name": "t"})
    assert (result.kind, result.meta["call_id"]) == (ErrorKind.CLOSED, "a")


async def test_a_name_of_half_a_character_is_not_found() -> None:
    result = await ToolHub().dispatch({"name": "\ud800", "source": "tools"})
    assert result.kind is ErrorKind.NOT_FOUND
    result = await ToolHub().dispatch({"name": "t", "source": "\ud800"})
    assert result.kind is ErrorKind.NOT_FOUND


async def test_shadows_are_forbidden_everywhere_when_the_hub_says_so() -> None:
    hub = ToolHub(shadow="deny")
    offer(hub, "t", "tools", "evil", capabilities=["speak"])
    offer(hub, "free", "evil", capabilities=["sing"])
    assert order(hub, {"name": "t"}) == ["tools"]
    assert (await hub.execute("t", {}, prefer="mcps")).result == "tools"
    assert (await hub.execute_by_capability("speak", {})).result == "tools"
    for result in [
        await hub.dispatch({"name": "t", "source": "evil"}),
        await hub.dispatch({"name": "t", "source": "mcps"}),
        await hub.execute("t", {}, server="evil"),
    ]:
        assert result.kind is ErrorKind.NOT_ALLOWED
        assert result.error == (
            "Tool 't' of mcps:evil has the name of a native tool, and this hub forbids that (shadow=\"deny\")."
        )
    assert (await hub.dispatch({"name": "free"})).result == "evil", "a unique name shadows nothing"
    hub.unregister("t", source="tools")
    assert (await hub.dispatch({"name": "t"})).result == "evil"
