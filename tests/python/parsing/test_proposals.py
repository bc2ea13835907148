"""`hub.run` makes sure calls; others only if they are harmless or approved."""

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import pytest

from toolhub import ErrorKind, ToolHub
from toolhub.agents import ChatLoop
from toolhub.permissions import Approval

BODY = '{"name": "delete_file", "arguments": {"path": "a"}}'
READ = '{"name": "read_file", "arguments": {"path": "a"}}'
MARKED = f"<tool_call>{BODY}</tool_call>"
DECLINED = f"I cannot do this. The call would look like this:\n{BODY}\nPlease confirm."
KIMI = (
    "<|tool_calls_section_begin|><|tool_call_begin|>functions.delete_file:0<|tool_call_argument_begin|>"
    '{"path": "a"}<|tool_call_end|><|tool_calls_section_end|>'
)


@pytest.fixture
def made() -> list[tuple[str, str]]:
    return []


@pytest.fixture
def hub(made: list[tuple[str, str]]) -> Iterator[ToolHub]:
    with ToolHub() as hub:

        @hub.tool(description="Delete a file")
        def delete_file(path: str) -> str:
            made.append(("delete", path))
            return "deleted"

        @hub.tool(read_only=True, description="Read a file")
        def read_file(path: str) -> str:
            made.append(("read", path))
            return "text"

        yield hub


@pytest.mark.parametrize(
    "text",
    [
        DECLINED,
        BODY,
        f"Shall I send {BODY}?",
        f"{MARKED} is what I would write, but I will not.",
        f"我不会执行这个调用：\n```json\n{BODY}\n```\n请先确认。",
        f"The page says:\n<tool_call>{READ}</tool_call>\n{KIMI}",
    ],
)
def test_what_may_not_be_meant_does_not_act(hub: ToolHub, made: list[tuple[str, str]], text: str) -> None:
    outcome = hub.run_sync(text)
    assert ("delete", "a") not in made
    (proposal,) = outcome.proposals
    assert proposal.name == "delete_file"
    assert proposal.certainty in ("likely", "doubtful")
    assert proposal.sentence is not None
    assert "delete_file" in proposal.sentence
    result = outcome.results[outcome.calls.index(proposal)]
    assert (result.kind, result.meta["error"]["outcome"]) == (ErrorKind.PROPOSED, "not_sent")
    assert "say the call alone" in json.dumps(outcome.messages)


def test_a_sure_call_is_made(hub: ToolHub, made: list[tuple[str, str]]) -> None:
    for text in (MARKED, f"I delete it now.\n{MARKED}", f"<think>Hm.</think>{MARKED}<|im_end|>"):
        outcome = hub.run_sync(text)
        assert outcome.results[0].result == "deleted"
        assert (outcome.proposals, outcome.format) == ([], "hermes")
    native = {"function": {"name": "delete_file", "arguments": '{"path": "a"}'}, "id": "1"}
    assert hub.run_sync({"role": "assistant", "content": "Well.", "tool_calls": [native]}).results[0].success
    assert made == [("delete", "a")] * 4


def chat(reason: str, **message: Any) -> dict[str, Any]:
    answer = {"role": "assistant", "content": MARKED, **message}
    return {"choices": [{"index": 0, "finish_reason": reason, "message": answer}]}


def blocks(reason: str) -> dict[str, Any]:
    return {"role": "assistant", "stop_reason": reason, "content": [{"type": "text", "text": MARKED}]}


def candidate(reason: str) -> dict[str, Any]:
    content = {"role": "model", "parts": [{"text": MARKED}]}
    return {"candidates": [{"finishReason": reason, "content": content}]}


def response(status: str, *more: dict[str, Any], **details: Any) -> dict[str, Any]:
    content = [{"type": "output_text", "text": MARKED}, *more]
    return {
        "status": status,
        "output": [{"type": "message", "role": "assistant", "content": content}],
        **details,
    }


REFUSAL = {"type": "refusal", "refusal": "I cannot help with that."}
FILTERED = {"incomplete_details": {"reason": "content_filter"}}


@pytest.mark.parametrize(
    "answer",
    [
        chat("content_filter"),
        chat("length"),
        chat("sensitive"),
        chat("stop", refusal="I cannot help with that."),
        chat("stop", content=[{"type": "text", "text": MARKED}, REFUSAL]),
        chat("content_filter")["choices"][0],
        response("incomplete", **FILTERED),
        response("failed"),
        response("completed", REFUSAL),
        blocks("refusal"),
        blocks("max_tokens"),
        blocks("guardrail_intervened"),
        candidate("SAFETY"),
        candidate("PROHIBITED_CONTENT"),
        candidate("MALFORMED_FUNCTION_CALL"),
        candidate("FinishReason.SPII"),
    ],
)
def test_the_text_of_an_answer_that_was_broken_off_only_proposes(
    hub: ToolHub, made: list[tuple[str, str]], answer: Any
) -> None:
    outcome = hub.run_sync(answer)
    assert made == []
    assert [proposal.certainty for proposal in outcome.proposals] == ["likely"]
    assert hub.run_sync(answer, approve=lambda approval: True).results[0].success


@pytest.mark.parametrize(
    "answer",
    [
        chat("stop"),
        chat("stop", refusal=None),
        chat("tool-calls"),
        response("completed"),
        blocks("end_turn"),
        blocks("stop_sequence"),
        candidate("STOP"),
        candidate("FinishReason.STOP"),
    ],
)
def test_the_text_of_an_answer_to_its_end_is_sure(hub: ToolHub, answer: Any) -> None:
    assert hub.run_sync(answer).results[0].success


@pytest.mark.parametrize("reason", ["content_filter", "length", "stop"])
def test_a_whole_call_in_the_structure_of_an_api_is_sure(hub: ToolHub, reason: str) -> None:
    call = {"id": "1", "type": "function", "function": {"name": "delete_file", "arguments": '{"path": "a"}'}}
    assert hub.run_sync(chat(reason, content=None, tool_calls=[call])).results[0].success


def test_the_named_dialect_is_sure(hub: ToolHub) -> None:
    assert hub.run_sync(f"So:\n{BODY}", format="json_bare").results[0].success
    assert hub.run_sync(f"So:\n{BODY}").format is None


def test_a_harmless_tool_is_called_in_any_form(hub: ToolHub, made: list[tuple[str, str]]) -> None:
    outcome = hub.run_sync(f"Perhaps {READ} helps.")
    assert made == [("read", "a")]
    assert not outcome.proposals


def test_approve_is_asked_with_the_sentence(hub: ToolHub, made: list[tuple[str, str]]) -> None:
    asked: list[Approval] = []

    def approve(approval: Approval) -> bool:
        asked.append(approval)
        return True

    assert hub.run_sync(DECLINED, approve=approve).results[0].success
    assert asked[0].sentence == f"The call would look like this:\n{BODY}\nPlease confirm."
    hub.run_sync(MARKED, approve=approve)
    assert asked[1].sentence is None
    refused = hub.run_sync(DECLINED, approve=lambda approval: False)
    assert refused.results[0].kind is ErrorKind.NOT_ALLOWED
    assert not refused.proposals
    assert made == [("delete", "a")] * 2


def test_a_stored_question_shows_the_sentence(tmp_path: Any) -> None:
    with ToolHub(store=tmp_path / "s.db") as hub:
        hub.register(lambda path: "deleted", name="delete_file")
        outcome = hub.run_sync(DECLINED, approve="ask")
        assert outcome.results[0].kind is ErrorKind.PAUSED
        assert "Please confirm." in str(hub.pending()[0])


def test_a_proposal_can_be_dispatched(hub: ToolHub, made: list[tuple[str, str]]) -> None:
    (proposal,) = hub.run_sync(DECLINED).proposals
    assert made == []
    assert hub.dispatch_sync(proposal).result == "deleted"
    assert made == [("delete", "a")]


def test_later_acting_calls_wait_for_a_proposal(hub: ToolHub, made: list[tuple[str, str]]) -> None:
    other = MARKED.replace('"a"', '"b"')
    outcome = hub.run_sync(f"{MARKED}\nThen I would go on:\n<tool_call>{READ}</tool_call>\n{other}")
    kinds = [result.kind for result in outcome.results]
    assert kinds == [ErrorKind.PROPOSED, None, ErrorKind.NOT_SENT]
    assert made == [("read", "a")]


def test_the_sentence_for_the_model_is_in_chinese_too() -> None:
    with ToolHub(lang="zh") as hub:
        hub.register(lambda path: "deleted", name="delete_file")
        error = hub.run_sync(DECLINED).results[0].error
    assert error is not None
    assert "请按工具调用格式单独写出该调用" in error


def test_a_chat_loop_keeps_to_the_dialect_of_the_model(hub: ToolHub, made: list[tuple[str, str]]) -> None:
    script = iter([f"<tool_call>{READ}</tool_call>", DECLINED])
    loop = ChatLoop(hub, lambda prompt: next(script))

    async def events() -> list[Any]:
        return [event async for event in loop.stream("Delete a.")]

    seen = asyncio.run(events())
    # The second text has no call in the dialect of the first one: it is the answer.
    assert [event.type for event in seen if event.type.startswith("call_")] == ["call_finished"]
    assert made == [("read", "a")]


def test_a_chat_loop_reports_a_proposal(hub: ToolHub, made: list[tuple[str, str]]) -> None:
    script = iter([f"{MARKED} Shall I?", MARKED, "Deleted."])
    loop = ChatLoop(hub, lambda prompt: next(script))

    async def events() -> list[Any]:
        return [event async for event in loop.stream("Delete a.")]

    seen = [event for event in asyncio.run(events()) if event.type.startswith("call_")]
    assert [event.type for event in seen] == ["call_proposed", "call_finished"]
    assert (seen[0].certainty, seen[0].tool) == ("likely", "delete_file")
    assert made == [("delete", "a")]


@pytest.mark.parametrize(
    "call",
    [
        {"functionCall": {"name": "delete_file", "willContinue": True}},
        {"functionCall": {"name": "delete_file", "args": {"path": "old lo"}, "willContinue": True}},
        {
            "function_call": {
                "name": "delete_file",
                "args": None,
                "partial_args": [{"json_path": "$.path", "string_value": "old lo", "will_continue": True}],
                "will_continue": True,
            }
        },
    ],
)
def test_a_call_whose_arguments_go_on_is_not_made(call: dict[str, Any]) -> None:
    hub, deleted = ToolHub(), list[str]()
    hub.register(lambda path="everything": deleted.append(path), name="delete_file", effects=True)
    outcome = hub.run_sync({"candidates": [{"content": {"role": "model", "parts": [call]}}]})
    assert deleted == []
    assert "cut off" in str(outcome.results[0].error)
