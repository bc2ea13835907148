"""The input of the drop-in names: whatever `execute` takes, and what a call without input means."""

from typing import Any

import pytest

from support.tools import Run
from toolhub import ToolCandidate, ToolHub, compat


class Free:
    name, description = "free", "Takes anything."

    def execute(self, input: Any) -> Any:
        return {"got": input}


class Declared(Free):
    parameters = {"type": "object", "properties": {"x": {"type": "integer"}}}  # noqa: RUF012


class Hinted(Free):
    def execute(self, input: dict[str, Any]) -> Any:
        return {"got": input}


class Informed(Free):
    def execute(self, input: Any, task_ctx: Any = None) -> Any:
        return {"got": input, "for": task_ctx}


class Optional(Free):
    def execute(self, input: Any = "the default") -> Any:
        return {"got": input}


@pytest.mark.parametrize("tool", [Free, Declared, Hinted, Informed])
def test_no_input_is_none_for_an_orchestrator_and_an_empty_mapping_elsewhere(run: Run, tool: type) -> None:
    older, usual = compat.ToolHub(), ToolHub()
    for hub in (older, usual):
        hub.register_candidate(ToolCandidate("free", "tools", tool(), 0, {"capabilities": ["echo"]}))
    assert run(older.execute("free", None)).result["got"] is None
    assert run(older.execute_by_capability("echo", None)).result["got"] is None
    assert older.call("free", None).result["got"] is None
    assert older.call("free", {}).result["got"] == {}
    assert run(usual.execute("free", None)).unwrap()["got"] == {}
    assert usual.call("free").unwrap()["got"] == {}


def test_no_input_with_a_context_and_with_a_default(run: Run) -> None:
    hub = compat.ToolHub()
    hub.register(Informed())
    assert run(hub.execute("free", None, task_ctx=7)).result == {"got": None, "for": 7}
    hub.register(Optional(), name="optional")
    assert run(hub.execute("optional", None)).result == {"got": "the default"}


def test_no_input_for_a_hint_that_takes_neither_is_a_sentence(run: Run) -> None:
    class Listing(Free):
        def execute(self, input: list[int]) -> Any:
            return {"got": input}

    for hub in (ToolHub(), compat.ToolHub()):
        hub.register(Listing())
        error = run(hub.execute("free", None)).error
        assert error == "Invalid arguments for 'free': input: expected an array, got null."


@pytest.mark.parametrize(
    "input", ["text", 5, 1.5, ["a", "list"], {"any": {"thing": 1}}, {"input": 1, "b": 2}, True]
)
def test_the_input_is_whatever_execute_takes(run: Run, input: Any) -> None:
    class Echo:
        name, description = "echo", "Says it again."

        def execute(self, input: Any) -> Any:
            return {"got": input}

    hub = ToolHub()
    hub.register_candidate(ToolCandidate("echo", "tools", Echo(), 0, {"capabilities": ["echo"]}))
    assert run(hub.execute("echo", input)).result == {"got": input}
    assert run(hub.execute_by_capability("echo", input, max_parallel=3)).result == {"got": input}
