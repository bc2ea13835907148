"""The drop-in names, tested with a small orchestrator that was written against them."""

import asyncio
import dataclasses
from collections.abc import Callable, Coroutine
from contextvars import ContextVar
from typing import Any
from unittest import mock

import pytest

from support.tools import Run
from toolhub import ToolCandidate, ToolHub, compat


class Orchestrator:
    """Loads tools of three sources, answers requests by name or by capability, reports what it has."""

    def __init__(self, hub: Any) -> None:
        self.hub = hub

    def load(self, tools: list[Any], skills: list[Any]) -> None:
        for priority, (source, loaded) in enumerate([("tools", tools), ("skills", skills)]):
            for tool in loaded:
                meta = {"capabilities": getattr(tool, "capabilities", []), "module": type(tool).__module__}
                self.hub.register_candidate(ToolCandidate(tool.name, source, tool, priority, meta))

    async def handle(self, request: dict[str, Any]) -> dict[str, Any]:
        if "tool" in request:
            if not self.hub.has_tool(request["tool"]):
                return {"ok": False, "text": "unknown tool"}
            answer = await self.hub.execute(request["tool"], request["input"])
        else:
            if not self.hub.find_by_capability(request["capability"]):
                return {"ok": False, "text": "nobody can do that"}
            answer = await self.hub.execute_by_capability(
                request["capability"], request["input"], max_parallel=3
            )
        if not answer["success"]:
            return {"ok": False, "text": answer["error"]}
        return {"ok": True, "text": answer["result"], "from": answer.get("_meta", {}).get("source")}

    def inventory(self) -> dict[str, list[str]]:
        return {
            entry["name"]: [candidate["source"] for candidate in entry["candidates"]]
            for entry in self.hub.list_tools()
        }


class Calculator:
    name = "calculator"
    description = "Calculates."
    capabilities = ("calculate",)

    def execute(self, input: Any) -> Any:
        expression = input["expression"] if isinstance(input, dict) else input
        left, right = expression.split("+")
        return {"success": True, "result": int(left) + int(right)}


class Clock:
    name = "clock"
    description = "Tells the time."
    capabilities = ("time",)

    async def execute(self, input: Any) -> Any:
        return f"noon in {input['city']}"


class Broken:
    name = "clock"
    description = "Tells the time, but not today."
    capabilities = ("time",)

    def execute(self, input: Any) -> Any:
        return {"success": False, "error": "the battery is empty"}


class Sundial(Clock):
    name = "sundial"

    def execute(self, input: Any) -> Any:
        raise RuntimeError("no sun")


@pytest.fixture
def orchestrator() -> Orchestrator:
    orchestrator = Orchestrator(ToolHub())
    orchestrator.load(tools=[Calculator(), Broken(), Sundial()], skills=[Clock()])
    return orchestrator


def test_requests_by_name_are_answered(orchestrator: Orchestrator, run: Run) -> None:
    answer = run(orchestrator.handle({"tool": "calculator", "input": {"expression": "2+3"}}))
    assert answer == {"ok": True, "text": 5, "from": "tools"}
    assert run(orchestrator.handle({"tool": "calculator", "input": "2+3"}))["ok"]


def test_a_failed_candidate_gives_way_to_another_source(orchestrator: Orchestrator, run: Run) -> None:
    answer = run(orchestrator.handle({"tool": "clock", "input": {"city": "Rome"}}))
    assert answer == {"ok": True, "text": "noon in Rome", "from": "skills"}


def test_requests_by_capability_are_answered(orchestrator: Orchestrator, run: Run) -> None:
    answer = run(orchestrator.handle({"capability": "time", "input": {"city": "Rome"}}))
    assert (answer["ok"], answer["text"]) == (True, "noon in Rome")


def test_failures_and_strangers_are_answers_too(orchestrator: Orchestrator, run: Run) -> None:
    assert run(orchestrator.handle({"tool": "abacus", "input": {}}))["text"] == "unknown tool"
    assert run(orchestrator.handle({"capability": "fly", "input": {}}))["text"] == "nobody can do that"
    answer = run(orchestrator.handle({"tool": "sundial", "input": {}}))
    assert not answer["ok"]
    assert "no sun" in answer["text"]
    answer = run(orchestrator.handle({"tool": "calculator", "input": {"expression": "nonsense"}}))
    assert not answer["ok"]


def test_the_inventory_lists_names_and_candidates(orchestrator: Orchestrator) -> None:
    assert orchestrator.inventory() == {
        "calculator": ["tools"],
        "clock": ["tools", "skills"],
        "sundial": ["tools"],
    }
    (entry,) = [entry for entry in orchestrator.hub.list_tools() if entry["name"] == "calculator"]
    assert set(entry) == {"name", "candidates"}
    assert entry["candidates"] == [
        {"source": "tools", "priority": 0, "meta": {"capabilities": ("calculate",), "module": __name__}}
    ]


def test_what_is_found_by_capability_looks_like_what_was_registered(orchestrator: Orchestrator) -> None:
    found = orchestrator.hub.find_by_capability("time")
    assert [(one.name, one.source, one.priority) for one in found] == [
        ("clock", "tools", 0),
        ("sundial", "tools", 0),
        ("clock", "skills", 1),
    ]
    assert isinstance(found[0].tool, Broken)
    assert found[0].meta["capabilities"] == ("time",)
    assert found[0].tool.execute({})["error"] == "the battery is empty"


def test_tool_candidate_is_a_dataclass_with_the_fixed_fields() -> None:
    fields = [field.name for field in dataclasses.fields(ToolCandidate)]
    assert fields == ["name", "source", "tool", "priority", "meta"]
    one, other = ToolCandidate("a", "tools", None), ToolCandidate("a", "tools", None)
    assert one == other
    one.meta["x"] = 1
    assert other.meta == {}


def test_a_candidate_without_priority_gets_that_of_its_source() -> None:
    hub = ToolHub()
    for source in ("tools", "skills", "mcps"):
        hub.register_candidate(ToolCandidate("t", source, Clock()))
    assert [candidate["priority"] for candidate in hub.list_tools()[0]["candidates"]] == [0, 1, 2]


def test_meta_may_say_capabilities_description_parameters_and_server() -> None:
    hub = ToolHub()
    meta = {
        "capabilities": ["Weather"],
        "description": "Tells the weather.",
        "parameters": {"properties": {"city": {"type": "string"}}, "required": ["city"]},
        "server": "sky",
    }
    candidate = hub.register_candidate(
        ToolCandidate("weather", "mcps", lambda city: f"sun in {city}", 5, meta)
    )
    assert (candidate.capabilities, candidate.description) == (["weather"], "Tells the weather.")
    assert (candidate.server, candidate.priority) == ("sky", 5)
    assert hub.call("weather", {"city": None}).kind == "invalid_arguments"
    assert hub.call("weather", {"city": "Rome"}).result == "sun in Rome"


def test_changing_the_notes_of_a_candidate_changes_nothing_in_the_hub() -> None:
    hub = ToolHub()
    meta: dict[str, Any] = {"capabilities": ["time"], "nested": {"deep": [1]}}
    candidate = hub.register_candidate(ToolCandidate("clock", "tools", Clock(), 0, meta))
    for given in (candidate.meta, hub.list_tools()[0]["candidates"][0]["meta"]):
        given["nested"]["deep"].append(2)
        given["more"] = True
    assert candidate.meta == {"capabilities": ["time"], "nested": {"deep": [1]}}


def test_notes_that_contain_themselves_can_be_read() -> None:
    hub = ToolHub()
    meta: dict[str, Any] = {}
    meta["itself"] = meta
    assert hub.register_candidate(ToolCandidate("clock", "tools", Clock(), 0, meta)).meta["itself"] is meta


def test_capabilities_that_meta_does_not_say_are_extracted() -> None:
    hub = ToolHub()
    candidate = hub.register_candidate(ToolCandidate("calculator", "tools", Calculator(), 0, {}))
    assert "calculate" in candidate.capabilities
    assert hub.has_tool("calculator")


def test_the_same_candidate_registered_again_replaces_itself() -> None:
    hub = ToolHub()
    for _ in range(2):
        hub.register_candidate(ToolCandidate("clock", "tools", Clock(), 0, {"capabilities": ["time"]}))
    assert len(hub.find_by_capability("time")) == 1
    assert hub.unregister("clock") == 1
    assert not hub.has_tool("clock")


def test_a_wrong_candidate_is_refused() -> None:
    hub = ToolHub()
    with pytest.raises(ValueError, match="source"):
        hub.register_candidate(ToolCandidate("clock", "somewhere", Clock(), 0, {}))
    with pytest.raises(TypeError):
        hub.register_candidate(ToolCandidate("clock", "tools", None, 0, {}))
    assert hub.list_tools() == []


class Indirect:
    """A tool whose `execute` is not an `async def`, but gives what one gave."""

    description = "Goes on in a coroutine."

    def __init__(self, name: str, run: Callable[[Any], Coroutine[Any, Any, Any]]) -> None:
        self.name = name
        self._run = run

    def execute(self, input: Any) -> Any:
        return self._run(input)


REQUEST: ContextVar[str] = ContextVar("REQUEST", default="none")


def test_what_a_plain_execute_gives_is_awaited_on_the_callers_loop(run: Run) -> None:
    hub = ToolHub()

    async def body(input: Any) -> Any:
        await asyncio.sleep(0)
        return {"input": input, "request": REQUEST.get(), "loop": id(asyncio.get_running_loop())}

    hub.register(Indirect("indirect", body))

    async def main() -> None:
        REQUEST.set("r1")
        result = await hub.execute("indirect", "x")
        assert result.unwrap() == {"input": "x", "request": "r1", "loop": id(asyncio.get_running_loop())}

    run(main())
    assert hub.call("indirect", "x").result["input"] == "x"


def test_the_coroutine_of_a_plain_execute_has_the_time_of_its_tool_and_may_fail(run: Run) -> None:
    hub = ToolHub()
    ended: list[str] = []

    async def endless(input: Any) -> Any:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("endless")

    async def broken(input: Any) -> Any:
        raise LookupError("no such page")

    hub.register(Indirect("endless", endless))
    hub.register(Indirect("broken", broken))
    assert run(hub.execute("endless", 1, timeout=0.05)).kind == "timeout"
    assert ended == ["endless"]
    result = run(hub.execute("broken", 1))
    assert isinstance(result.exception, LookupError)


@pytest.mark.parametrize("strategy", ["first", "all"])
def test_coroutines_of_plain_executes_run_side_by_side(run: Run, strategy: str) -> None:
    hub = ToolHub()
    ended: list[str] = []

    def tool(answer: str | None) -> Indirect:
        async def body(input: Any) -> Any:
            try:
                await asyncio.sleep(0)
                if answer is None and strategy == "first":
                    await asyncio.Event().wait()
                return answer or "late"
            finally:
                ended.append(str(answer))

        return Indirect("twin", body)

    hub.register(tool("quick"), read_only=True)
    hub.register(tool(None), source="skills", read_only=True)
    result = run(hub.execute("twin", 1, strategy=strategy))
    expected = {"first": "quick", "all": "[tools] quick\n\n[skills] late"}
    assert result.result == expected[strategy]
    assert "quick" in ended


def test_a_call_that_is_cancelled_cancels_the_coroutine_of_a_plain_execute(run: Run) -> None:
    hub = ToolHub()
    begun, ended = asyncio.Event(), asyncio.Event()

    async def body(input: Any) -> Any:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    hub.register(Indirect("indirect", body))

    async def main() -> None:
        call = asyncio.create_task(hub.execute("indirect", 1))
        async with asyncio.timeout(20):
            await begun.wait()
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        assert ended.is_set()

    run(main())


class Contextual:
    """A tool of an orchestrator that hands its own context to every tool."""

    name, description = "contextual", "Tells who asked."

    async def execute(self, input: Any, task_ctx: Any = None, llm_client: Any = None) -> Any:
        return {"input": input, "user": task_ctx and task_ctx["user"], "llm": llm_client}


class Open:
    name, description = "open", "Takes everything."

    def execute(self, input: Any, **more: Any) -> Any:
        return {"input": input, "more": more}


class Needing:
    name, description = "needing", "Cannot do without a context."

    def execute(self, input: Any, *, task_ctx: Any) -> Any:
        return [input, task_ctx]


def compat_hub(*tools: Any) -> compat.ToolHub:
    hub = compat.ToolHub()
    for tool in tools:
        hub.register_candidate(
            compat.ToolCandidate(tool.name, "tools", tool, 0, {"capabilities": ["context"]})
        )
    return hub


CONTEXT = {"user": "ada", "handle": object()}


@pytest.mark.parametrize("input", ["text", {"query": "x"}, {"input": 1, "b": 2}, [1], 5])
def test_keywords_of_the_orchestrator_reach_the_tools_that_take_them(run: Run, input: Any) -> None:
    class Model:
        def generate(self, prompt: str) -> str:
            return "one answer"

    model = Model()
    hub = compat_hub(Contextual(), Open(), Needing(), Calculator())
    result = run(hub.execute("contextual", input, llm_client=model, task_ctx=CONTEXT))
    assert result["result"] == {"input": input, "user": "ada", "llm": model}
    result = run(hub.execute("open", input, task_ctx=CONTEXT, request_id=7))
    assert result["result"] == {"input": input, "more": {"task_ctx": CONTEXT, "request_id": 7}}
    assert result["result"]["more"]["task_ctx"] is CONTEXT
    assert run(hub.execute("needing", input, task_ctx=CONTEXT))["result"] == [input, CONTEXT]
    assert run(hub.execute("calculator", "2+3", task_ctx=CONTEXT))["result"] == 5
    assert run(hub.execute("contextual", input))["result"]["user"] is None


def test_they_reach_every_candidate_of_a_call_and_functions_too(run: Run) -> None:
    hub = compat_hub(Contextual())

    @hub.tool(capabilities=["context"], read_only=True)
    def who(query: str, task_ctx: Any = None) -> str:
        return f"{query} by {task_ctx['user']}"

    assert hub.call("who", "x", task_ctx=CONTEXT)["result"] == "x by ada"
    assert hub.call("who", {"query": "x"}, task_ctx=CONTEXT)["result"] == "x by ada"
    by_capability = run(
        hub.execute_by_capability("context", "x", max_parallel=1, task_ctx=CONTEXT, source="tools")
    )
    assert by_capability["success"]
    assert hub.call_by_capability("context", "x", 3, None, task_ctx=CONTEXT)["success"]
    assert run(hub.execute("contextual", "x", timeout=5, strategy="first"))["success"], "options are options"


def test_each_candidate_gets_what_it_has_parameters_for(run: Run) -> None:
    hub = compat.ToolHub()

    def search(query: str, task_ctx: Any = None) -> str:
        return f"{query} for {task_ctx['user']}"

    def find(query: str, request_id: int = 0) -> str:
        return f"{query} in request {request_id}"

    for source, function in (("tools", search), ("skills", find)):
        hub.register(function, name="look", source=source, capabilities=["look"], read_only=True)
    context = {"task_ctx": CONTEXT, "request_id": 7}
    for input in ("x", {"query": "x"}, '{"query": "x"}'):
        assert hub.call("look", input, source="tools", **context)["result"] == "x for ada"
        assert hub.call("look", input, source="skills", **context)["result"] == "x in request 7"
        by_capability = run(hub.execute_by_capability("look", input, 1, source="skills", **context))
        assert by_capability["result"] == "x in request 7"
    assert hub.call("look", {"query": "x", "request_id": 1}, source="skills", **context)["result"] == (
        "x in request 1"
    ), "the arguments of the call come first"


def test_calls_with_other_contexts_do_not_share_a_result() -> None:
    hub = compat_hub(Contextual())

    @hub.tool(read_only=True)
    def get_user(query: str, task_ctx: Any = None) -> str:
        return f"{query} by {task_ctx['user']}"

    hub.register(Contextual(), name="get_context", read_only=True)
    for user in ("ada", "bob", "ada"):
        call = {"task_ctx": {"user": user}, "cache_ttl": 60}
        assert hub.call("get_user", "x", **call)["result"] == f"x by {user}"
        assert hub.call("get_context", "x", **call)["result"]["user"] == user
    assert hub.call("get_context", "x", task_ctx={"user": "bob"}, cache_ttl=60).meta["cached"]
    assert not hub.call("get_user", "x", task_ctx=CONTEXT, cache_ttl=60).meta["cached"]


def test_two_calls_at_once_keep_their_contexts_apart(run: Run) -> None:
    hub = compat_hub(Contextual())

    async def main() -> list[Any]:
        calls = [hub.execute("contextual", n, task_ctx={"user": n}) for n in range(20)]
        return [result["result"]["user"] for result in await asyncio.gather(*calls)]

    assert run(main()) == list(range(20))


def test_a_model_sees_the_input_only() -> None:
    (tool,) = compat_hub(Contextual()).as_openai()
    assert list(tool["function"]["parameters"]["properties"]) == ["input"]


@pytest.mark.parametrize("make", [ToolHub, compat.ToolHub])
@pytest.mark.parametrize("tool", [Clock(), Contextual(), Calculator()])
@pytest.mark.parametrize("on_class", [False, True])
@pytest.mark.parametrize("is_async", [False, True])
def test_a_patched_execute_is_what_runs(
    run: Run, make: Callable[[], Any], tool: Any, on_class: bool, is_async: bool
) -> None:
    hub = make()
    hub.register_candidate(ToolCandidate(tool.name, "tools", tool, 0, {}))
    patch = mock.AsyncMock if is_async else mock.Mock
    target = type(tool) if on_class else tool
    with mock.patch.object(target, "execute", patch(return_value={"success": True, "result": "patched"})):
        assert run(hub.execute(tool.name, {"city": "Rome", "expression": "1+1"}))["result"] == "patched"
    answer = run(hub.execute(tool.name, {"city": "Rome", "expression": "1+1"}))
    assert answer["result"] != "patched"


def test_a_failure_begins_with_the_words_of_the_tool(run: Run) -> None:
    hub = compat_hub(Sundial(), Broken())
    assert run(hub.execute("sundial", {}))["error"].startswith("no sun")
    assert run(hub.execute("clock", {}))["error"].startswith("the battery is empty")
    assert "abacus" in run(hub.execute("abacus", {}))["error"]


def test_a_candidate_of_another_class_or_a_mapping_is_taken() -> None:
    @dataclasses.dataclass
    class Theirs:
        name: str
        source: str
        tool: Any
        priority: int
        meta: Any = None

    hub = compat.ToolHub()
    assert hub.register_candidate(Theirs("a", "skills", Clock(), 1)).source == "skills"  # type: ignore[arg-type]
    assert hub.register_candidate({"name": "b", "tool": Clock()}).source == "tools"  # type: ignore[arg-type]


@pytest.mark.parametrize("given", [{}, None, Clock(), "clock", len, {"name": "x"}])
def test_what_is_no_candidate_is_refused_in_one_sentence(given: Any) -> None:
    with pytest.raises(
        TypeError, match=r"^register_candidate\(\) takes ToolCandidate\(name, source, tool\), got \w+; "
    ):
        ToolHub().register_candidate(given)


def test_a_patched_execute_gets_what_it_takes(run: Run) -> None:
    class Notes:
        name, description = "notes", "Notes of a user."

        async def execute(self, input: Any, task_ctx: Any = None) -> Any:
            return {"success": True, "result": (input, task_ctx)}

    notes, hub = Notes(), compat.ToolHub()
    hub.register_candidate(ToolCandidate("notes", "tools", notes))

    async def without(input: Any) -> Any:
        return {"success": True, "result": ("patched", input)}

    with mock.patch.object(notes, "execute", without):
        result = run(hub.execute("notes", "x", task_ctx=1))
        assert (result.success, result["result"]) == (True, ("patched", "x")), result.error
    with mock.patch.object(notes, "execute", mock.AsyncMock(return_value=1)) as patched:
        run(hub.execute("notes", "x", task_ctx=1))
        patched.assert_called_once_with("x", task_ctx=1)
    assert run(hub.execute("notes", "x", task_ctx=1))["result"] == ("x", 1)


def test_the_own_words_of_an_error_are_one_visible_line(run: Run) -> None:
    def fail() -> None:
        raise ValueError("\x1b[31mred\x1b[0m\nsecond")

    hub = compat.ToolHub()
    hub.register(fail)
    assert run(hub.execute("fail"))["error"] == "red second (Tool 'fail' raised ValueError: red second)"


def traced(execute: Any) -> Any:
    """A decorator without `functools.wraps`, as orchestrators have them."""

    async def inner(*args: Any, **kwargs: Any) -> Any:
        return await execute(*args, **kwargs)

    return inner


class TracedInput:
    name, description = "traced_input", "Takes the input alone."

    @traced
    async def execute(self, input: Any) -> Any:
        return {"input": input}


class TracedContext:
    name, description = "traced_context", "Takes a context too."

    @traced
    async def execute(self, input: Any, task_ctx: Any = None) -> Any:
        return {"input": input, "task_ctx": task_ctx}


class TracedParameters:
    name, description = "traced_parameters", "Takes named parameters."

    @traced
    async def execute(self, query: str, limit: int = 5) -> Any:
        return {"query": query, "limit": limit}


class Anything:
    name, description = "anything", "Does not say what it takes."

    async def execute(self, *args: Any, **kwargs: Any) -> Any:
        return {"args": args, "kwargs": kwargs}


class Further:
    name, description = "further", "Takes what an older hub passed by position."

    async def execute(self, input: Any, *args: Any, **kwargs: Any) -> Any:
        return {"input": input, "args": args, "kwargs": kwargs}


@pytest.mark.parametrize("input", [{"q": 1}, "text", {"input": "x", "y": 2}])
def test_an_execute_that_hides_its_signature_gets_its_input_by_position(run: Run, input: Any) -> None:
    hub = compat_hub(TracedInput(), TracedContext(), Anything(), Further())

    def result(name: str) -> Any:
        answer = run(hub.execute(name, input, task_ctx=CONTEXT))
        assert answer.success, answer.error
        return answer["result"]

    assert result("traced_input") == {"input": input}
    assert result("traced_context") == {"input": input, "task_ctx": CONTEXT}
    assert result("anything") == {"args": (input,), "kwargs": {"task_ctx": CONTEXT}}
    assert result("further") == {"input": input, "args": (), "kwargs": {"task_ctx": CONTEXT}}


def test_a_hidden_signature_with_named_parameters_gets_them_by_name(run: Run) -> None:
    hub = compat_hub(TracedParameters())
    result = run(hub.execute("traced_parameters", {"query": "x", "limit": 2}))
    assert result["result"] == {"query": "x", "limit": 2}


def test_a_mock_of_execute_gets_what_the_orchestrator_passes(run: Run) -> None:
    tool = mock.MagicMock(description="A mock.", execute=mock.AsyncMock(return_value="ok"))
    tool.name = "mocked"
    hub = compat_hub(tool)
    assert run(hub.execute("mocked", {"q": 1}, task_ctx=9))["result"] == "ok"
    tool.execute.assert_called_once_with({"q": 1}, task_ctx=9)
