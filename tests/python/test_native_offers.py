"""Resources and prompts of the hub itself, without a client."""

from __future__ import annotations

import asyncio
import gc
import threading
import weakref
from typing import Any

import pytest

from toolhub import ToolError, ToolHub, current_call
from toolhub.questions import Form, Link, Roots, Sampling


def test_functions_run_where_tools_run() -> None:
    hub, seen = ToolHub(), {}

    @hub.resources.add("app://async/{number}")
    async def in_loop(number: int) -> str:
        """Runs on the loop of the caller."""
        seen["loop"] = asyncio.get_running_loop()
        return f"{number + 1}"

    @hub.resources.add("app://thread{?factor}")
    def in_thread(factor: float = 1.0) -> list[float]:
        """Runs in a thread."""
        seen["thread"] = threading.current_thread()
        return [2 * factor]

    async def main() -> list[str | None]:
        loop = asyncio.get_running_loop()
        uris = ("app://async/41", "app://thread?factor=1.5", "app://thread")
        texts = [(await hub.resources.read(uri))[0].text for uri in uris]
        assert seen["loop"] is loop
        return texts

    assert asyncio.run(main()) == ["42", "[3.0]", "[2.0]"]
    assert seen["thread"] is not threading.current_thread()
    assert hub.resources.read_sync("app://async/1")[0].text == "2"
    assert [one.uri_template for one in hub.resources.templates_sync()] == [
        "app://async/{number}",
        "app://thread{?factor}",
    ]
    assert hub.resources.list_sync(["native"]) == []


def test_a_function_is_cancelled_with_its_caller_and_has_a_limit() -> None:
    hub = ToolHub()
    ended = threading.Event()

    @hub.resources.add("app://slow")
    async def slow() -> str:
        """Never ends."""
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()
        return ""

    with pytest.raises(ToolError) as late:
        hub.resources.read_sync("app://slow", timeout=0.05)
    assert late.value.kind == "timeout"
    assert str(late.value) == "The resource 'app://slow' did not answer within 0.05 s."
    assert ended.wait(30)


def test_lists_show_what_was_given_and_change() -> None:
    hub = ToolHub()
    icon = {"src": "https://example.com/a.png"}
    hub.resources.add(
        "app://a", {"x": 1}, title="A", mime_type="application/x-a", annotations={"priority": 1}, icons=[icon]
    )
    (resource,) = hub.resources.list_sync()
    assert (resource.server, resource.name, resource.title) == ("native", "app://a", "A")
    assert resource.data["annotations"] == {"priority": 1}
    assert resource.data["icons"] == [icon]
    assert hub.resources.read_sync("app://a")[0].mime_type == "application/x-a"

    @hub.prompts.add("greet", title="Greet", meta={"own": True})
    def say(name: str, loud: bool = False) -> list[Any]:
        """Say hello.

        Args:
            name: Whom to greet.
        """
        return [f"Greet {name}!", {"role": "assistant", "content": "HI" if loud else "Hi"}]

    (prompt,) = hub.prompts.list_sync()
    assert (prompt.name, prompt.title, prompt.description) == ("greet", "Greet", "Say hello.")
    assert prompt.arguments == [
        {"name": "name", "description": "Whom to greet.", "required": True},
        {"name": "loud", "required": False},
    ]
    filled = hub.prompts.get_sync("greet", {"name": "Astrid", "loud": "true"})
    assert [(one["role"], one["content"]["text"]) for one in filled.messages] == [
        ("user", "Greet Astrid!"),
        ("assistant", "HI"),
    ]
    assert hub.prompts.remove("greet")
    assert not hub.prompts.remove("greet")
    assert hub.resources.remove("app://a")
    assert (hub.prompts.list_sync(), hub.resources.list_sync()) == ([], [])


def test_completions_come_from_lists_and_functions() -> None:
    hub = ToolHub()

    async def suggest(begun: str, others: dict[str, str]) -> list[str]:
        return [f"{begun}-{others.get('table', '?')}-{number}" for number in range(120)]

    @hub.resources.add("db://{table}/{row}", completions={"table": ["users", "orders"], "row": suggest})
    def row(table: str, row: str) -> str:
        """A row."""
        return f"{table} {row}"

    template = "db://{table}/{row}"
    assert hub.prompts.complete_sync("table", "U", template=template) == ["users"]
    rows = hub.prompts.complete_sync("row", "7", template=template, context={"table": "users"})
    assert (len(rows), rows[0]) == (100, "7-users-0")
    assert hub.prompts.complete_sync("other", "", template=template) == []


@pytest.mark.parametrize(
    ("offer", "message"),
    [
        (lambda hub: hub.resources.add("app", "x"), "'app' is not a URI: it needs a scheme"),
        (lambda hub: hub.resources.add("app://{a}{b}", lambda a, b: ""), "two variables need text between"),
        (lambda hub: hub.resources.add("app://{a}", lambda: ""), "no parameter for the variable 'a'"),
        (lambda hub: hub.resources.add("app://a", lambda a: ""), "The parameter 'a' .* needs a default"),
        (lambda hub: hub.resources.add("app://taken", "again"), "A resource 'app://taken' already exists"),
        (lambda hub: hub.prompts.add(lambda: ""), "pass name="),
        (lambda hub: hub.prompts.add(5), "a prompt is a function, got int"),
        (lambda hub: hub.prompts.add("one", name="two"), "takes the name once"),
        (lambda hub: hub.prompts.add(max, name="p", completions={"x": "abc"}), "must be a list of texts"),
        (lambda hub: hub.resources.add("app://b", "", completions={"x": []}), "has no argument 'x'"),
        (lambda hub: hub.resources.add("app://b", "", meta=[1]), "meta must be a mapping"),
        (lambda hub: hub.resources.add(b"app://b", ""), "uri must be text"),
        (lambda hub: hub.resources.add("app://b", mime="x"), r"hub.resources.add\(\) has no option 'mime'"),
        (lambda hub: hub.resources(), r"write await hub.resources.list\(\)"),
        (lambda hub: hub.prompts(["native"]), r"write await hub.prompts.list\(\)"),
    ],
)
def test_wrong_offers_are_refused(offer: Any, message: str) -> None:
    hub = ToolHub()
    hub.resources.add("app://taken", "x")
    with pytest.raises((TypeError, ValueError), match=message):
        offer(hub)


def test_a_function_that_is_defined_again_replaces_itself() -> None:
    hub = ToolHub()

    def define(answer: str, replace: bool = False) -> None:
        code = f"def motto():\n    return {answer!r}"
        namespace: dict[str, Any] = {"__name__": "cell"}
        exec(code, namespace)
        hub.resources.add("app://motto", replace=replace)(namespace["motto"])

    define("first")
    define("second")
    assert hub.resources.read_sync("app://motto")[0].text == "second"
    hub.resources.add("app://motto", "third", replace=True)
    assert hub.resources.read_sync("app://motto")[0].text == "third"


def test_unknown_ones_and_failures_are_tool_errors() -> None:
    hub = ToolHub()
    hub.prompts.add(lambda: {"role": "system", "content": "no"}, name="odd")

    @hub.prompts.add
    def broken() -> str:
        """Fail."""
        raise KeyError("paper")

    for call, kind, message in [
        (lambda: hub.resources.read_sync("app://x", server="native"), "not_found", "The hub has no resource"),
        (
            lambda: hub.prompts.get_sync("x", server="native"),
            "not_found",
            "The hub has no prompt 'x' of its own.",
        ),
        (lambda: hub.resources.updated("app://x"), "not_found", "The hub has no resource"),
        (lambda: hub.prompts.get_sync("odd"), "tool_error", "Prompt 'odd' must return texts"),
        (lambda: hub.prompts.get_sync("broken"), "tool_error", "Prompt 'broken' raised KeyError"),
    ]:
        with pytest.raises(ToolError) as raised:
            call()
        assert raised.value.kind == kind
        assert message in str(raised.value)
    hub.close()
    with pytest.raises(ToolError):
        hub.resources.add("app://x", "x")


def test_a_hub_with_functions_that_refer_to_it_is_collected() -> None:
    class Place:
        pass

    def make() -> weakref.ref[Place]:
        hub, place = ToolHub(), Place()

        @hub.resources.add("app://{name}", completions={"name": lambda begun: [repr(hub)]})
        def thing(name: str) -> str:
            """Refers to the hub and to the place."""
            return repr((hub, place))

        assert "ToolHub" in (hub.resources.read_sync("app://x")[0].text or "")
        return weakref.ref(place)

    gone = make()
    gc.collect()
    assert gone() is None


def test_outside_of_a_served_hub_there_is_no_client_to_ask() -> None:
    call = current_call()
    assert not any(call.supports(what) for what in ("elicitation", "elicitation.url", "sampling", "roots"))
    for ask in (
        lambda: call.sample_sync("Hello"),
        call.roots_sync,
        lambda: call.ask_url_sync("Sign in", "https://example.com"),
        lambda: call.ask_all_sync({"a": Form("Sure?"), "b": Roots()}),
    ):
        with pytest.raises(ToolError, match="cannot be asked") as raised:
            ask()
        assert raised.value.kind == "not_allowed"
    assert call.ask_all_sync({}) == {}
    with pytest.raises(TypeError, match="must be a Form, Link, Sampling or Roots"):
        call.ask_all_sync({"a": "Sure?"})  # type: ignore[dict-item]  # pyright: ignore[reportArgumentType]
    with pytest.raises(ValueError, match="what must be one of"):
        call.supports("magic")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


def test_questions_are_written_as_the_protocol_has_them() -> None:
    tool = {"name": "add", "inputSchema": {"type": "object"}}
    question = Sampling(
        ["Hi", {"role": "assistant", "content": "Hello"}],
        max_tokens=7,
        system_prompt="Be short.",
        temperature=0.5,
        stop_sequences=["."],
        model_preferences=["small", "fast"],
        tools=[tool],
        tool_choice="required",
    )
    assert question.params == {
        "messages": [
            {"role": "user", "content": {"type": "text", "text": "Hi"}},
            {"role": "assistant", "content": {"type": "text", "text": "Hello"}},
        ],
        "maxTokens": 7,
        "systemPrompt": "Be short.",
        "temperature": 0.5,
        "stopSequences": ["."],
        "modelPreferences": {"hints": [{"name": "small"}, {"name": "fast"}]},
        "tools": [tool],
        "toolChoice": {"mode": "required"},
    }
    call = {"type": "tool_use", "id": "1", "name": "add", "input": {}}
    answer = question.read(
        {"role": "assistant", "content": [{"type": "text", "text": "a"}, call], "model": "m"}
    )
    assert (answer.text, answer.content[1], answer.model) == ("a", call, "m")
    link = Link("Sign in", "https://example.com").params
    assert (link["mode"], link["url"], bool(link["elicitationId"])) == ("url", "https://example.com", True)
    for wrong in (lambda: Sampling("x", max_tokens=0), lambda: Sampling([5]), lambda: Form(5)):
        with pytest.raises((TypeError, ValueError)):
            wrong()
