"""`toolhub.llm.OpenAI` against a local server that speaks the API, faults included; a real model when one is there."""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Iterator

import pytest

from llm.fake_openai import FakeOpenAI, Raw, Status
from toolhub import ToolError
from toolhub.llm import OpenAI

KEY = "sk-very-secret-0123456789"


@pytest.fixture
def server() -> Iterator[FakeOpenAI]:
    with FakeOpenAI(answer="Paris it is.") as server:
        yield server


def client(server: FakeOpenAI, **options: object) -> OpenAI:
    return OpenAI(server.base_url, KEY, "small", **options)  # type: ignore[arg-type]


def test_a_prompt_is_answered_async_and_blocking(server: FakeOpenAI) -> None:
    model = client(server)
    assert asyncio.run(model.generate_async("Where?")) == "Paris it is."
    assert model.generate("Where?") == "Paris it is."
    assert server.requests[0].prompt == "Where?"
    assert server.requests[0].headers["authorization"] == f"Bearer {KEY}"


def test_a_chat_returns_all_details_of_the_answer(server: FakeOpenAI) -> None:
    messages = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Where?"}]
    answer = asyncio.run(client(server, temperature=0.0, max_tokens=9, extra={"seed": 1}).chat(messages))
    assert answer["text"] == "Paris it is."
    assert answer["raw"]["choices"][0]["message"]["content"] == "Paris it is."
    body = server.requests[0].body
    assert (body["messages"], body["temperature"], body["max_tokens"], body["seed"]) == (messages, 0.0, 9, 1)


def test_an_answer_is_streamed_piece_by_piece(server: FakeOpenAI) -> None:
    async def collect() -> list[str]:
        return [piece async for piece in client(server).stream("Where?")]

    pieces = asyncio.run(collect())
    assert len(pieces) > 1
    assert "".join(pieces) == "Paris it is."


def test_base_url_and_key_come_from_the_environment(
    server: FakeOpenAI, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    assert OpenAI(model="small").generate("Where?") == "Paris it is."
    assert server.requests[0].headers["authorization"] == f"Bearer {KEY}"


def test_a_busy_server_is_asked_again(server: FakeOpenAI) -> None:
    server.enqueue(Status(429, headers={"Retry-After": "0"}), Status(503, headers={"Retry-After": "0"}))
    assert client(server).generate("Where?") == "Paris it is."
    assert len(server.requests) == 3


@pytest.mark.parametrize(
    ("fault", "kind", "says"),
    [
        (Status(401, "bad key"), "auth", "401"),
        ("forbidden", "auth", "403"),
        (Status(404, "no such model"), "http", "no such model"),
        (Status(400, "context too long"), "http", "context too long"),
        ("rate_limited_long", "overloaded", "429"),
        ("server_error", "http", "500"),
        ("redirect", "http", "redirect"),
        ("invalid_json", "protocol", "JSON"),
        ("no_choices", "protocol", "choices"),
        ("html", "protocol", "HTML"),
        ("close", "closed", ""),
        ("cut_body", "closed", ""),
    ],
)
def test_failures_have_a_kind_and_a_sentence(
    server: FakeOpenAI, fault: str | Status, kind: str, says: str
) -> None:
    server.enqueue(fault)
    with pytest.raises(ToolError) as caught:
        client(server, max_retries=0).generate("Where?")
    assert caught.value.kind == kind
    assert says in str(caught.value)
    assert KEY not in str(caught.value)


def test_a_refused_connection_names_the_place_and_not_the_key() -> None:
    with FakeOpenAI() as server:
        address = server.base_url
    with pytest.raises(ToolError) as caught:
        OpenAI(address, KEY, "small", max_retries=0).generate("Where?")
    assert caught.value.kind == "connect"
    assert "127.0.0.1" in str(caught.value)
    assert KEY not in str(caught.value)


def test_a_stream_that_breaks_off_raises_after_what_has_come(server: FakeOpenAI) -> None:
    server.enqueue("truncated_stream")
    pieces: list[str] = []

    async def collect() -> None:
        async for piece in client(server).stream("Where?"):
            pieces.append(piece)

    with pytest.raises(ToolError) as caught:
        asyncio.run(collect())
    assert caught.value.kind == "closed"
    assert pieces
    assert "Paris it is.".startswith("".join(pieces))


def streamed(*deltas: dict[str, object], reason: str = "stop") -> Raw:
    """The events of a stream: a chunk for each delta, and one with the reason for stopping."""
    choices = [{"index": 0, "delta": delta} for delta in deltas]
    chunks = [*choices, {"index": 0, "delta": {}, "finish_reason": reason}]
    events = [f"data: {json.dumps({'choices': [choice]})}\n\n" for choice in chunks]
    return Raw("".join([*events, "data: [DONE]\n\n"]).encode(), "text/event-stream")


def test_a_streamed_refusal_is_the_text_of_the_answer(server: FakeOpenAI) -> None:
    server.enqueue(
        streamed(
            {"role": "assistant", "refusal": ""}, {"refusal": "I cannot "}, {"refusal": "help with that."}
        ),
        streamed({"content": "Paris"}, {"refusal": "I stop "}, {"refusal": "here."}),
    )

    async def collect() -> str:
        return "".join([piece async for piece in client(server).stream("Where?")])

    assert asyncio.run(collect()) == "I cannot help with that."
    assert asyncio.run(collect()) == "Paris\n\nI stop here."


def test_a_silent_server_ends_with_the_timeout(server: FakeOpenAI) -> None:
    server.enqueue("hang")
    with pytest.raises(ToolError) as caught:
        client(server, timeout=0.05).generate("Where?")
    assert caught.value.kind == "timeout"


def test_cancelling_reaches_the_request(server: FakeOpenAI) -> None:
    server.enqueue("hang")

    async def scene() -> None:
        asking = asyncio.create_task(client(server).generate_async("Where?"))
        while not server.requests:
            await asyncio.sleep(0)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking

    asyncio.run(scene())


def test_a_server_that_echoes_the_key_does_not_get_it_into_the_error(server: FakeOpenAI) -> None:
    server.enqueue("echo_key")
    with pytest.raises(ToolError) as caught:
        client(server, max_retries=0).generate("Where?")
    assert KEY not in str(caught.value)
    assert KEY not in repr(caught.value.result)


def test_the_key_is_in_no_repr() -> None:
    model = OpenAI(f"http://user:{KEY}@127.0.0.1:1/v1?key={KEY}", KEY, "small", headers={"X-Key": KEY})
    assert KEY not in repr(model)
    assert KEY not in str(vars(model))


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"base_url": "not a url"}, "base_url is not a URL"),
        ({"base_url": "ftp://h/v1"}, "http"),
        ({"timeout": -1.0}, "timeout"),
        ({"extra": [1]}, "extra"),
        ({"extra": {"x": object()}}, "extra"),
    ],
)
def test_a_configuration_that_cannot_work_is_refused_at_once(options: dict[str, object], says: str) -> None:
    given: dict[str, object] = {"base_url": "http://127.0.0.1:1/v1", "model": "m", **options}
    with pytest.raises((ValueError, TypeError), match=says):
        OpenAI(**given)  # type: ignore[arg-type]


def test_messages_that_are_none_are_refused(server: FakeOpenAI) -> None:
    with pytest.raises(ToolError) as caught:
        asyncio.run(client(server).chat([]))
    assert caught.value.kind == "invalid_arguments"
    assert not server.requests


def test_a_stream_that_is_left_early_is_closed(server: FakeOpenAI) -> None:
    server.enqueue("endless_stream")

    async def scene() -> None:
        stream = client(server).stream("Where?")
        async for _ in stream:
            break
        assert not server.disconnected.is_set()
        await stream.aclose()  # type: ignore[attr-defined]

    asyncio.run(scene())
    assert server.disconnected.wait(20), "the connection stays open"


@pytest.mark.skipif(
    "TOOLHUB_LLM_BASE_URL" not in os.environ, reason="runs in `make test-llm`, with a real model"
)
def test_a_real_model_answers_and_streams() -> None:
    model = OpenAI(
        os.environ.get("TOOLHUB_LLM_BASE_URL"), model="any", timeout=60.0, max_tokens=30, temperature=0.0
    )
    assert "Paris" in model.generate("What is the capital of France? Answer in one word.")

    async def collect() -> list[str]:
        return [piece async for piece in model.stream("Count from one to five.")]

    assert len(asyncio.run(collect())) > 1


def test_the_module_is_there_without_an_import_of_its_own_and_costs_nothing_before() -> None:
    code = (
        "import sys, toolhub\n"
        "assert 'toolhub.llm' not in sys.modules\n"
        "assert toolhub.llm.OpenAI is sys.modules['toolhub.llm'].OpenAI\n"
        "assert not hasattr(toolhub, 'nothing_like_it')\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
