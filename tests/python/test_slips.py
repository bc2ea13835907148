"""Slips of new users: each gets one sentence that says what to write instead."""

import asyncio
import inspect
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import toolhub
from toolhub import ToolError, ToolHub
from toolhub.llm import OpenAI


@pytest.fixture
def hub() -> ToolHub:
    hub = ToolHub()

    @hub.tool
    def add(a: int, b: int = 1) -> int:
        return a + b

    return hub


def message(slip: Callable[[], Any]) -> str:
    """The sentence of the error; awaits what an async method returns."""

    async def awaited() -> Any:
        made = slip()
        return await made if inspect.isawaitable(made) else made

    with pytest.raises((TypeError, ValueError)) as caught:
        asyncio.run(awaited())
    text = str(caught.value)
    assert "\n" not in text
    assert "Methods." not in text
    assert "__init__" not in text
    return text


@pytest.mark.parametrize("given", [None, 5, b"add", ["add"]])
def test_a_name_that_is_not_text(hub: ToolHub, given: Any) -> None:
    kind = type(given).__name__
    calls = (hub.call, hub.execute, hub.get, hub.unregister, hub.has_tool)
    assert {message(lambda call=call: call(given)) for call in calls} == {f"name must be text, got {kind}"}
    by_capability = (hub.call_by_capability, hub.execute_by_capability, hub.find_by_capability)
    sentences = {message(lambda call=call: call(given)) for call in by_capability}
    assert sentences == {f"capability must be text, got {kind}"}
    assert message(lambda: hub.read_more(given)) == f"handle must be text, got {kind}"


def test_patterns_strategies_and_meta_of_another_type(hub: ToolHub) -> None:
    assert message(lambda: ToolHub(strategies={"a": 1})) == "strategies['a'] must be text, got int"  # type: ignore[dict-item]
    assert message(lambda: ToolHub(strategies={1: "all"})) == (  # type: ignore[dict-item]
        "each pattern of strategies must be text, got int"
    )
    patterns = "allowed must be a list of patterns of tool names, got int in it"
    assert message(lambda: hub.run("no calls", allowed=[5])) == patterns  # type: ignore[list-item]
    assert message(lambda: toolhub.permissions.Permissions([5])) == patterns  # type: ignore[list-item]
    candidate = toolhub.ToolCandidate("x", "tools", len, meta="x")  # type: ignore[arg-type]
    assert message(lambda: hub.register_candidate(candidate)) == (
        "the meta of a candidate must be a mapping, got str"
    )
    assert message(lambda: hub.as_openai(tools=[5])) == "each name in tools must be text, got int"  # type: ignore[list-item]


def test_arguments_are_passed_as_a_mapping(hub: ToolHub) -> None:
    say = "has no option 'a'; pass the arguments of the tool as a mapping"
    assert message(lambda: hub.call("add", a=1)) == f"hub.call() {say}: hub.call('add', {{'a': …}})"  # type: ignore[call-arg]
    assert message(lambda: hub.execute("add", a=1)) == f"hub.execute() {say}: hub.execute('add', {{'a': …}})"  # type: ignore[call-arg]
    both = message(lambda: hub.call("add", a=1, b=2))  # type: ignore[call-arg]
    assert both.endswith("hub.call('add', {'a': …, 'b': …})")
    for method in (hub.call, hub.execute):
        given = message(lambda method=method: method("add", 1, 2))  # type: ignore[misc]
        assert given == "ToolHub.execute() takes from 2 to 3 positional arguments but 4 were given"


@pytest.mark.parametrize(
    ("slip", "nearest"),
    [
        (lambda hub: ToolHub(timout=5), "ToolHub() has no option 'timout'; did you mean 'timeout'?"),
        (lambda hub: ToolHub(skill="skills"), "did you mean 'skills'?"),
        (lambda hub: hub.call("add", {"a": 1}, timout=5), "did you mean 'timeout'?"),
        (lambda hub: hub.execute("add", {"a": 1}, strategie="first"), "did you mean 'strategy'?"),
        (lambda hub: hub.execute_by_capability("calculate", {}, max_paralel=2), "'max_parallel'?"),
        (lambda hub: hub.call_by_capability("calculate", {}, timout=2), "did you mean 'timeout'?"),
        (lambda hub: hub.execute_many([], timout=2), "hub.execute_many() has no option 'timout'"),
        (lambda hub: hub.call_many([], concurency=2), "did you mean 'concurrency'?"),
        (lambda hub: hub.dispatch({"tool_name": "add"}, timout=2), "hub.dispatch() has no option 'timout'"),
        (lambda hub: hub.dispatch_sync({"tool_name": "add"}, timout=2), "did you mean 'timeout'?"),
        (lambda hub: hub.run("no calls", alowed=["*"]), "did you mean 'allowed'?"),
        (lambda hub: hub.run_sync("no calls", aprove=print), "did you mean 'approve'?"),
        (lambda hub: hub.register(len, read_onyl=True), "did you mean 'read_only'?"),
        (lambda hub: hub.register(len, desription="x"), "did you mean 'description'?"),
        (lambda hub: hub.tool(efects=True), "hub.tool() has no option 'efects'; did you mean 'effects'?"),
        (lambda hub: toolhub.tool(efects=True), "toolhub.tool() has no option 'efects'"),
        (lambda hub: hub.tools(capabilty="search"), "did you mean 'capability'?"),
        (lambda hub: hub.search("x", limit=3), "hub.search() has no option 'limit'; its options are k"),
        (lambda hub: hub.system_prompt(languge="zh"), "did you mean 'lang'?"),
        (lambda hub: hub.as_openai(stric=True), "did you mean 'strict'?"),
        (lambda hub: hub.load_skills("skills", alow_scripts=True), "did you mean 'allow_scripts'?"),
        (lambda hub: hub.connect(time_out=5), "did you mean 'timeout'?"),
        (lambda hub: hub.refresh_sync(timout=5), "did you mean 'timeout'?"),
        (lambda hub: OpenAI(modell="small"), "OpenAI() has no option 'modell'; did you mean 'model'?"),
        (lambda hub: hub.call("add", {"a": 1}, timout=5, force=True), "no options 'timout' and 'force'"),
    ],
)
def test_an_unknown_option_is_answered_with_the_nearest(
    hub: ToolHub, slip: Callable[[Any], Any], nearest: str
) -> None:
    assert nearest in message(lambda: slip(hub))


def test_every_public_method_names_unknown_options(hub: ToolHub) -> None:
    for name, method in inspect.getmembers(hub, inspect.ismethod):
        if name.startswith("_"):
            continue
        required = [
            parameter
            for parameter in inspect.signature(method).parameters.values()
            if parameter.default is parameter.empty
            and parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD)
        ]
        given = ["x"] * len(required)
        sentence = message(lambda method=method, given=given: method(*given, zzz=1))
        assert f"hub.{name}() has no option 'zzz'" in sentence


def test_a_decorator_takes_the_name_as_its_first_argument(hub: ToolHub) -> None:
    @hub.tool("plus", read_only=True)
    def add(a: int) -> int:
        return a

    @toolhub.tool("minus")
    def subtract(a: int) -> int:
        return -a

    hub.register(subtract)
    assert add(3) == 3
    assert subtract(3) == -3
    assert hub.call("plus", {"a": 1}).result == 1
    assert hub.call("minus", {"a": 1}).result == -1
    assert "given twice" in message(lambda: hub.tool("x", name="y"))  # type: ignore[call-overload]
    assert "given twice" in message(lambda: toolhub.tool("x", name="y"))  # type: ignore[call-overload]


@pytest.mark.parametrize(
    ("slip", "sentence"),
    [
        (lambda hub, t: ToolHub(timeout=t), "timeout"),
        (lambda hub, t: hub.call("add", {"a": 1}, timeout=t), "timeout"),
        (lambda hub, t: hub.dispatch({"tool_name": "add"}, timeout=t), "timeout"),
        (lambda hub, t: hub.register(len, name="length", timeout=t), "timeout"),
    ],
)
def test_timeouts_are_positive_numbers(hub: ToolHub, slip: Callable[[Any, Any], Any], sentence: str) -> None:
    text = f"{sentence} must be a number of seconds, got the text '5'; write {sentence}=5"
    assert message(lambda: slip(hub, "5")) == text
    assert (
        message(lambda: slip(hub, "soon")) == f"{sentence} must be a number of seconds, got the text 'soon'"
    )
    zero = f"{sentence} must be more than 0 seconds, got 0; leave it out for the default"
    assert message(lambda: slip(hub, 0)) == zero
    assert message(lambda: slip(hub, [5])) == f"{sentence} must be a number of seconds, got list"


@pytest.mark.parametrize("option", ["cancel_grace", "breaker_rest", "lookup_timeout"])
def test_other_times_of_a_hub_are_numbers(option: str) -> None:
    assert message(lambda: ToolHub(limits={option: "5"})).startswith(f"{option} must be a number of seconds")


def test_numbers_and_choices_say_what_is_expected(hub: ToolHub) -> None:
    high = message(lambda: hub.register(len, name="length", priority="high"))  # type: ignore[arg-type]
    assert high == "priority must be a whole number, got the text 'high'"
    assert message(lambda: ToolHub(seed="x")) == "seed must be a whole number, got the text 'x'"  # type: ignore[arg-type]
    assert "limits has no key 'mcp'; did you mean 'mcps'?" in message(lambda: ToolHub(limits={"mcp": 5}))
    assert message(lambda: ToolHub(limits=5)).startswith("limits must be a mapping such as")  # type: ignore[arg-type]
    several = message(lambda: hub.call("add", {"a": 1}, source=["tools", "mcps"]))  # type: ignore[arg-type]
    assert several == "source must be text, got list; leave it out for all"


@pytest.mark.parametrize(
    ("slip", "sentence"),
    [
        (lambda hub: ToolHub(elicitation=5), "elicitation must be a function, got int"),
        (lambda hub: ToolHub(login={"token_file": 5}), "token_file must be a path, got int"),
        (lambda hub: ToolHub(timeout=True), "timeout must be a number of seconds, got bool"),
        (lambda hub: ToolHub(5), "mcp must be a path, got int"),
        (lambda hub: ToolHub(tools=[len]), "register functions with hub.register"),
        (lambda hub: ToolHub(len), "register functions with hub.register"),
        (lambda hub: hub.load_tools(None), "the folder of tools must be a path, got NoneType"),
        (lambda hub: hub.load_mcp(None), "mcp must be a path, got NoneType"),
        (lambda hub: hub.register([len, max]), "A list is not a tool: register each of its items."),
        (lambda hub: hub.register(), "ToolHub.register() missing 1 required positional argument: 'obj'"),
        (lambda hub: hub.call_many("add"), "calls must be a list of names or pairs"),
        (lambda hub: hub.call_many({"add": {"a": 1}}), "got a mapping"),
        (lambda hub: hub.call_many(["add"], concurrency="4"), "concurrency must be a whole number"),
        (lambda hub: hub.on_event(asyncio.sleep), "must be a plain function, not an async one"),
        (lambda hub: toolhub.truncate("text", "5"), "limit must be a whole number, got the text '5'"),
        (lambda hub: toolhub.merge("abc"), "results must be a list of results, got one str"),
        (lambda hub: OpenAI(timeout="5"), "timeout must be a number of seconds, got the text '5'"),
    ],
)
def test_other_slips_get_one_sentence(hub: ToolHub, slip: Callable[[Any], Any], sentence: str) -> None:
    assert sentence in message(lambda: slip(hub))


def test_an_option_of_the_wrong_type_is_refused_after_an_equal_one_of_the_right_type(hub: ToolHub) -> None:
    hub.call("add", {"a": 1}, timeout=1)
    assert message(lambda: hub.call("add", {"a": 1}, timeout=True)) == (
        "timeout must be a number of seconds, got bool"
    )


def test_a_path_is_the_mcp_config(tmp_path: Path) -> None:
    config = tmp_path / "mcp.json"
    config.write_text(json.dumps({"mcpServers": {"files": {"command": "files-server"}}}))
    for given in (config, str(config), [config], {"mcpServers": {"files": {"command": "files-server"}}}):
        with ToolHub(given) as hub:
            assert [server.id for server in hub.servers()] == ["files"]


def test_a_method_needs_its_object(hub: ToolHub) -> None:
    def define() -> None:
        class Greeter:
            @hub.tool
            def greet(self, name: str) -> str:
                return f"Hello {name}"

    text = message(define)
    assert text.startswith("'greet' is a method of the class Greeter and needs an object")
    assert "hub.register(Greeter().greet)" in text

    class Greeter:
        def greet(self, name: str) -> str:
            return f"Hello {name}"

        @staticmethod
        @hub.tool
        def shout(name: str) -> str:
            return name.upper()

    assert "needs an object" in message(lambda: hub.register(Greeter.greet))
    hub.register(Greeter().greet)
    assert hub.call("greet", "you").result == "Hello you"
    assert hub.call("shout", "you").result == "YOU"


def test_a_closed_hub_cannot_be_entered_again() -> None:
    hub = ToolHub()
    with hub:
        pass
    with pytest.raises(ToolError, match="The hub is closed; make a new ToolHub"), hub:
        pass

    async def enter() -> None:
        async with hub:
            pass

    with pytest.raises(ToolError, match="make a new ToolHub"):
        asyncio.run(enter())


def test_approve_is_not_asked_for_tools_that_do_not_exist(hub: ToolHub) -> None:
    asked: list[str] = []

    def approve(approval: Any) -> bool:
        asked.append(approval.name)
        return True

    call = '<tool_call>{"name": "remove_all", "arguments": {}}</tool_call>'
    assert hub.run_sync(call, approve=approve).results[0].kind == "not_found"
    assert asked == []
