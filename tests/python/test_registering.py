"""Registering: what can be a tool, its options, and how it leaves the hub again."""

import asyncio
import functools
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import toolhub
from support.tools import Run, turns
from toolhub import Candidate, ToolHub, ToolInfo


@pytest.fixture
def hub() -> ToolHub:
    return ToolHub()


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


async def subtract(a: int, b: int) -> int:
    """Subtract the second number from the first."""
    return a - b


class Echo:
    name = "echo"
    description = "Say it again."

    def execute(self, input: Any) -> Any:
        return input


class AsyncEcho(Echo):
    async def execute(self, input: Any) -> Any:
        return input


class Counter:
    def __init__(self, start: int) -> None:
        self.value = start

    def advance(self, by: int = 1) -> int:
        """Count on."""
        self.value += by
        return self.value

    def __call__(self, by: int) -> int:
        return self.value * by


def test_the_decorator_without_arguments_registers_and_leaves_the_function_as_it_is(hub: ToolHub) -> None:
    assert hub.tool(add) is add
    info = hub.get("add")
    assert info is not None
    assert info.description == "Add two numbers."
    assert info.parameters["properties"]["a"] == {"type": "integer"}
    assert info.parameters["required"] == ["a", "b"]
    assert hub.call("add", {"a": 1, "b": 2}).result == 3


def test_the_decorator_with_arguments_says_what_the_function_does_not(hub: ToolHub) -> None:
    @hub.tool(
        name="minus",
        description="Take away.",
        capabilities=["Calculate", " math "],
        effects=False,
        idempotent=True,
        examples=[{"a": 3, "b": 1}],
        category="numbers",
        version="1.2",
        timeout=3,
        annotations={"title": "Minus"},
    )
    async def anything(a: int, b: int) -> int:
        return a - b

    (candidate,) = hub.get("minus").candidates
    assert "anything" not in hub
    assert candidate.description == "Take away."
    assert candidate.capabilities == ["calculate", "math"]
    assert (candidate.effects, candidate.read_only, candidate.idempotent) == (False, True, True)
    assert candidate.examples == [{"a": 3, "b": 1}]
    assert (candidate.category, candidate.version, candidate.timeout) == ("numbers", "1.2", 3.0)
    assert candidate.annotations == {"title": "Minus"}
    assert hub.call("minus", {"a": 3, "b": 1}).result == 2


def test_the_decorator_with_empty_parentheses_works_too(hub: ToolHub) -> None:
    assert hub.tool()(add) is add
    assert "add" in hub


def test_register_gives_the_candidate(hub: ToolHub) -> None:
    candidate = hub.register(add)
    assert isinstance(candidate, Candidate)
    assert (candidate.name, candidate.source, candidate.server, candidate.priority) == (
        "add",
        "tools",
        None,
        0,
    )
    assert candidate.tool is add


@pytest.mark.parametrize(
    ("tool", "args", "answer"),
    [
        (add, {"a": 1, "b": 2}, 3),
        (subtract, {"a": 5, "b": 2}, 3),
        (Counter(10).advance, {"by": 5}, 15),
        (Counter(10), {"by": 5}, 50),
        (functools.partial(add, 40), {"b": 2}, 42),
        (functools.partial(subtract, b=1), {"a": 2}, 1),
        (lambda text: text.upper(), {"text": "a"}, "A"),
        (len, {"obj": "four"}, 4),
        (Echo(), "again", "again"),
        (Echo(), {"a": 1, "b": 2}, {"a": 1, "b": 2}),
        (AsyncEcho(), {"x": [1]}, {"x": [1]}),
        (Echo, "a class is made into an object", "a class is made into an object"),
        (int, {}, 0),
    ],
    ids=lambda value: getattr(value, "__name__", None) or type(value).__name__,
)
def test_every_kind_of_callable_can_be_a_tool(hub: ToolHub, tool: Any, args: Any, answer: Any) -> None:
    hub.register(tool, name="tool")
    assert hub.call("tool", args).unwrap() == answer


def test_an_object_with_execute_brings_its_own_name_and_description(hub: ToolHub) -> None:
    hub.register(Echo())
    assert hub.get("echo").description == "Say it again."


def test_given_parameters_take_the_place_of_the_signature_and_the_core_checks_them(hub: ToolHub) -> None:
    schema = {
        "type": "object",
        "properties": {"city": {"type": "string", "minLength": 2}, "days": {"type": "integer", "maximum": 7}},
        "required": ["city"],
        "additionalProperties": False,
    }
    hub.register(lambda **arguments: arguments, name="weather", parameters=schema)
    assert hub.get("weather").parameters == schema
    assert hub.call("weather", {"city": "Rome", "days": 3}).result == {"city": "Rome", "days": 3}
    for wrong, text in [
        ({}, "city: required argument is missing, expected a string"),
        ({"city": None}, "city: expected a string, got null"),
        ({"city": "x"}, "city: expected a string of at least 2 characters, got 'x' (string)"),
        ({"city": "Rome", "days": 8}, "days: expected a value of at most 7, got 8 (integer)"),
        (
            {"city": "Rome", "dayz": 1},
            "dayz: unknown argument (did you mean 'days'? expected only city, days)",
        ),
    ]:
        result = hub.call("weather", wrong)
        assert result.kind == "invalid_arguments"
        assert text in str(result.error)


def test_a_bare_value_goes_to_the_only_required_property_of_given_parameters(hub: ToolHub) -> None:
    schema = {"properties": {"city": {"type": "string"}, "days": {}}, "required": ["city"]}
    hub.register(lambda **arguments: arguments, name="weather", parameters=schema)
    assert hub.call("weather", "Rome").result == {"city": "Rome"}


def test_a_marked_function_is_registered_with_its_marks(hub: ToolHub) -> None:
    @toolhub.tool(name="sum_up", capabilities=["calculate"], read_only=True, category="numbers")
    def function(a: int, b: int) -> int:
        return a + b

    assert function(1, 2) == 3
    candidate = hub.register(function)
    assert (candidate.name, candidate.capabilities, candidate.read_only) == ("sum_up", ["calculate"], True)
    again = hub.register(function, name="other", category="else", source="skills")
    assert (again.name, again.category, again.capabilities) == ("other", "else", ["calculate"])


def test_a_mark_that_does_not_exist_is_refused() -> None:
    with pytest.raises(TypeError, match="colour"):
        toolhub.tool(colour="red")(add)  # type: ignore[call-overload]


def test_a_replacement_replaces_and_another_source_adds(hub: ToolHub) -> None:
    hub.register(lambda: "old", name="tool")
    hub.register(lambda: "new", name="tool", replace=True)
    assert hub.call("tool").result == "new"
    assert len(hub.get("tool").candidates) == 1
    hub.register(lambda: "skill", name="tool", source="skills")
    hub.register(lambda: "brave", name="tool", source="mcps", server="brave")
    hub.register(lambda: "bing", name="tool", source="mcps", server="bing")
    info = hub.get("tool")
    assert isinstance(info, ToolInfo)
    assert info.sources == ["tools", "skills", "mcps", "mcps"]
    assert [candidate.priority for candidate in info.candidates] == [0, 1, 2, 2]
    assert [candidate.server for candidate in info.candidates] == [None, None, "brave", "bing"]
    assert len(hub) == 1


def test_a_replaced_candidate_hands_its_statistics_on(hub: ToolHub) -> None:
    hub.register(lambda: 1, name="tool")
    hub.call("tool")
    assert hub.register(lambda: 2, name="tool", replace=True).stats["calls"] == 1


def test_unregister_says_how_many_candidates_it_removed(hub: ToolHub) -> None:
    for source, server in [("tools", None), ("skills", None), ("mcps", "a"), ("mcps", "b")]:
        hub.register(add, name="tool", source=source, server=server, capabilities=["calculate"])
    assert hub.unregister("tool", server="a") == 1
    assert hub.unregister("tool", source="skills") == 1
    assert hub.unregister("tool", source="skills") == 0
    assert hub.get("tool").sources == ["tools", "mcps"]
    assert hub.unregister("tool") == 2
    assert "tool" not in hub
    assert hub.find_by_capability("calculate") == []
    assert hub.unregister("tool") == 0


def test_the_version_increases_with_every_change_and_only_then(hub: ToolHub) -> None:
    versions = [hub.version]

    def changed() -> bool:
        versions.append(hub.version)
        return versions[-1] > versions[-2]

    hub.register(add)
    assert changed()
    hub.register(add)
    assert changed()
    hub.register(add, source="skills")
    assert changed()
    hub.call("add", {"a": 1, "b": 2})
    hub.unregister("nobody")
    hub.unregister("add", source="mcps")
    hub.tools()
    assert not changed()
    hub.unregister("add", source="skills")
    assert changed()


def test_tools_lists_names_in_the_order_of_registration(hub: ToolHub) -> None:
    for name in ("zebra", "apple", "mango"):
        hub.register(add, name=name)
    hub.register(add, name="zebra")
    assert [tool.name for tool in hub.tools()] == ["zebra", "apple", "mango"]
    assert [name in hub for name in ("zebra", "apple", "mango", "pear")] == [True, True, True, False]
    assert len(hub) == 3
    assert 5 not in hub


def test_each_filter_of_tools_narrows_the_list(hub: ToolHub) -> None:
    hub.register(add, name="a", capabilities=["calculate"], category="numbers")
    hub.register(add, name="b", source="skills", capabilities=["calculate", "time"])
    hub.register(add, name="b", source="mcps", server="clock", capabilities=["time"])
    hub.register(add, name="c", source="mcps", server="excel", capabilities=[], category="numbers")

    def names(**filters: str) -> list[str]:
        return [tool.name for tool in hub.tools(**filters)]

    assert names() == ["a", "b", "c"]
    assert names(source="mcps") == ["b", "c"]
    assert names(server="excel") == ["c"]
    assert names(capability="calculate") == ["a", "b"]
    assert names(category="numbers") == ["a", "c"]
    assert names(category="numbers", source="tools") == ["a"]
    assert names(capability="time", server="clock") == ["b"]
    assert names(source="skills", server="clock") == []
    (narrowed,) = hub.tools(server="clock")
    assert narrowed.sources == ["mcps"]
    assert hub.get("b").sources == ["skills", "mcps"]
    assert hub.get("nobody") is None


def test_the_capability_that_tools_asks_for_is_taken_in_any_case_as_everywhere(hub: ToolHub) -> None:
    hub.register(add, capabilities=["calculate"])
    assert len(hub.find_by_capability("Calculate")) == 1
    assert len(hub.tools(capability="Calculate")) == 1


def test_a_tool_may_be_removed_and_replaced_while_it_runs(hub: ToolHub, run: Run) -> None:
    async def scene() -> None:
        begun, go = asyncio.Event(), asyncio.Event()

        async def old() -> str:
            begun.set()
            await go.wait()
            return "old"

        hub.register(old, name="tool")
        running = asyncio.create_task(hub.execute("tool"))
        await begun.wait()
        assert hub.unregister("tool") == 1
        assert (await hub.execute("tool")).kind == "not_found"
        hub.register(lambda: "new", name="tool")
        assert (await hub.execute("tool")).result == "new"
        assert not running.done()
        go.set()
        assert (await running).result == "old"
        assert (await hub.execute("tool")).result == "new"

    run(scene())


def test_registration_goes_on_while_many_calls_run(hub: ToolHub, run: Run) -> None:
    async def scene() -> None:
        async def call(n: int) -> int:
            await turns(n % 7)
            return n

        hub.register(call, name="tool")

        async def change() -> None:
            for n in range(50):
                hub.register(call, name="tool")
                hub.register(add, name=f"other_{n}")
                await turns(1)
                hub.unregister(f"other_{n}")

        changing = asyncio.create_task(change())
        results = await hub.execute_many([("tool", {"n": n}) for n in range(200)])
        await changing
        assert [result.result for result in results] == list(range(200))
        assert len(hub) == 1

    run(scene())


def test_what_cannot_be_a_tool_is_refused_with_a_sentence(hub: ToolHub) -> None:
    for wrong in (5, None, "text", object(), [add]):
        with pytest.raises(TypeError, match=r"A tool is a function|no execute|A list is not a tool"):
            hub.register(wrong)
    with pytest.raises(ValueError, match="lambda has no name"):
        hub.register(lambda: 1)
    with pytest.raises(TypeError, match="parameters= must be a JSON Schema"):
        hub.register(add, parameters=[1])  # type: ignore[arg-type]
    with pytest.raises(ValueError, match='"type": "object"'):
        hub.register(add, parameters={"type": "string"})
    with pytest.raises(ValueError, match="parameters must be JSON"):
        hub.register(add, parameters={"properties": {"a": {"default": b"x"}}})
    with pytest.raises(ValueError, match="source must be 'tools', 'skills' or 'mcps'"):
        hub.register(add, source="elsewhere")
    with pytest.raises(TypeError, match="capabilities must be a list of tags, got one string"):
        hub.register(add, capabilities="search")
    with pytest.raises(ValueError, match="timeout must be more than 0 seconds, got -1"):
        hub.register(add, timeout=-1)
    with pytest.raises(ValueError, match="examples must be JSON"):
        hub.register(add, examples=[object()])
    with pytest.raises(TypeError, match="annotations must be a mapping"):
        hub.register(add, annotations=[1])  # type: ignore[arg-type]
    assert len(hub) == 0
    assert hub.version == 0


def test_a_timeout_that_is_no_number_is_refused(hub: ToolHub) -> None:
    with pytest.raises(ValueError, match="timeout must be a number of seconds"):
        hub.register(add, timeout=float("nan"))


@pytest.mark.parametrize("limit", [0, -1])
def test_a_limit_that_lets_no_call_in_is_refused(hub: ToolHub, limit: int) -> None:
    with pytest.raises(ValueError, match="max_concurrency must be at least 1"):
        hub.register(add, max_concurrency=limit)


@pytest.mark.parametrize(
    "option", ["effects", "read_only", "idempotent", "category", "capabilities", "priority"]
)
def test_a_wrong_type_at_registration_is_named_in_the_error(hub: ToolHub, option: str) -> None:
    wrong: Any = [object()]
    with pytest.raises(TypeError, match=option):
        hub.register(add, **{option: wrong})
    assert "add" not in hub


@pytest.mark.parametrize("option", [True, False])
def test_effects_and_read_only_must_not_contradict_each_other(hub: ToolHub, option: bool) -> None:
    with pytest.raises(ValueError, match=f"effects={option} and read_only={option} contradict each other"):
        hub.register(add, effects=option, read_only=option)
    assert "add" not in hub
    assert hub.register(add, effects=option, read_only=not option).effects is option


texts = st.text(st.characters(exclude_categories=["Cs"]))
distinct = st.lists(texts.filter(str.strip), min_size=1, max_size=20, unique=True)


@given(names=distinct, description=texts)
def test_any_name_and_description_can_be_registered_and_is_found_again(
    names: list[str], description: str
) -> None:
    hub = ToolHub()
    for number, name in enumerate(names):
        hub.register(lambda number=number: number, name=name, description=description)
    assert [tool.name for tool in hub.tools()] == names
    assert len(hub) == len(names)
    for number, name in enumerate(names):
        assert name in hub
        assert hub.get(name).description == description
        assert hub.call(name).result == number
        assert hub.unregister(name) == 1
        assert name not in hub
    assert len(hub) == 0


FINALIZERS = """
import sys, threading, weakref
from toolhub import ToolHub

sys.setswitchinterval(1e-5)
hub = ToolHub()

def offer():
    def tool(x: int) -> int:
        return x
    weakref.finalize(tool, hub.register, len, name="left behind")
    hub.register(tool, name="tool")

def work():
    for _ in range(200):
        offer()  # replaces what another thread has offered
        hub.search("tool", 1)
        hub.unregister("tool")

threads = [threading.Thread(target=work) for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(len(hub), "left behind" in hub)
"""


def test_code_that_runs_when_a_tool_goes_may_use_the_hub_in_any_thread() -> None:
    """In a process of its own: where a tool goes under a lock, all threads wait for each other forever."""
    ran = subprocess.run(
        [sys.executable, "-c", FINALIZERS], capture_output=True, text=True, timeout=120, check=False
    )
    assert ran.stdout.split() == ["1", "True"], ran.stderr
