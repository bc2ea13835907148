"""What is recorded is replayed: the same results, and nothing runs."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import datetime
import decimal
import enum
import json
import uuid
from pathlib import Path
from typing import Any

import pydantic
import pydantic_core
import pytest

from toolhub import ToolError, ToolHub
from toolhub.llm import OpenAI
from toolhub.testing import CassetteError, ReplayError, block_network, record, replay

pytestmark = pytest.mark.anyio


class Counted:
    """Tools that count their runs."""

    def __init__(self) -> None:
        self.runs = 0
        self.hub = ToolHub()
        self.hub.register(self.add, read_only=True)
        self.hub.register(self.shout, read_only=True)
        self.hub.register(self.fail, read_only=True)

    async def add(self, a: float, b: float) -> float:
        """Add."""
        self.runs += 1
        await asyncio.sleep(0)
        return a + b

    def shout(self, text: str) -> dict[str, Any]:
        """Shout."""
        self.runs += 1
        return {"text": text.upper(), "parts": list(text)}

    def fail(self, why: str) -> str:
        """Fail."""
        self.runs += 1
        raise ValueError(why)


@pytest.fixture
def counted() -> Counted:
    return Counted()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "calls.ndjson"


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def write(path: Path, events: list[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(event) + "\n" for event in events))


async def test_values_errors_and_times_come_back_and_nothing_runs(counted: Counted, path: Path) -> None:
    async def work() -> list[dict[str, Any]]:
        hub = counted.hub
        calls: list[tuple[str, Any]] = [("add", {"a": 1, "b": 2}), ("shout", "hi"), ("fail", {"why": "no"})]
        return [await hub.execute(name, args) for name, args in calls]

    with record(path) as cassette:
        recorded = await work()
    assert (cassette.events, counted.runs) == (3, 3)
    async with replay(path):
        replayed = await work()
    assert counted.runs == 3
    assert [(one["success"], one["result"], one["error"]) for one in replayed] == [
        (one["success"], one["result"], one["error"]) for one in recorded
    ]
    taken = [event["ms"] for event in lines(path) if event["type"] == "call"]
    assert [one["_meta"]["attempts"][0]["duration_ms"] for one in replayed] == taken
    assert [one["_meta"]["duration_ms"] for one in replayed] == pytest.approx(taken)


async def test_500_concurrent_calls_replay_20_times_byte_for_byte(counted: Counted, path: Path) -> None:
    async def one(number: int) -> str:
        first = await counted.hub.execute("add", {"a": number % 40, "b": 1})
        second = await counted.hub.execute("shout", {"text": f"{first.result}"})
        return json.dumps([first, second])

    async def all_of_them() -> list[str]:
        return await asyncio.gather(*map(one, range(250)))

    async with record(path) as cassette:
        await all_of_them()
    assert (cassette.events, counted.runs) == (500, 500)
    seen = set[str]()
    # The loop's own sockets are there already.
    with block_network():
        for _ in range(20):
            async with replay(path):
                seen.add("\n".join(await all_of_them()))
    assert (len(seen), counted.runs) == (1, 500)


def test_blocking_calls_and_one_hub_of_two(counted: Counted, path: Path) -> None:
    other = Counted()
    with record(path, counted.hub) as cassette:
        counted.hub.call("add", {"a": 1, "b": 1})
        other.hub.call("add", {"a": 5, "b": 5})
    assert cassette.events == 1
    with replay(path, hub=counted.hub):
        assert counted.hub.call("add", {"a": 1.0, "b": 1}).result == 2
        assert other.hub.call("add", {"a": 5, "b": 5}).result == 10
    assert (counted.runs, other.runs) == (1, 2)


async def test_a_miss_names_the_nearest_recording_and_the_place(counted: Counted, path: Path) -> None:
    rows = [{"name": "x"}, {"name": "y"}, {"name": "z"}, {"name": "a"}]

    async def store(rows: list[dict[str, str]], table: str) -> int:
        return len(rows)

    counted.hub.register(store, read_only=True)
    with record(path):
        await counted.hub.execute("store", {"rows": rows, "table": "t"})
        await counted.hub.execute("store", {"rows": [], "table": "other"})
    given = [*rows[:3], {"name": "b"}]
    with pytest.raises(ReplayError) as mismatch, replay(path):
        missed = await counted.hub.execute("store", {"rows": given, "table": "t"})
        assert (missed.success, missed.kind) == (False, "not_found")
        assert missed.meta["error"]["outcome"] == "not_sent"
        unknown = await counted.hub.execute("add", {"a": 1, "b": 1})
        assert "no call of it was recorded" in unknown["error"]
    assert "line 2: args.rows[3].name: 'a' was recorded, 'b' was given" in str(mismatch.value)
    assert (len(mismatch.value.missed), len(mismatch.value.unused)) == (2, 2)


async def test_strict_wants_each_recorded_call_once(counted: Counted, path: Path) -> None:
    add = counted.hub.execute
    with record(path):
        for a in (1, 2, 2):
            await add("add", {"a": a, "b": 0})
        await add("shout", "x")
    with replay(path):
        # Calls are found by their key, so other ones may come first.
        for a in (2, 1, 2):
            assert (await add("add", {"a": a, "b": 0})).result == a
        await add("shout", "x")
    with pytest.raises(ReplayError, match=r"'shout' \(tools\) in line 5"), replay(path):
        for a in (1, 2, 2):
            await add("add", {"a": a, "b": 0})
    with pytest.raises(ReplayError, match="all 2 recorded calls"), replay(path):
        await add("shout", "x")
        for a in (1, 2, 2, 2):
            await add("add", {"a": a, "b": 0})
    with replay(path, "lenient"):
        for a in (2, 1, 2, 2, 2, 1):
            assert (await add("add", {"a": a, "b": 0})).result == a
    with pytest.raises(ReplayError, match="nearest recording"), replay(path, "lenient"):
        await add("add", {"a": 3, "b": 0})
    assert counted.runs == 4


async def test_timed_answers_take_as_long_as_they_took(counted: Counted, path: Path) -> None:
    with record(path):
        await counted.hub.execute("add", {"a": 1, "b": 2})
    # A duration that a machine cannot reach by itself: written by hand.
    events = lines(path)
    events[1]["ms"] = 150.0
    write(path, events)
    loop = asyncio.get_running_loop()
    begun = loop.time()
    with replay(path, "timed"):
        result = await counted.hub.execute("add", {"a": 1, "b": 2})
    assert result.result == 3
    assert loop.time() - begun >= 0.15
    with pytest.raises(ValueError, match="mode must be"), replay(path, "fast"):  # pyright: ignore[reportArgumentType]
        pass


async def test_a_race_is_won_by_the_same_candidate(path: Path) -> None:
    hub = ToolHub()
    never = asyncio.Event()

    @hub.tool(name="find", read_only=True, source="tools")
    async def slow() -> str:
        await never.wait()
        return "slow"

    @hub.tool(name="find", read_only=True, source="skills")
    async def quick() -> str:
        await asyncio.sleep(0.01)
        return "quick"

    with record(path):
        first = await hub.execute("find", {}, strategy="first")
    assert sorted(event["outcome"] for event in lines(path)[1:-1]) == ["ok", "stopped"]
    with replay(path):
        again = await hub.execute("find", {}, strategy="first")
    assert first.result == again.result == "quick"


async def test_a_timeout_is_replayed_without_waiting(path: Path) -> None:
    hub = ToolHub()

    @hub.tool(read_only=True)
    async def hang() -> None:
        await asyncio.Event().wait()

    with record(path):
        first = await hub.execute("hang", {}, timeout=0.05)
    with replay(path):
        # Nothing hangs: the default limit would be 30 s.
        again = await hub.execute("hang", {})
    assert (again.kind, again["error"]) == (first.kind, first["error"]) == ("timeout", first["error"])


async def test_models_are_replayed_by_prompt(path: Path) -> None:
    asked: list[str] = []

    async def model(prompt: str) -> str:
        asked.append(prompt)
        if "bad" in prompt:
            raise RuntimeError("down")
        return f"answer to {prompt}"

    from toolhub import kit

    with record(path):
        assert await kit.ask(model, "one") == "answer to one"
        with pytest.raises(RuntimeError):
            await kit.ask(model, "bad")
        assert await kit.chat(lambda messages: {"content": len(messages)}, [{"role": "user"}]) == {
            "content": 1
        }
    with replay(path):
        assert await kit.ask(None, "one") == "answer to one"
        with pytest.raises(RuntimeError, match="down"):
            await kit.ask(None, "bad")
        assert await kit.chat(print, [{"role": "user"}]) == {"content": 1}
    assert asked == ["one", "bad"]
    nearest = r"args.prompt: 'one' was recorded, 'two' was given"
    with pytest.raises(ReplayError, match=nearest), replay(path), contextlib.suppress(ToolError):
        await kit.ask(model, "two")


async def test_the_chat_client_is_replayed_without_a_server(path: Path) -> None:
    header = {
        "v": 2,
        "type": "header",
        "format": "toolhub-events",
        "time": "2026-11-16T09:30:00.125Z",
        "toolhub": "0",
    }
    common = {
        "v": 2,
        "type": "model",
        "model": "small",
        "time": "2026-11-16T09:30:00.125Z",
        "principal": "",
        "view": "",
    }
    hi = [{"role": "user", "content": "hi"}]
    events = [
        header,
        {**common, "arguments": {"messages": hi}, "began": 0, "ended": 1, "at": 0, "outcome": "ok", "ms": 1,
         "result": {"value": {"text": "hello"}}},
        {**common, "arguments": {"messages": hi, "stream": True}, "began": 2, "ended": 3, "at": 0, "outcome": "ok",
         "ms": 1, "result": {"value": ["hel", "lo"]}},
        {"v": 2, "type": "end", "time": header["time"], "events": 2},
    ]  # fmt: skip
    write(path, events)
    model = OpenAI("http://127.0.0.1:9/v1", model="small")
    with block_network(), replay(path):
        assert await model.generate_async("hi") == "hello"
        assert [piece async for piece in model.stream("hi")] == ["hel", "lo"]


async def test_one_cassette_at_a_time(counted: Counted, path: Path, tmp_path: Path) -> None:
    with record(path):
        with pytest.raises(CassetteError, match="Something else already records to"), record(path):
            pass
        with pytest.raises(CassetteError, match="already records to"), record(tmp_path / "other"):
            pass
        await counted.hub.execute("add", {"a": 1, "b": 2})
    with replay(path):
        with pytest.raises(CassetteError, match="already replays"), replay(path):
            pass
        await counted.hub.execute("add", {"a": 1, "b": 2})


async def test_a_miss_in_chinese(path: Path) -> None:
    hub = ToolHub(lang="zh")

    @hub.tool(read_only=True)
    async def add(a: int) -> int:
        return a

    with record(path):
        await hub.execute("add", {"a": 1})
    with pytest.raises(ReplayError), replay(path):
        missed = await hub.execute("add", {"a": 2})
        assert "最接近的记录在第 2 行：args.a：录下的是 1，给出的是 2" in missed["error"]


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


@dataclasses.dataclass
class Point:
    x: int
    label: str = ""


class Payment(pydantic.BaseModel):
    to: str
    amount: int


class Handmade:
    """A type of the program, which pydantic builds from text; it reads as an address."""

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> Any:
        schema: Any = pydantic_core.core_schema.no_info_after_validator_function(
            lambda _: cls(), pydantic_core.core_schema.str_schema()
        )
        return schema


@pytest.mark.parametrize(
    ("kind", "given", "other"),
    [
        (datetime.date, "2026-01-01", "2027-01-01"),
        (datetime.datetime, "2026-01-01T00:00:00", "2027-01-01T00:00:00"),
        (decimal.Decimal, "1.1", "2.2"),
        (Path, "/a", "/b"),
        (Colour, "red", "blue"),
        (Point, {"x": 1}, {"x": 2}),
        (Payment, {"to": "ann", "amount": 5}, {"to": "eve", "amount": 5}),
        (bytes, "one", "two"),
        (uuid.UUID, "550e8400-e29b-41d4-a716-446655440000", "550e8400-e29b-41d4-a716-446655440001"),
        (set[int], [1, 2], [1, 3]),
        (list[datetime.date], ["2026-01-01"], ["2026-01-02"]),
        (Handmade, "one", "two"),
    ],
)
def test_arguments_that_become_objects_are_compared_as_they_were_given(
    path: Path, kind: Any, given: Any, other: Any
) -> None:
    hub = ToolHub()

    def take(value: Any) -> str:
        return "taken"

    take.__annotations__["value"] = kind
    hub.register(take, read_only=True)
    with record(path):
        assert hub.call("take", {"value": given}).result == "taken"
    assert lines(path)[1]["arguments"] == {"value": given}
    with replay(path):
        assert hub.call("take", {"value": given}).result == "taken"
    with pytest.raises(ReplayError), replay(path):
        hub.call("take", {"value": other})


@pytest.mark.parametrize(
    ("given", "other", "written"),
    [
        (b"one", b"two", "one"),
        (b"\xff\x00", b"\xff\x01", "base64:/wA="),
        (datetime.date(2026, 1, 1), datetime.date(2027, 1, 1), "2026-01-01"),
        (decimal.Decimal("1.1"), decimal.Decimal("2.2"), "1.1"),
        ({"b", "a", "c"}, {"a", "b"}, ["a", "b", "c"]),
        ({10, 9}, {10, 8}, [9, 10]),
        (Path("/a"), Path("/b"), str(Path("/a"))),
        (float("nan"), float("inf"), "nan"),
        ({1: "a"}, {2: "a"}, '{"1": "a"}'),
        (Payment(to="ann", amount=5), Payment(to="eve", amount=5), {"to": "ann", "amount": 5}),
        ({"when": datetime.date(2026, 1, 1)}, {"when": datetime.date(2026, 1, 2)}, {"when": "2026-01-01"}),
        (object(), 1, None),
    ],
)
def test_objects_of_the_program_are_recorded_as_json_or_text(
    path: Path, given: Any, other: Any, written: Any
) -> None:
    hub = ToolHub()

    @hub.tool(read_only=True)
    def take(value: object) -> str:
        return "taken"

    with record(path):
        hub.call("take", {"value": given})
    assert lines(path)[1]["arguments"] == {"value": written}
    with replay(path):
        assert hub.call("take", {"value": given}).result == "taken"
    with pytest.raises(ReplayError), replay(path):
        hub.call("take", {"value": other})


@pytest.mark.parametrize("mode", [None, "record", "strictly"])
async def test_only_a_mode_of_replay_replays(path: Path, mode: Any) -> None:
    counted = Counted()
    with record(path, counted.hub):
        await counted.hub.execute("add", {"a": 1, "b": 2})
    before = lines(path)
    with pytest.raises((TypeError, ValueError), match="mode"), replay(path, mode, hub=counted.hub):
        pass
    assert lines(path) == before
