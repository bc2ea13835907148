"""Programs that are replayed strictly: nested calls, cut results, chosen candidates, secrets, hubs that were used before."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from toolhub import ToolHub
from toolhub.agents import ChatLoop
from toolhub.testing import CassetteError, ReplayError, record, replay


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "run.ndjson"


def events(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def replayed(path: Path, program: Callable[[], Any], times: int = 3) -> None:
    """Record a program, and replay it strictly."""
    with record(path):
        recorded = program()
    for _ in range(times):
        with replay(path):
            assert program() == recorded


def nesting() -> ToolHub:
    hub = ToolHub()

    @hub.tool(read_only=True)
    def inner(x: int) -> str:
        """Give the inner value."""
        return f"i{x}"

    @hub.tool(read_only=True)
    def outer(x: int) -> str:
        """Call the hub from a thread."""
        return "o" + hub.call("inner", {"x": x}).result

    @hub.tool(read_only=True)
    async def async_outer(x: int) -> str:
        """Call the hub from a coroutine, several times at once."""
        made = await asyncio.gather(*(hub.execute("inner", {"x": x}) for _ in range(2)))
        return "a" + "".join(one.result for one in made)

    @hub.tool(read_only=True)
    def outermost(x: int) -> str:
        """Call a tool that calls a tool."""
        return "p" + hub.call("outer", {"x": x}).result

    return hub


@pytest.mark.parametrize("tool", ["outer", "async_outer", "outermost"])
def test_calls_inside_a_tool_are_not_missed(path: Path, tool: str) -> None:
    replayed(path, lambda: nesting().call(tool, {"x": 1}).result)
    calls = [event for event in events(path) if event["type"] == "call"]
    outer = {event["tool"]: event["began"] for event in calls}
    inside = {event["tool"]: event.get("inside") for event in calls}
    assert inside.pop(tool) is None
    assert inside.pop("inner") == outer["outer" if tool == "outermost" else tool]
    assert inside == ({"outer": outer["outermost"]} if tool == "outermost" else {})


def test_a_recording_inside_a_tool_answers_no_other_call(path: Path) -> None:
    with record(path):
        hub = nesting()
        hub.call("outer", {"x": 1})
        hub.call("inner", {"x": 1})
    with pytest.raises(ReplayError) as failed, replay(path):
        hub = nesting()
        hub.call("outer", {"x": 1})
        assert hub.call("inner", {"x": 1}).result == "i1"
        assert not hub.call("inner", {"x": 1}).success
    assert len(failed.value.missed) == 1
    assert failed.value.unused == []


def test_a_tool_that_runs_in_a_replay_of_another_hub_gets_the_recordings_inside_it(path: Path) -> None:
    low, high, runs = ToolHub(), ToolHub(), []

    @low.tool(read_only=True)
    def inner() -> str:
        """Give the inner value."""
        runs.append("inner")
        return "i"

    @high.tool(read_only=True)
    def outer() -> str:
        """Call the other hub."""
        runs.append("outer")
        return "o" + low.call("inner").result

    with record(path):
        assert high.call("outer").result == "oi"
    with replay(path, "lenient", hub=low):
        assert high.call("outer").result == "oi"
    assert runs == ["outer", "inner", "outer"]


def test_an_agent_as_a_tool_is_replayed(path: Path) -> None:
    def program() -> str:
        hub = ToolHub()
        hub.register(lambda: "seen", name="look", description="Look.", read_only=True)

        @hub.tool(read_only=True)
        async def ask_helper(q: str) -> str:
            """Ask a helper."""
            answers = iter(['<tool_call>{"name":"look","arguments":{}}</tool_call>', "helped"])
            helper = ChatLoop(hub, lambda _: next(answers), profile={"available_tools": ["look"]})
            return str(await helper.answer(q))

        answers = iter(['<tool_call>{"name":"ask_helper","arguments":{"q":"x"}}</tool_call>', "done"])
        return str(asyncio.run(ChatLoop(hub, lambda _: next(answers)).answer("go")))

    replayed(path, program)
    assert [event["type"] for event in events(path) if "inside" in event].count("model") == 2


def test_a_cassette_without_marks_wants_the_calls_inside_of_tools(path: Path) -> None:
    with record(path):
        nesting().call("outer", {"x": 1})
    lines = events(path)
    for event in lines:
        event.pop("inside", None)
    path.write_text("".join(json.dumps(event) + "\n" for event in lines))
    with pytest.raises(ReplayError, match=r"'inner' .* was not made"), replay(path):
        nesting().call("outer", {"x": 1})


def long_results() -> ToolHub:
    hub = ToolHub()
    hub.register(
        lambda q="": f"A sentence about {q}. " * 1000, name="read_long", description="Read.", read_only=True
    )
    return hub


def test_an_agent_with_a_result_that_was_cut_is_replayed(path: Path) -> None:
    prompts: list[str] = []

    def program() -> str:
        answers = iter(['<tool_call>{"name":"read_long","arguments":{"q":"x"}}</tool_call>', "done"])

        def model(prompt: str) -> str:
            prompts.append(prompt)
            return next(answers)

        return str(asyncio.run(ChatLoop(long_results(), model).answer("q")))

    replayed(path, program)
    assert "read_more('r_" in prompts[-1]


def test_handles_on_a_cassette_follow_from_the_text_and_are_otherwise_new(path: Path) -> None:
    def messages() -> Any:
        text = '<tool_call>{"name":"read_long","arguments":{"q":"%s"}}</tool_call>'
        hub = long_results()
        return [hub.run_sync(text % q).messages for q in ("a", "b", "a")]

    replayed(path, messages)
    with replay(path):
        first = messages()
    with record(path):
        again = messages()
    assert first[0] != first[1]
    assert first == again
    assert messages() != first


def test_a_page_of_a_cut_result_is_read_in_a_recording(path: Path) -> None:
    with record(path):
        hub = long_results()
        for _ in range(2):
            made = hub.run_sync('<tool_call>{"name":"read_long","arguments":{"q":"x"}}</tool_call>')
            handle = str(made.messages).replace("\\", "").split("read_more('")[1].split("'")[0]
            assert hub.call("read_more", {"handle": handle, "limit": 10}).result.startswith("A sentence")


def weather_hub(**options: Any) -> ToolHub:
    hub = ToolHub(**options)
    for number in range(6):
        hub.register(
            lambda q="", number=number: f"w{number}",
            name=f"weather_{number}",
            description="Tell the weather.",
            capabilities=["weather"],
            read_only=True,
        )
    return hub


@pytest.mark.parametrize("seed", [None, 3])
@pytest.mark.parametrize("strategy", ["auto", "fallback", "all"])
def test_a_call_by_capability_chooses_as_it_was_recorded(path: Path, seed: int | None, strategy: Any) -> None:
    used = weather_hub(seed=seed)
    used.call_by_capability("weather", {"q": "before"})

    def program() -> list[Any]:
        return [used.call_by_capability("weather", {"q": str(i)}, strategy=strategy).result for i in range(3)]

    replayed(path, program)


def test_a_replay_does_not_wait_for_a_provider_that_was_given_up(path: Path) -> None:
    async def never(q: str = "") -> str:
        await asyncio.Event().wait()
        return q

    def race(*sources: Any) -> Any:
        hub = ToolHub(timeout=600)
        for source in sources:
            answer = never if source == "tools" else lambda q="": "first"
            hub.register(answer, name="fetch_x", source=source, read_only=True)
        return hub.call("fetch_x", {"q": "1"}, strategy="first")

    with record(path):
        assert race("tools", "skills").result == "first"
    with replay(path):
        assert race("tools", "skills").result == "first"
    # The provider that answered is gone: the answer comes with a notice.
    with replay(path) as cassette:
        assert race("tools").result == "first"
    (notice,) = cassette.notices
    assert "'fetch_x' (skills) was answered from" in notice
    assert "it has no such provider" in notice


SECRETS: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({"password": {"type": "integer"}}, {"password": 12345678}),
    ({"api_key": {"type": "string", "pattern": "^k-[0-9]{6}$"}}, {"api_key": "k-123456"}),
    (
        {"id": {"type": "integer"}, "token": {"type": "string", "maxLength": 8}},
        {"id": 1, "token": "ab12cd34"},
    ),
    ({"passwords": {"type": "array", "items": {"type": "integer"}}}, {"passwords": [111111, 222222]}),
    ({"token": {"type": "string", "enum": ["alpha1x9", "beta2y8"]}}, {"token": "alpha1x9"}),
]


FORMS = ["number", "pattern", "length", "list", "enum"]
# A prompt in text lists the values of an enum, and a secret is taken out of a text wherever that repeats it. In a text only
# members with texts are secrets.
CASES = [
    pytest.param(*case, is_native, id=f"{form}-{'native' if is_native else 'text'}")
    for form, case in zip(FORMS, SECRETS, strict=True)
    for is_native in ([True] if form in ("enum", "number", "list") else [False, True])
]


@pytest.mark.parametrize(("properties", "arguments", "is_native"), CASES)
def test_an_agent_with_a_secret_that_has_a_form_is_replayed(
    path: Path, properties: dict[str, Any], arguments: dict[str, Any], is_native: bool
) -> None:
    def program() -> str:
        hub = ToolHub()
        parameters = {"type": "object", "properties": properties, "required": list(properties)}
        hub.register(
            lambda **_: "opened",
            name="read_vault",
            description="Read.",
            parameters=parameters,
            read_only=True,
        )
        call = {"name": "read_vault", "arguments": json.dumps(arguments)}
        said = [
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [{"id": "c", "type": "function", "function": call}],
            }
        ]
        messages = iter([*said, {"role": "assistant", "content": "done"}])
        text = json.dumps({"name": "read_vault", "arguments": arguments})
        texts = iter([f"<tool_call>{text}</tool_call>", "done"])
        native = ChatLoop(hub, chat=lambda _: next(messages))
        agent = native if is_native else ChatLoop(hub, lambda _: next(texts))
        return str(asyncio.run(agent.answer("open it")))

    replayed(path, program)
    secret = next(iter(json.dumps(value) for name, value in arguments.items() if name != "id"))
    assert secret not in path.read_text()


def test_a_placeholder_that_was_not_recorded_has_to_fit(path: Path) -> None:
    hub = ToolHub()

    @hub.tool(read_only=True)
    def unlock(password: int) -> str:
        """Unlock."""
        return "opened"

    with record(path):
        hub.call("unlock", {"password": 12345678})
    with replay(path):
        assert hub.call("unlock", {"password": 87654321}).result == "opened"
        assert hub.call("unlock", {"password": "[named-secret]"}).kind == "invalid_arguments"
    with replay(path):
        assert hub.call("unlock", {"password": "[named-secret]"}).result == "opened"
    assert hub.call("unlock", {"password": "[named-secret]"}).kind == "invalid_arguments"


def two_providers() -> ToolHub:
    hub = ToolHub()

    def down(q: str = "") -> str:
        raise OSError("down")

    hub.register(down, name="fetch_x", source="tools", read_only=True)
    hub.register(lambda q="": "good", name="fetch_x", source="skills", read_only=True)
    return hub


def test_a_replay_follows_the_providers_that_were_tried(path: Path) -> None:
    def program() -> list[Any]:
        return [hub.call("fetch_x", {"q": "1"}, strategy="fallback").result for _ in range(2)]

    hub = two_providers()
    replayed(path, program)
    # The first call tried both, the second the one that had answered.
    assert [event.get("candidate") for event in events(path)[1:-1]] == ["tools", "skills", "skills"]
    program()
    with replay(path):
        assert program() == ["good", "good"]


def test_a_replay_follows_a_recording_in_which_a_provider_rested(path: Path) -> None:
    hub = two_providers()
    for number in range(10):
        hub.call("fetch_x", {"q": str(number)}, source="tools")
    replayed(path, lambda: hub.call("fetch_x", {"q": "1"}, strategy="fallback").result)
    assert [event["candidate"] for event in events(path)[1:-1]] == ["skills"]
    with replay(path):
        assert two_providers().call("fetch_x", {"q": "1"}, strategy="fallback").result == "good"


def test_a_recording_does_not_know_results_that_were_cached_before(path: Path) -> None:
    hub = ToolHub()
    hub.register(lambda q="": f"v{q}", name="read_v", read_only=True)

    def program() -> list[Any]:
        return [hub.call("read_v", {"q": "1"}, cache_ttl=60).result for _ in range(2)]

    program()
    replayed(path, program)
    assert sum(event["type"] == "call" for event in events(path)) == 2


def test_the_hub_learns_from_what_is_recorded(path: Path) -> None:
    hub = two_providers()
    with record(path):
        hub.call("fetch_x", {"q": "1"}, strategy="fallback")
    counts = {row["source"]: (row["calls"], row["successes"]) for row in hub.stats()["fetch_x"]}
    assert counts == {"tools": (1, 0), "skills": (1, 1)}
    result = hub.call("fetch_x", {"q": "2"}, strategy="fallback")
    assert [one["source"] for one in result["_meta"]["attempts"]] == ["skills"]


def test_a_miss_shows_where_long_texts_differ(path: Path) -> None:
    hub = ToolHub()
    hub.register(lambda q: "x", name="read_x", read_only=True)
    same = "The same beginning of a long text. " * 20
    with record(path):
        hub.call("read_x", {"q": same + "one"})
    with pytest.raises(ReplayError) as failed, replay(path):
        hub.call("read_x", {"q": same + "two"})
    assert (
        "args.q: '…ing of a long text. one' was recorded, '…ing of a long text. two' was given"
        in failed.value.missed[0]
    )


@pytest.mark.parametrize("is_replaced", [False, True])
def test_a_cassette_that_goes_while_it_is_recorded_is_reported(path: Path, is_replaced: bool) -> None:
    hub = nesting()
    with pytest.raises(CassetteError, match="was removed or replaced while it was recorded"), record(path):
        hub.call("inner", {"x": 1})
        path.unlink()
        if is_replaced:
            path.write_text("something else\n")
