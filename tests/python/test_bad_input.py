"""Bad input: whatever a tool or a caller does, there is a clear result or error, and the hub goes on."""

import asyncio
import gc
import subprocess
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from support.tools import Endless, Run, Scripted, offer, turns
from toolhub import ErrorKind, ToolError, ToolHub


@pytest.fixture
def hub() -> Iterator[ToolHub]:
    """A hub that must still be usable when the test is over."""
    hub = ToolHub()
    hub.register(lambda: "alive", name="pulse")
    yield hub
    assert hub.call("pulse").result == "alive"
    assert asyncio.run(hub.execute("pulse")).result == "alive"


class Bespoke(BaseException):
    pass


@pytest.mark.parametrize("name", ["", " ", "\t\n", "\u3000"], ids=repr)
def test_an_empty_name_cannot_be_registered_and_is_not_found(hub: ToolHub, name: str) -> None:
    with pytest.raises(ValueError, match="name"):
        hub.register(lambda: 1, name=name)
    assert len(hub) == 1
    assert name not in hub
    assert hub.get(name) is None
    assert hub.call(name).kind is ErrorKind.NOT_FOUND
    assert hub.call_by_capability(name).kind is ErrorKind.NO_CAPABILITY


@pytest.mark.parametrize("name", [5, b"bytes", ["list"], object()], ids=lambda name: type(name).__name__)
def test_a_name_that_is_no_text_is_a_programming_error(hub: ToolHub, run: Run, name: Any) -> None:
    with pytest.raises(TypeError, match="text"):
        hub.register(lambda: 1, name=name)
    with pytest.raises(TypeError):
        run(hub.execute(name))
    assert name not in hub


@pytest.mark.parametrize(
    "name",
    [
        "搜索",
        "naïve café",
        "имя",
        "🔧",
        "a b\tc\n",
        "\x00",
        "'; drop table",
        "../../etc",
        "a" * 10_000,
        "é" * 10_000,
    ],
)
def test_strange_and_long_names_are_names_like_others(hub: ToolHub, name: str) -> None:
    hub.register(lambda x=0: x, name=name)
    assert name in hub
    assert hub.get(name).name == name
    assert [tool.name for tool in hub.tools()] == ["pulse", name]
    assert hub.call(name, {"x": 3}).result == 3
    assert hub.call(name).meta["tool"] == name
    missing = hub.call(name + "x" * 20)
    assert missing.kind is ErrorKind.NOT_FOUND
    assert len(str(missing.error)) < 1000
    assert hub.unregister(name) == 1


def test_the_sentence_about_a_tool_with_a_very_long_name_stays_short(hub: ToolHub, run: Run) -> None:
    name = "n" * 10_000
    hub.register(Scripted(OSError("broken")), name=name)
    hub.register(Endless(), name=name, source="skills", timeout=0.01)
    for result in (
        run(hub.execute(name, source="tools")),
        run(hub.execute(name, source="skills")),
        run(hub.execute(name, source="mcps")),
        run(hub.execute(name, {"unknown": 1})),
    ):
        assert not result.success
        assert len(str(result.error)) < 1000


def test_a_replaced_name_is_one_tool(hub: ToolHub) -> None:
    for answer in ("first", "second"):
        hub.register(lambda answer=answer: answer, name="twin", replace=True)
    assert len(hub) == 2
    assert hub.call("twin").result == "second"


def test_half_a_surrogate_pair_from_a_model_is_just_not_found(hub: ToolHub, run: Run) -> None:
    name = "tool\ud83d"
    assert name not in hub
    assert not hub.has_tool(name)
    assert hub.get(name) is None
    assert run(hub.execute(name)).kind is ErrorKind.NOT_FOUND
    assert run(hub.execute_by_capability(name)).kind is ErrorKind.NO_CAPABILITY
    assert hub.find_by_capability(name) == []
    assert hub.unregister(name) == 0


def test_half_a_surrogate_pair_cannot_be_registered(hub: ToolHub) -> None:
    with pytest.raises(ValueError, match=r"surrogates|Unicode"):
        hub.register(lambda: 1, name="tool\ud83d")
    with pytest.raises(ValueError, match=r"surrogates|Unicode"):
        hub.register(lambda: 1, name="tool", description="\ud83d")
    assert len(hub) == 1


ENDS: list[Callable[[], BaseException]] = [
    lambda: SystemExit(3),
    lambda: SystemExit(),
    lambda: Bespoke("own kind"),
    lambda: StopIteration(4),
    lambda: StopAsyncIteration(),
    lambda: GeneratorExit(),
    lambda: RecursionError("deep"),
    lambda: MemoryError(),
    lambda: ExceptionGroup("several", [OSError("a"), ValueError("b")]),
    lambda: BaseExceptionGroup("several", [SystemExit(1)]),
    lambda: TimeoutError("its own"),
    lambda: asyncio.CancelledError("its own"),
    lambda: UnicodeDecodeError("utf-8", b"\xff", 0, 1, "bad"),
]


@pytest.mark.parametrize("way", ["sync", "async", "async, later"])
@pytest.mark.parametrize("count", [1, 3], ids=["alone", "race"])
@pytest.mark.parametrize("error", ENDS, ids=lambda error: type(error()).__name__)
def test_whatever_a_tool_raises_is_a_failed_result(
    hub: ToolHub, run: Run, error: Callable[[], BaseException], count: int, way: str
) -> None:
    async def async_tool() -> None:
        if way == "async, later":
            await turns(2)
        raise error()

    def sync_tool() -> None:
        raise error()

    for n in range(count):
        tool = sync_tool if way == "sync" else async_tool
        hub.register(tool, name="t", source="mcps", server=f"s{n}", read_only=True)
    result = run(hub.execute("t", strategy="first"))
    assert not result.success
    assert result.kind in (ErrorKind.TOOL_ERROR, ErrorKind.CANCELLED)
    assert "'t'" in str(result.error)
    assert len(result.meta["attempts"]) == count


def test_a_tool_that_raises_keyboard_interrupt_in_a_thread_fails_alone(hub: ToolHub, run: Run) -> None:
    hub.register(Scripted(KeyboardInterrupt()), name="t")
    assert run(hub.execute("t")).kind is ErrorKind.TOOL_ERROR


class Unprintable:
    def __repr__(self) -> str:
        raise ValueError("no picture")

    __str__ = __repr__


STRANGE = [
    object(),
    {1, 2},
    b"\xff",
    3 + 4j,
    float("nan"),
    10**5000,
    lambda: 1,
    Unprintable(),
    [10**5000],
    threading.Lock(),
]


@pytest.mark.parametrize("value", STRANGE, ids=lambda value: type(value).__name__)
def test_a_result_that_is_not_json_comes_as_it_is(hub: ToolHub, value: Any) -> None:
    hub.register(lambda: value, name="t")
    result = hub.call("t")
    assert result.success
    assert result.result is value


@pytest.mark.parametrize("value", STRANGE, ids=lambda value: type(value).__name__)
def test_a_result_that_is_not_json_has_a_text_and_can_be_merged(hub: ToolHub, value: Any) -> None:
    hub.register(lambda: value, name="t", read_only=True)
    hub.register(lambda: "other", name="t", source="skills", read_only=True)
    assert isinstance(hub.call("t", source="tools").text, str)
    merged = hub.call("t", strategy="all")
    assert merged.success
    assert "[skills] other" in merged.result


def test_a_mapping_that_cannot_be_read_is_a_result_like_others(hub: ToolHub) -> None:
    class Hostile(dict[str, Any]):
        def __getitem__(self, key: str) -> Any:
            raise RuntimeError("do not touch")

        get = __getitem__

    hub.register(lambda: Hostile(a=1), name="t")
    assert hub.call("t").success


@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
def test_a_coroutine_returned_by_mistake_is_a_failure_without_a_warning(
    hub: ToolHub, run: Run, is_async: bool
) -> None:
    async def forgotten() -> int:
        return 1

    async def async_tool() -> Any:
        return forgotten()

    # What a plain function gives is awaited, once.
    hub.register(async_tool if is_async else (lambda: async_tool()), name="t")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = run(hub.execute("t"))
        gc.collect()
    assert result.kind is ErrorKind.TOOL_ERROR
    assert "coroutine" in str(result.error)
    assert [str(warning.message) for warning in caught] == []


def test_a_coroutine_returned_too_late_by_mistake_makes_no_warning(hub: ToolHub, run: Run) -> None:
    go, done, begun = threading.Event(), threading.Event(), threading.Event()

    async def forgotten() -> int:
        return 1

    class Sentinel:
        def __del__(self) -> None:
            done.set()

    def late(keep: Any) -> Any:
        begun.set()
        go.wait(30)
        return forgotten()

    async def winner() -> str:
        # Only a function that runs already can come back too late.
        await asyncio.to_thread(begun.wait, 30)
        return "won"

    def loser() -> Any:
        return late(Sentinel())

    hub.register(loser, name="t", read_only=True)
    hub.register(winner, name="t", source="skills", read_only=True)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert run(hub.execute("t", strategy="first")).result == "won"
        go.set()
        assert done.wait(30)
        # The thread that came back is free again once it has run something else.
        hub.call_many(["pulse"] * 64, concurrency=64)
        gc.collect()
    assert [str(warning.message) for warning in caught] == []


def test_a_tool_that_refuses_its_own_schema_fails_with_the_words_of_python(hub: ToolHub, run: Run) -> None:
    async def async_tool(a: int) -> int:
        return a

    for tool in (async_tool, lambda a: a):
        hub.register(tool, name="t", parameters={"properties": {"b": {}}})
        result = run(hub.execute("t", {"b": 1}))
        assert result.kind is ErrorKind.TOOL_ERROR
        assert "unexpected keyword argument 'b'" in str(result.error)


@pytest.mark.parametrize(
    "schema",
    [
        {"properties": {"a": {"type": "no such type"}}},
        {"properties": {"a": {"$ref": "https://example.invalid/schema.json"}}},
        {"properties": {"a": {"$ref": "#/$defs/nobody"}}},
        {"properties": {"a": {"pattern": "("}}},
        {"properties": {"a": {"minimum": "high"}}},
        {"$schema": "https://example.invalid/draft"},
    ],
    ids=str,
)
def test_a_broken_schema_loses_neither_the_tool_nor_the_hub(hub: ToolHub, schema: dict[str, Any]) -> None:
    hub.register(lambda **arguments: arguments, name="t", parameters=schema)
    assert hub.call("t", {"a": "x"}).result == {"a": "x"}
    assert hub.get("t").parameters.items() >= schema.items()


def test_a_pattern_that_would_backtrack_for_ever_is_harmless(hub: ToolHub) -> None:
    hub.register(lambda a: a, name="t", parameters={"properties": {"a": {"pattern": "^(a+)+$"}}})
    assert hub.call("t", {"a": "a" * 5000 + "!"}).kind is ErrorKind.INVALID_ARGUMENTS


def test_a_mapping_of_arguments_that_cannot_be_read_is_refused_or_raised_but_never_hangs(
    hub: ToolHub,
) -> None:
    class Hostile(dict[str, Any]):
        def keys(self) -> Any:
            raise RuntimeError("do not touch")

        def items(self) -> Any:
            raise RuntimeError("do not touch")

    hub.register(lambda **arguments: 1, name="t", parameters={})
    hub.register(lambda a=0: 1, name="typed")
    for name in ("t", "typed"):
        assert hub.call(name, Hostile(a=1)).kind in (None, ErrorKind.INVALID_ARGUMENTS)


def test_an_object_that_breaks_while_it_is_made_plain_is_refused(hub: ToolHub) -> None:
    class Breaks:
        def isoformat(self) -> str:
            raise ZeroDivisionError("mid-air")

    class Endlessly:
        def isoformat(self) -> Any:
            return Endlessly()

    hub.register(lambda a: 1, name="t", parameters={})
    assert "a: mid-air" in str(hub.call("t", {"a": Breaks()}).error)
    assert hub.call("t", {"a": Endlessly()}).kind is ErrorKind.INVALID_ARGUMENTS


SHARED_PARTS = """
from toolhub import ToolHub

hub, value = ToolHub(), []
for _ in range(60):
    value = [value, value]
for parameters in (None, {}):
    hub.register(lambda v: "done", name="t", parameters=parameters)
    assert hub.call("t", {"v": value}).kind in (None, "invalid_arguments")
"""


def test_arguments_whose_parts_are_shared_are_not_multiplied() -> None:
    # In a process of its own: what does not end here would hold the interpreter forever.
    done = subprocess.run(
        [sys.executable, "-c", SHARED_PARTS], capture_output=True, text=True, timeout=45, check=False
    )
    assert done.returncode == 0, done.stderr


def test_a_tool_that_never_ends_is_left_when_the_caller_goes(hub: ToolHub, run: Run) -> None:
    async def scene() -> None:
        endless = Endless()
        offer(hub, "t", a=endless, b=endless)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.01):
                await hub.execute("t", strategy="first")
        assert (endless.began, endless.cleaned) == (2, 2)

    run(scene())


def test_a_tool_whose_clean_up_fails_is_a_loser_like_others(hub: ToolHub, run: Run) -> None:
    async def bad_loser() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            raise RuntimeError("clean-up failed")

    async def winner() -> str:
        await turns()
        return "won"

    offer(hub, "t", loser=bad_loser, winner=winner)
    assert run(hub.execute("t", strategy="first")).result == "won"


def test_a_hub_in_the_arguments_and_in_the_result_is_a_value_like_others(hub: ToolHub) -> None:
    hub.register(lambda v: v, name="t")
    assert hub.call("t", {"v": hub}).result is hub


def test_a_tool_error_of_an_unknown_kind_is_a_tool_error(hub: ToolHub) -> None:
    error = ToolError("odd")
    error.kind = "odd"  # type: ignore[assignment]
    hub.register(Scripted(error), name="t")
    assert hub.call("t").kind is ErrorKind.TOOL_ERROR


@pytest.mark.parametrize("call", [("pulse",), ("pulse", {}, 1), [], 5, None, {"name": "pulse"}], ids=repr)
def test_one_of_many_calls_that_is_none_is_a_programming_error(hub: ToolHub, run: Run, call: Any) -> None:
    with pytest.raises(TypeError, match=r"a call must be a name or a pair \(name, arguments\), got "):
        run(hub.execute_many(["pulse", call]))


def test_a_model_that_cannot_be_asked_is_a_programming_error(hub: ToolHub, run: Run) -> None:
    expected = "llm must be callable or have generate, generate_async or ainvoke, got int"
    with pytest.raises(TypeError, match=expected):
        ToolHub(llm=5)
    for options in ({"llm": 5}, {"llm_client": 5}, {"llm": 5, "cache_ttl": 1}):
        with pytest.raises(TypeError, match=expected):
            run(hub.execute("pulse", **options))
        with pytest.raises(TypeError, match=expected):
            run(hub.execute_by_capability("pulse", **options))


def test_the_name_of_an_exceptions_class_is_cleaned(hub: ToolHub, run: Run) -> None:
    odd = type("Odd\x1b[31m\nError", (Exception,), {})

    def fail() -> None:
        raise odd("no")

    async def fail_later() -> None:
        raise odd

    hub.register(fail)
    hub.register(fail_later)
    assert hub.call("fail").error == "Tool 'fail' raised Odd Error: no"
    assert run(hub.execute("fail_later")).error == "Tool 'fail_later' raised Odd Error."


def test_a_time_limit_is_rounded_for_people(run: Run) -> None:
    hub = ToolHub()
    hub.register(lambda: 1, name="act", effects=True)

    async def never(_: object) -> bool:
        await asyncio.sleep(3_600)
        return True

    outcome = run(
        hub.run('<tool_call>{"name": "act"}</tool_call>', approve=never, approve_timeout=0.05 + 1e-9)
    )
    assert outcome.results[0].error.endswith("it was not approved within 0.05 s.")
