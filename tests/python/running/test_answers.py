"""What a model gets of a result: budgets, images, and the tool that reads what was cut."""

import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from toolhub import ErrorKind, ToolError, ToolHub

pytestmark = pytest.mark.anyio

PNG = "iVBORw0KGgo" * 100
CONTENT = [
    {"type": "text", "text": "Before."},
    {"type": "image", "data": PNG, "mimeType": "image/png"},
    {"type": "text", "text": "After."},
    {"type": "audio", "data": "AAAA", "mimeType": "audio/wav"},
]
ESSAY = "A sentence about nothing. " * 800


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def with_essay(**options: Any) -> ToolHub:
    hub = ToolHub(**options)
    hub.register(lambda: ESSAY, name="get_essay", read_only=True)
    return hub


def asks(name: str, **arguments: Any) -> str:
    return f"<tool_call>{json.dumps({'name': name, 'arguments': arguments})}</tool_call>"


def message_text(outcome: Any) -> str:
    """The text that the model reads."""
    (message,) = outcome.messages
    (line,) = [line for line in message["content"].splitlines() if line.startswith("{")]
    block = json.loads(line)
    return block.get("result", block.get("error"))


async def test_a_run_gives_up_to_4000_characters() -> None:
    hub = with_essay()
    shown = message_text(await hub.run(asks("get_essay")))
    assert 3_000 < len(shown) <= 4_000
    assert len(message_text(await hub.run(asks("get_essay"), limit=1_000))) <= 1_000
    wide = with_essay(result_limit=30_000)
    assert message_text(await wide.run(asks("get_essay"))) == ESSAY


async def test_limits_by_kind_are_for_format_and_can_be_set() -> None:
    hub = ToolHub(limits={"result_limits": {"search": 800}})
    hits = [{"title": f"Hit {n}", "snippet": "word " * 60, "url": f"u:{n}"} for n in range(9)]
    hub.register(lambda: hits, name="search_web", capabilities=["search"], read_only=True)
    result = hub.call("search_web")
    assert 600 < len(hub.format(result)) <= 800
    assert len(message_text(await hub.run(asks("search_web")))) > 2_000


def test_invalid_limits_raise() -> None:
    with pytest.raises(ValueError, match="result_limit must be at least 1000, got 999"):
        ToolHub(result_limit=999)
    for limit in (999, 10, 0, -1):
        with pytest.raises(ValueError, match=f"limit must be at least 1000, got {limit}"):
            ToolHub().run_sync("", limit=limit)
    with pytest.raises(ValueError, match=r"result_limits has no kind 'serach'; did you mean 'search'\?"):
        ToolHub(limits={"result_limits": {"serach": 5}})
    with pytest.raises(ValueError, match=r"result_limits\['search'\] must be at least 0, got -1"):
        ToolHub(limits={"result_limits": {"search": -1}})


def names(tools: list[dict[str, Any]]) -> list[str]:
    return [tool.get("name") or tool["function"]["name"] for tool in tools]


async def test_read_more_is_a_tool_as_soon_as_something_was_cut() -> None:
    hub = with_essay()
    assert "read_more" not in hub
    shown = message_text(await hub.run(asks("get_essay")))
    handle = re.search(r"read_more\('(r_[0-9a-f]{16,})', \d+\)", shown)
    assert handle is not None
    for vendor in (hub.as_openai, hub.as_anthropic, hub.as_gemini):
        assert "read_more" in names(vendor())
        assert "read_more" in names(vendor(query="essay", limit=1))
        assert "read_more" in names(vendor(tools=["get_essay"]))
    for prompt in (
        hub.system_prompt(),
        hub.system_prompt(query="essay", limit=1),
        hub.system_prompt(tools=[]),
    ):
        assert "read_more" in prompt


async def test_a_model_reads_on_without_approval_whatever_is_allowed() -> None:
    hub = with_essay()
    asked: list[Any] = []
    shown = message_text(await hub.run(asks("get_essay")))
    handle = re.search(r"r_[0-9a-f]+", shown)[0]  # type: ignore[index]
    read, offset = "", 0
    while True:
        call = asks("read_more", handle=handle, offset=offset, limit=7_000)
        outcome = await hub.run(call, allowed=["get_essay"], approve=asked.append)
        page = message_text(outcome)
        body, _, note = page.partition("\n[more: ")
        read += body
        if not note:
            break
        offset = int(re.search(r", (\d+)\)", note)[1])  # type: ignore[index]
    assert read == ESSAY
    assert asked == []


async def test_a_limit_that_is_too_small_raises_before_anything_runs() -> None:
    hub = ToolHub()
    ran: list[str] = []
    hub.register(lambda: ran.append("x"), name="get_x")
    with pytest.raises(ValueError, match="limit must be at least 1000, got 10"):
        await hub.run(asks("get_x"), limit=10)
    assert ran == []


async def test_the_first_note_says_where_to_read_on() -> None:
    hub = with_essay()
    shown = message_text(await hub.run(asks("get_essay")))
    body, _, note = shown.rpartition("\n[more: read_more(")
    handle, offset = re.match(r"'(r_[0-9a-f]+)', (\d+)\), ", note).groups()  # type: ignore[union-attr]
    at = int(offset)
    assert at > 3_000
    # What was shown, and the page from there on, are the whole without a gap.
    assert body.startswith(ESSAY[:at])
    page = hub.call("read_more", {"handle": handle, "offset": at, "limit": 100}).result
    assert page.startswith(ESSAY[at : at + 100])


async def test_reading_on_in_cut_json_begins_behind_what_was_shown() -> None:
    hub = ToolHub(result_limit=1_000)
    hub.register(
        lambda: {"items": [{"number": number, "text": "x" * 50} for number in range(300)]}, name="list_items"
    )
    (result,) = (await hub.run(asks("list_items"))).results
    shown = hub.format(result, limit=1_000)
    last = [int(number) for number in re.findall(r'"number":(\d+)', shown)][-1]
    offset = int(re.search(r"', (\d+)\), ", shown)[1])  # type: ignore[index]
    page = hub.read_more(result.meta["handle"], offset)
    assert next(int(number) for number in re.findall(r'"number": (\d+)', page)) in (last, last + 1)


@pytest.mark.parametrize(
    ("lang", "words"), [("en", "[end: the text has only 26,000"), ("zh", "[结束：全文共 26,000")]
)
async def test_an_offset_at_or_past_the_end_says_where_the_text_ends(lang: str, words: str) -> None:
    hub = ToolHub(lang=lang)
    hub.register(lambda: "A sentence about nothing. " * 1_000, name="get_essay", read_only=True)
    await hub.run(asks("get_essay"))
    result = hub.call("get_essay")
    hub.format(result)
    for offset in (26_000, 99_999):
        page = hub.call("read_more", {"handle": result.meta["handle"], "offset": offset})
        assert page.result.startswith(words), page.result
    # A program reads on until there is nothing left.
    assert hub.read_more(result.meta["handle"], 26_000) == ""


async def test_a_page_is_not_cut_again_in_any_way_of_calling() -> None:
    hub = with_essay()
    handle = re.search(r"r_[0-9a-f]+", hub.format(hub.call("get_essay")))[0]  # type: ignore[index]
    for result in (
        hub.call("read_more", {"handle": handle, "limit": 20_000}),
        await hub.execute("read_more", {"handle": handle, "limit": "20000"}),
        await hub.dispatch({"tool_name": "read_more", "arguments": {"handle": handle, "limit": 20_000}}),
    ):
        assert hub.format(result).startswith(ESSAY[:20_000])
        assert not result.meta["truncated"]
    outcome = await hub.run(asks("read_more", handle=handle, limit=3_000), limit=1_000)
    assert ESSAY[:3_000] in message_text(outcome)
    assert not outcome.results[0].meta["truncated"]
    assert hub.read_more(handle, 0, 10**9) == ESSAY


async def test_a_handle_that_has_expired_gets_a_clear_sentence() -> None:
    hub = with_essay()
    await hub.run(asks("get_essay"))
    outcome = await hub.run(asks("read_more", handle="r_0123456789abcdef"))
    sentence = "There is no stored result 'r_0123456789abcdef'; newer results may have replaced it. Call the tool again."
    assert message_text(outcome) == sentence
    assert outcome.results[0].kind is ErrorKind.NOT_FOUND
    with pytest.raises(ToolError, match=re.escape(sentence)):
        hub.read_more("r_0123456789abcdef")


async def test_a_tool_of_the_user_keeps_its_name() -> None:
    hub = with_essay()
    hub.register(lambda: "mine", name="read_more")
    shown = message_text(await hub.run(asks("get_essay")))
    assert "read_more_of_result('r_" in shown
    assert hub.call("read_more").result == "mine"
    assert {"read_more", "read_more_of_result"} <= set(names(hub.as_openai()))


async def test_in_chinese() -> None:
    hub = with_essay(lang="zh")
    shown = message_text(await hub.run(asks("get_essay")))
    assert re.search(r"\[更多内容：read_more\('r_[0-9a-f]+', \d+\)，共 20,800 个字符\]$", shown)
    assert "继续读取" in hub.get("read_more").description
    assert message_text(await hub.run(asks("read_more", handle="r_0"))).startswith("没有保留结果")
    hub.register(lambda: None, name="get_nothing")
    assert message_text(await hub.run(asks("get_nothing"))) == "已完成，工具没有返回值。"


def pictured() -> ToolHub:
    hub = ToolHub()
    hub.register(lambda: CONTENT, name="get_picture", read_only=True)
    return hub


async def test_texts_and_notes_for_apis_without_images() -> None:
    notes = "Before.\n\n[image/png, 825 B]\n\nAfter.\n\n[audio/wav, 3 B]"
    assert message_text(await pictured().run(asks("get_picture"))) == notes
    outcome = await pictured().run(asks("get_picture"), results="openai")
    assert outcome.messages[0]["content"] == notes


async def test_images_are_blocks_of_the_apis_that_take_them() -> None:
    """The shapes of the vendors' documentation; text before and after an image is there."""
    texts = "Before.\n\nAfter.\n\n[audio/wav, 3 B]"

    async def written(results: Any) -> Any:
        return (await pictured().run(asks("get_picture"), results=results)).messages[0]

    (block,) = (await written("anthropic"))["content"]
    assert block["content"] == [
        {"type": "text", "text": texts},
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}},
    ]
    assert (await written("openai_responses"))["output"] == [
        {"type": "input_text", "text": texts},
        {"type": "input_image", "image_url": f"data:image/png;base64,{PNG}", "detail": "auto"},
    ]
    (part,) = (await written("gemini"))["parts"]
    assert part["functionResponse"]["response"] == {"result": texts}
    assert part["functionResponse"]["parts"] == [{"inlineData": {"mimeType": "image/png", "data": PNG}}]


@pytest.mark.parametrize(
    "data", [f"data:image/png;base64,{PNG}", PNG[:76] + "\n" + PNG[76:], PNG.rstrip("=")]
)
async def test_an_image_reaches_the_api_as_plain_base64(data: str) -> None:
    hub = ToolHub()
    block = {"type": "image", "data": data, "mimeType": "image/png"}
    hub.register(lambda: [block], name="get_picture", read_only=True)
    (answer,) = (await hub.run(asks("get_picture"), results="anthropic")).messages[0]["content"]
    assert answer["content"][0]["source"]["data"] == PNG


async def test_data_that_is_not_base64_is_a_note() -> None:
    hub = ToolHub()
    block = {"type": "image", "data": "https://example.org/a.png", "mimeType": "image/png"}
    hub.register(lambda: [block], name="get_picture", read_only=True)
    for results in ("anthropic", "openai_responses", "gemini"):
        answer = json.dumps((await hub.run(asks("get_picture"), results=results)).messages)  # type: ignore[arg-type]
        assert "[image/png, " in answer
        assert "example.org" not in answer


async def test_an_image_alone_needs_no_text() -> None:
    hub = ToolHub()
    hub.register(lambda: CONTENT[1:2], name="get_picture", read_only=True)
    outcome = await hub.run(asks("get_picture"), results="anthropic")
    (block,) = outcome.messages[0]["content"]
    assert [one["type"] for one in block["content"]] == ["image"]


async def test_values_between_tags_get_their_types_and_apis_their_names_in_one_go() -> None:
    hub = ToolHub()

    @hub.tool(read_only=True)
    def get_sum(a: int, b: str) -> str:
        return f"{a + 1}{b}"

    text = "<function=get_sum><parameter=a>41</parameter><parameter=b>007</parameter></function>"
    outcome = await hub.run(f"<tool_call>\n{text}\n</tool_call>", format="qwen3_coder")
    assert outcome.calls[0].arguments == {"a": 41, "b": "007"}
    assert outcome.results[0].result == "42007"


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (
            None,
            "run() takes a text or a message of a chat API, got None; a message without text may have its calls ",
        ),
        (5, "run() takes a text or a message of a chat API, got int"),
    ],
)
async def test_run_says_what_it_takes(given: Any, words: str) -> None:
    with pytest.raises(TypeError, match=re.escape(words)):
        await ToolHub().run(given)


def test_format_says_what_it_takes() -> None:
    with pytest.raises(
        TypeError,
        match=re.escape(
            "format() takes the result of a call, got str; to cut a text, use toolhub.truncate()"
        ),
    ):
        ToolHub().format("text")  # type: ignore[arg-type]
    assert ToolHub().format({"success": True, "result": 5}) == "5"  # type: ignore[arg-type]


def test_a_stored_text_outlives_the_process(tmp_path: Path) -> None:
    store = tmp_path / "hub.db"
    with with_essay(store=store) as hub:
        handle = re.search(r"r_[0-9a-f]+", hub.format(hub.call("get_essay")))[0]  # type: ignore[index]
    with ToolHub(store=store) as hub:
        assert hub.read_more(handle, 0, 26) == ESSAY[:26]


def test_crossings_of_a_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """One to plan, one for each call, one to write the answers."""
    from toolhub import _core

    crossed: list[str] = []
    for name in (
        "plan_run",
        "dispatch",
        "write_answers",
        "parse_text",
        "format_result",
        "get",
        "read_request",
    ):
        original = getattr(_core, name, None)
        if original is not None:

            def counted(*args: Any, name: str = name, original: Any = original) -> Any:
                crossed.append(name)
                return original(*args)

            monkeypatch.setattr(_core, name, counted)
    assert with_essay().run_sync(asks("get_essay")).results[0].success
    assert crossed == ["plan_run", "dispatch", "write_answers"]
    assert sys.modules["toolhub._core"] is _core
