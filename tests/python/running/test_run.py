"""`hub.run`: from a model's message to what it has to read next."""

import asyncio
import json
import threading
from collections.abc import Callable
from typing import Any

import pytest

from toolhub import ErrorKind, ToolHub
from toolhub.permissions import Approval

pytestmark = pytest.mark.anyio


def model_text(*calls: tuple[str, dict[str, Any]], text: str = "") -> str:
    blocks = (json.dumps({"tool_name": name, "arguments": args}) for name, args in calls)
    return text + "".join(f"<tool_call>{block}</tool_call>" for block in blocks)


@pytest.fixture
def hub() -> ToolHub:
    hub = ToolHub()

    @hub.tool(read_only=True)
    async def add(a: int, b: int) -> int:
        return a + b

    @hub.tool(effects=True)
    async def delete_file(path: str) -> str:
        return f"deleted {path}"

    return hub


async def test_a_text_without_calls_is_the_answer(hub: ToolHub) -> None:
    outcome = await hub.run("The answer is 5.")
    assert (outcome.text, outcome.calls, outcome.results, outcome.messages) == (
        "The answer is 5.",
        [],
        [],
        [],
    )
    assert not outcome


async def test_calls_are_answered_in_their_order(hub: ToolHub) -> None:
    outcome = await hub.run(model_text(("add", {"a": 1, "b": 2}), ("add", {"a": 3, "b": 4}), text="So: "))
    assert outcome
    assert outcome.text == "So: "
    assert [result.result for result in outcome.results] == [3, 7]
    (message,) = outcome.messages
    assert message["role"] == "user"
    assert message["content"].count("<tool_result>") == 2


async def test_the_model_gets_the_error_of_an_unreadable_call(hub: ToolHub) -> None:
    outcome = await hub.run(
        '<tool_call>{"arguments": {"a": 1}}</tool_call>' + model_text(("add", {"a": 1, "b": 1}))
    )
    bad, good = outcome.results
    assert bad.kind is ErrorKind.INVALID_ARGUMENTS
    assert good.result == 2
    assert outcome.messages[0]["content"].count("<tool_result>") == 2


async def test_unknown_tools_and_wrong_arguments_are_results(hub: ToolHub) -> None:
    outcome = await hub.run(model_text(("missing", {}), ("add", {"a": "x", "b": 1})))
    assert [result.kind for result in outcome.results] == ["not_found", "invalid_arguments"]


OPENAI = {
    "role": "assistant",
    "content": "Let me see.",
    "tool_calls": [
        {"id": "c7", "type": "function", "function": {"name": "add", "arguments": '{"a": 1, "b": 2}'}}
    ],
}
ANTHROPIC = {
    "role": "assistant",
    "content": [
        {"type": "text", "text": "Let me see."},
        {"type": "tool_use", "id": "c7", "name": "add", "input": {"a": 1, "b": 2}},
    ],
}
GEMINI = {
    "role": "model",
    "parts": [
        {"text": "Let me see."},
        {"functionCall": {"id": "c7", "name": "add", "args": {"a": 1, "b": 2}}},
    ],
}


RESPONSES = {
    "output": [
        {"type": "message", "content": [{"type": "output_text", "text": "Let me see."}]},
        {
            "type": "function_call",
            "id": "fc_1",
            "call_id": "c7",
            "name": "add",
            "arguments": '{"a": 1, "b": 2}',
        },
    ]
}


@pytest.mark.parametrize(
    "message",
    [OPENAI, RESPONSES, ANTHROPIC, GEMINI],
    ids=["openai", "openai_responses", "anthropic", "gemini"],
)
async def test_results_have_the_format_of_the_api(hub: ToolHub, message: dict[str, Any]) -> None:
    outcome = await hub.run(message)
    assert outcome.text == "Let me see."
    assert outcome.results[0].result == 3
    (reply,) = outcome.messages
    match reply:
        case {"role": "tool", "tool_call_id": "c7", "content": "3"}:
            assert message is OPENAI
        case {"type": "function_call_output", "call_id": "c7", "output": "3"}:
            assert message is RESPONSES
        case {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c7", "content": "3"}]}:
            assert message is ANTHROPIC
        case {"role": "user", "parts": [{"functionResponse": {"name": "add", "response": {"result": "3"}}}]}:
            assert message is GEMINI
        case _:
            pytest.fail(f"unexpected reply {reply}")


async def test_the_format_of_the_results_can_be_chosen(hub: ToolHub) -> None:
    outcome = await hub.run(model_text(("add", {"a": 1, "b": 2})), results="openai")
    assert outcome.messages == [{"role": "tool", "tool_call_id": outcome.calls[0].id, "content": "3"}]


async def test_independent_calls_run_together(hub: ToolHub) -> None:
    barrier = asyncio.Barrier(3)

    @hub.tool(read_only=True)
    async def meet(who: str) -> str:
        await barrier.wait()
        return who

    outcome = await hub.run(model_text(*[("meet", {"who": who}) for who in "abc"]))
    assert [result.result for result in outcome.results] == ["a", "b", "c"]


async def test_a_call_with_effects_waits_for_those_before_it_and_holds_up_those_behind_it(
    hub: ToolHub,
) -> None:
    log: list[str] = []

    @hub.tool(read_only=True)
    async def look(n: int) -> int:
        log.append(f"look {n}")
        await asyncio.sleep(0)
        log.append(f"seen {n}")
        return n

    @hub.tool(effects=True)
    async def write(n: int) -> int:
        log.append(f"write {n}")
        await asyncio.sleep(0)
        log.append(f"written {n}")
        return n

    await hub.run(model_text(("look", {"n": 1}), ("look", {"n": 2}), ("write", {"n": 3}), ("look", {"n": 4})))
    assert set(log[:4]) == {"look 1", "look 2", "seen 1", "seen 2"}
    assert log[4:] == ["write 3", "written 3", "look 4", "seen 4"]


async def test_many_calls_in_one_text_are_bounded(hub: ToolHub) -> None:
    inside, most = 0, 0

    @hub.tool(read_only=True)
    async def count(n: int) -> int:
        nonlocal inside, most
        inside += 1
        most = max(most, inside)
        await asyncio.sleep(0)
        inside -= 1
        return n

    outcome = await hub.run(model_text(*[("count", {"n": n}) for n in range(1000)]), concurrency=8)
    assert [result.result for result in outcome.results] == list(range(1000))
    assert most == 8


@pytest.mark.parametrize(
    ("allowed", "kinds"),
    [
        (None, [None, None]),
        ([], ["not_allowed", "not_allowed"]),
        (["add"], [None, "not_allowed"]),
        (["a*", "delete_*"], [None, None]),
        (["*", "!delete_*"], [None, "not_allowed"]),
        (["native/*"], [None, None]),
        (["files/*"], ["not_allowed", "not_allowed"]),
    ],
)
async def test_only_what_is_allowed_is_called(
    hub: ToolHub, allowed: list[str] | None, kinds: list[str | None]
) -> None:
    text = model_text(("add", {"a": 1, "b": 2}), ("delete_file", {"path": "x"}))
    outcome = await hub.run(text, allowed=allowed)
    assert [result.kind for result in outcome.results] == kinds


async def test_only_the_providers_that_are_allowed_are_tried(hub: ToolHub) -> None:
    async def other(a: int, b: int) -> str:
        return "from the server"

    hub.register(other, name="add", source="mcps", server="math", read_only=True)
    call = model_text(("add", {"a": 1, "b": 2}))
    assert (await hub.run(call, allowed=["math/*"])).results[0].result == "from the server"
    assert (await hub.run(call, allowed=["native/*"])).results[0].result == 3
    named = call.replace('"tool_name"', '"source": "math", "tool_name"')
    assert (await hub.run(named, allowed=["native/*"])).results[0].kind == "not_allowed"


def sync_yes(approval: Approval) -> bool:
    assert threading.current_thread() is not threading.main_thread(), "approve may block"
    return True


async def async_yes(approval: Approval) -> bool:
    assert (approval.name, approval.arguments) == ("delete_file", {"path": "x"})
    return True


def no(approval: Approval) -> bool:
    return False


def truthy(approval: Approval) -> dict[str, bool]:
    return {"approved": False}


def one(approval: Approval) -> int:
    return 1


def no_because(approval: Approval) -> str:
    return "not on a Sunday"


def breaks(approval: Approval) -> bool:
    raise RuntimeError("out of order")


async def never(approval: Approval) -> bool:
    await asyncio.Event().wait()
    return True


@pytest.mark.parametrize(
    ("approve", "words"),
    [
        (sync_yes, None),
        (async_yes, None),
        (no, "it was not approved"),
        (truthy, "approve must answer True, False or None, got dict"),
        (one, "approve must answer True, False or None, got int"),
        (no_because, "approve must answer True, False or None, got str"),
        (breaks, "asking for approval failed (RuntimeError)"),
        (never, "it was not approved within 0.05 s"),
    ],
)
async def test_effects_need_approval(
    hub: ToolHub, approve: Callable[[Approval], Any], words: str | None
) -> None:
    text = model_text(("delete_file", {"path": "x"}), ("add", {"a": 1, "b": 2}))
    outcome = await hub.run(text, approve=approve, approve_timeout=0.05 if approve is never else 30)
    deleted, added = outcome.results
    assert added.result == 3, "what changes nothing needs no approval"
    if words is None:
        assert deleted.result == "deleted x"
    else:
        assert deleted.kind is ErrorKind.NOT_ALLOWED
        assert words in str(deleted.error)


async def test_why_asking_failed_is_for_the_log_and_not_for_the_model(
    hub: ToolHub, caplog: pytest.LogCaptureFixture
) -> None:
    outcome = await hub.run(model_text(("delete_file", {"path": "x"})), approve=breaks)
    assert "out of order" not in str(outcome.results[0].error)
    assert "out of order" in caplog.text


@pytest.mark.parametrize("source", [None, "native", " Native", "appflowy", "ours"])
async def test_a_label_is_restricted_to_the_allowed_providers(hub: ToolHub, source: str | None) -> None:
    hub.add_alias("ours")
    hub.register(lambda a, b: "from the server", name="add", source="mcps", server="math")
    call = json.dumps({"name": "add", "arguments": {"a": 1, "b": 2}, "source": source})
    for allowed, answer in ((["math/*"], "from the server"), (["*", "!math/*"], 3)):
        outcome = await hub.run(f"<tool_call>{call}</tool_call>", allowed=allowed)
        assert outcome.results[0].result == answer


async def test_an_approval_does_not_cover_a_provider_that_joins_meanwhile(hub: ToolHub) -> None:
    @hub.tool(effects=True)
    def wipe() -> str:
        return "native"

    def approve(asked: Approval) -> bool:
        hub.register(lambda: "from the server", name="wipe", source="mcps", server="late")
        return True

    outcome = await hub.run(model_text(("wipe", {})), allowed=["native/*"], approve=approve)
    assert outcome.results[0].result == "native"


async def test_approve_is_not_called_for_tools_that_are_not_allowed(hub: ToolHub) -> None:
    asked: list[Approval] = []
    await hub.run(model_text(("delete_file", {"path": "x"})), allowed=["add"], approve=asked.append)
    assert asked == []


async def test_long_results_are_cut_and_can_be_read_on(hub: ToolHub) -> None:
    @hub.tool(read_only=True)
    async def essay() -> str:
        return "A sentence about nothing. " * 400

    heard: list[Any] = []
    hub.on_event(heard.append)
    outcome = await hub.run(model_text(("essay", {})), limit=1_000)
    assert len(outcome.messages[0]["content"]) < 1_300
    handle = outcome.results[0].meta["handle"]
    assert hub.read_more(handle).startswith("A sentence about nothing.")
    (cut,) = [event for event in heard if event.type == "truncated"]
    assert (cut.tool, cut.handle, cut.total) == ("essay", handle, 10400)


async def test_the_events_of_a_run_have_the_model_s_id(hub: ToolHub) -> None:
    heard: list[Any] = []
    hub.on_event(heard.append)
    await hub.run('<tool_call>{"id": "call_001", "name": "add", "arguments": {"a": 1, "b": 2}}</tool_call>')
    types = [event.type for event in heard]
    assert types[0] == "parsed"
    assert types[-1] == "finished"
    assert "routed" in types
    assert {event.call_id for event in heard[1:]} == {"call_001"}


async def test_a_refusal_is_an_event(hub: ToolHub) -> None:
    heard: list[Any] = []
    hub.on_event(heard.append)
    await hub.run(model_text(("add", {"a": 1, "b": 2})), allowed=[])
    assert [event.type for event in heard] == ["parsed", "refused"]


async def test_values_between_tags_have_the_type_of_the_schema(hub: ToolHub) -> None:
    @hub.tool(read_only=True)
    async def zip_code(code: str) -> str:
        return code

    text = (
        "<tool_call>\n<function=zip_code>\n<parameter=code>\n01234\n</parameter>\n</function>\n</tool_call>"
    )
    assert (await hub.run(text)).results[0].result == "01234"


async def test_wrong_use_raises(hub: ToolHub) -> None:
    with pytest.raises(
        ValueError, match="results must be auto, tags, openai, openai_responses, anthropic, gemini, got 'xml'"
    ):
        await hub.run("x", results="xml")
    with pytest.raises(TypeError, match="allowed must be a list of patterns, got the text 'add'"):
        await hub.run("x", allowed="add")
    with pytest.raises(TypeError, match="approve must be callable, got int"):
        await hub.run("x", approve=3)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="concurrency"):
        await hub.run("x", concurrency=0)
    with pytest.raises(ValueError, match="hermes"):
        await hub.run("x", format="nonsense")


async def test_the_form_of_an_api_may_be_asked_for_by_format(hub: ToolHub) -> None:
    text = model_text(("add", {"a": 1, "b": 2}))
    for format in ("openai", "anthropic", "gemini", "openai_responses"):
        outcome = await hub.run(text, format=format)
        assert outcome.messages == (await hub.run(text, results=format)).messages
    assert (await hub.run(text, format="tags")).messages == (await hub.run(text)).messages
    assert (await hub.run(text, format="openai", results="tags")).messages == (await hub.run(text)).messages


async def test_the_model_gets_a_warning_about_unknown_arguments(hub: ToolHub) -> None:
    schema = {"properties": {"query": {"type": "string"}, "limit": {"type": "integer"}}}
    hub.register(lambda **given: sorted(given), name="look", parameters=schema)
    outcome = await hub.run(model_text(("look", {"query": "tea", "limt": 5})))
    assert outcome.results[0].result == ["limt", "query"]
    warning = "limt: unknown argument, passed on unchanged (did you mean 'limit'? known: query, limit)"
    assert outcome.results[0].meta["warnings"] == [warning]
    assert f'"warnings": ["{warning}"]' in outcome.messages[0]["content"]
    assert "warnings" not in (await hub.run(model_text(("look", {"query": "tea"})))).messages[0]["content"]
