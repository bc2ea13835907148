"""Cutting and merging through the public API; the rules themselves are tested in Rust."""

import json
import re
import tracemalloc
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import toolhub
from toolhub import ToolHub, ToolResult

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"])), st.integers(0, 120))
def test_a_text_is_within_its_limit_and_cutting_it_again_changes_nothing(text: str, limit: int) -> None:
    cut = toolhub.truncate(text, limit)
    assert len(cut.text) <= limit
    assert toolhub.truncate(cut.text, limit).text == cut.text
    assert cut.total == len(text)
    assert (cut.text == text) == (not cut.truncated)


@given(st.dictionaries(st.text(), JSON), st.integers(0, 200))
def test_json_stays_json(value: dict[str, Any], limit: int) -> None:
    cut = toolhub.truncate(value, limit)
    assert len(cut.text) <= limit
    if limit >= 2:
        json.loads(cut.text)


@given(st.text(), st.integers(2, 200), st.booleans())
def test_json_that_is_one_string_stays_json(value: str, limit: int, ascii: bool) -> None:
    assert isinstance(json.loads(toolhub.truncate(json.dumps(value, ensure_ascii=ascii), limit).text), str)


@pytest.mark.parametrize("limit", range(100, 1500, 50))
def test_cut_json_keeps_what_tells_something_before_identifiers(limit: int) -> None:
    pages = [
        {
            "id": f"{n:036}",
            "etag": "x" * 40,
            "empty": "",
            "name": f"Page {n}",
            "html_url": f"https://x.org/{n}",
        }
        for n in range(30)
    ]
    shown = json.loads(toolhub.truncate(pages, limit).text)
    hits = [one for one in shown if isinstance(one, dict)]
    assert hits
    for n, hit in enumerate(hits):
        assert hit["name"] == f"Page {n}"
        if {"id", "etag", "empty"} & hit.keys():
            assert hit["html_url"] == f"https://x.org/{n}"
        assert hit.get("…", "more")


def test_a_long_string_as_json_says_how_much_is_gone() -> None:
    text = toolhub.truncate(json.dumps("a" * 500), 100).text
    assert re.fullmatch(r"a+… \(\+\d+ more\)", json.loads(text))


@given(st.text(alphabet=st.characters(), max_size=400), st.integers(0, 100))
def test_half_characters_are_replaced_not_refused(text: str, limit: int) -> None:
    cut = toolhub.truncate(text, limit)
    assert len(cut.text) <= limit
    cut.text.encode()  # valid Unicode


@pytest.mark.parametrize("run", [1, 15, 16, 40])
def test_every_character_crosses_as_it_is(run: int) -> None:
    # Python keeps text in one, two or four bytes a character; each width is read in its own way, the middle one in blocks.
    for first in range(1, 0x11000, 0x100):
        characters = (chr(code) * run for code in range(first, first + 0x100))
        text = "".join(characters)
        expected = "".join("\ufffd" if "\ud800" <= char <= "\udfff" else char for char in text)
        assert toolhub.truncate(text, len(text)).text == expected


@given(st.text(alphabet=st.sampled_from("aé中。\ud83d\U0001f600"), max_size=100))
def test_mixed_scripts_cross_as_they_are(text: str) -> None:
    assert toolhub.truncate(text, len(text)).text == text.replace("\ud83d", "\ufffd")


def test_a_sentence_is_kept_whole_when_its_end_is_near() -> None:
    text = "The first sentence is here. The second one costs 3.14 dollars, see e.g. example.com. " * 20
    cut = toolhub.truncate(text, 200)
    kept, _, notice = cut.text.partition("…")
    assert kept.rstrip().endswith(("here.", "example.com."))
    assert "of 1,700 characters cut" in notice


def test_the_notice_speaks_the_language_of_the_text() -> None:
    assert "已截去" in toolhub.truncate("今天天气很好。我们去公园散步。" * 50, 100).text


def test_what_is_left_out_of_a_huge_text_is_never_copied() -> None:
    text = "é wörd " * 2_000_000
    tracemalloc.start()
    cut = toolhub.truncate(text, 4_000)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert cut.total == len(text)
    assert peak < 1_000_000


def test_ten_thousand_levels_are_cut_and_still_parse() -> None:
    deep = '{"a":' * 10_000 + "1" + "}" * 10_000
    cut = toolhub.truncate(deep, 500)
    assert len(cut.text) <= 500
    json.loads(cut.text)


@pytest.mark.parametrize(("limit", "text"), [(0, ""), (1, "s")])
def test_tiny_limits(limit: int, text: str) -> None:
    assert toolhub.truncate("some words", limit).text == text


def test_a_negative_limit_is_refused() -> None:
    with pytest.raises(ValueError, match="limit must be at least 0, got -1"):
        toolhub.truncate("x", -1)
    with pytest.raises(ValueError, match="limit must be at least 0"):
        toolhub.merge(["a", "b"], limit=-1)


def test_an_unknown_unit_is_refused() -> None:
    with pytest.raises(ValueError, match="unit must be 'chars' or 'tokens'"):
        toolhub.truncate("x", 1, unit="words")  # type: ignore[arg-type]


class Frame:
    """Prints itself like a table."""

    def __str__(self) -> str:
        return "a  b\n1  2"


@pytest.mark.parametrize(("value", "shown"), [(b"caf\xc3\xa9", "café"), (Frame(), "a  b\n1  2"), (42, "42")])
def test_values_that_are_no_text_are_shown_readably(value: Any, shown: str) -> None:
    assert toolhub.truncate(value, 100).text == shown


def test_tokens_are_estimated_and_say_so() -> None:
    cut = toolhub.truncate("word " * 1000, 50, unit="tokens")
    assert cut.estimated
    assert cut.truncated
    assert cut.cut > 0


def _byte_ranks(path: Path) -> Path:
    """The smallest tiktoken file: every byte is a token."""
    import base64

    path.write_text("\n".join(f"{base64.b64encode(bytes([b])).decode()} {b}" for b in range(256)))
    return path


def rows(seed: int) -> dict[str, Any]:
    """Lists whose parts have different numbers of characters in a token."""
    random = Random(seed)

    def digits(count: int) -> str:
        return f"{random.getrandbits(4 * count):0{count}x}"

    return {
        "hashes": [{"id": digits(32), "sha": digits(64)} for _ in range(50)],
        "numbers": [[random.random() for _ in range(8)] for _ in range(60)],
        "keys": {digits(40): {digits(30): "x" * random.randrange(100)} for _ in range(40)},
        "signs": [{"t": "😀🎉" * random.randrange(1, 40), "u": f"/{digits(30)}"} for _ in range(40)],
        "chinese": [
            {"name": "word " * random.randrange(1, 9), "text": "天气很好。" * random.randrange(1, 60)}
            for _ in range(40)
        ],
    }


@pytest.mark.parametrize("kind", ["hashes", "numbers", "keys", "signs", "chinese"])
@pytest.mark.parametrize("indent", [None, 4])
def test_json_that_is_cut_to_tokens_uses_its_room(kind: str, indent: int | None) -> None:
    for seed in range(4):
        text = json.dumps(rows(seed)[kind], ensure_ascii=False, indent=indent)
        for limit in range(60, 600, 13):
            cut = toolhub.truncate(text, limit, unit="tokens")
            assert json.loads(cut.text), (seed, limit)
            kept = cut.total - cut.cut
            assert limit / 2 <= kept <= limit, (seed, limit, cut.text)


def test_tokens_are_counted_with_a_file_of_the_user(tmp_path: Path) -> None:
    path = _byte_ranks(tmp_path / "bytes.tiktoken")
    cut = toolhub.truncate("abc" * 100, 100, unit="tokens", tokenizer=path)
    assert not cut.estimated
    assert cut.total == 300
    assert len(cut.text.encode()) <= 100


def test_a_file_that_is_no_tokenizer_is_named_clearly(tmp_path: Path) -> None:
    path = tmp_path / "x.tiktoken"
    path.write_text("not base64 at all")
    with pytest.raises(ValueError, match="tiktoken file"):
        toolhub.truncate("x", 1, unit="tokens", tokenizer=path)


# ---------------------------------------------------------------- merging


def _result(source: str, value: Any) -> ToolResult:
    return ToolResult(success=True, result=value, error=None, _meta={"source": source, "server": None})


def test_merge_keeps_the_labels_and_says_which_answers_agree() -> None:
    merged = toolhub.merge([_result("tools", "Yes."), _result("mcps", "yes"), _result("skills", "No.")])
    assert merged.result == "[tools, mcps] (same answer from 2) Yes.\n\n[skills] No."
    assert merged.meta["source_count"] == 3
    assert [part["result"] for part in merged.full()] == ["Yes.", "yes", "No."]


def test_one_success_is_returned_as_it_is_and_without_any_the_first_error() -> None:
    bad = ToolResult(success=False, result=None, error="no disk", _meta={"source": "tools"})
    good = _result("mcps", {"a": 1})
    assert toolhub.merge([bad, good]) is good
    failed = toolhub.merge([bad, ToolResult(success=False, result=None, error="no net", _meta={})])
    assert failed.error == "no disk"
    assert [row["error"] for row in failed.meta["errors"]] == ["no disk", "no net"]
    assert toolhub.merge([]).kind == "invalid_arguments"


PAGE_ONE = {
    *("tool", "source", "server", "strategy", "synthesized", "synthesis_method", "source_count", "sources"),
    *("attempts", "duration_ms", "truncated", "cached"),
}


def test_what_is_merged_has_all_keys_of_a_result(hub: ToolHub) -> None:
    hub.register(lambda: "long " * 200, name="a")
    hub.register(lambda: "short", name="b")
    a, b = hub.call("a"), hub.call("b")
    merged = toolhub.merge([a, b])
    assert merged.meta.keys() >= PAGE_ONE
    assert (merged.meta["tool"], merged.meta["source"], merged.meta["strategy"]) == ("a", "tools", "all")
    assert [attempt["tool"] for attempt in merged.meta["attempts"]] == ["a", "b"]
    assert merged.meta["duration_ms"] == a.meta["duration_ms"] + b.meta["duration_ms"]
    assert (merged.meta["truncated"], merged.meta["cached"]) == (True, False)
    assert toolhub.merge([b, b]).meta["truncated"] is False
    assert toolhub.merge(["plain", "values"]).meta.keys() >= PAGE_ONE
    assert toolhub.merge(["alone"]).meta.keys() >= PAGE_ONE


def test_failures_that_are_merged_are_a_failure_with_all_its_keys(hub: ToolHub) -> None:
    failed = toolhub.merge([{"success": False, "error": "no disk"}, {"success": False, "error": "no net"}])
    assert failed.keys() == {"success", "result", "error", "_meta"}
    assert failed.kind is toolhub.ErrorKind.TOOL_ERROR
    assert failed.meta.keys() >= PAGE_ONE
    assert failed.meta["error"]["outcome"] == "failed"
    hub.register(lambda: 1 / 0, name="broken")
    failed = toolhub.merge([hub.call("nobody"), hub.call("broken")])
    assert failed.kind is toolhub.ErrorKind.NOT_FOUND
    assert failed.meta["tool"] == "nobody"
    with pytest.raises(toolhub.ToolError) as caught:
        toolhub.merge([hub.call("broken"), hub.call("nobody")]).unwrap()
    assert isinstance(caught.value.__cause__, ZeroDivisionError)


@pytest.mark.parametrize(("length", "cut"), [(900, True), (200, False)])
def test_a_merge_says_whether_it_cut_something(hub: ToolHub, length: int, cut: bool) -> None:
    hub.register(lambda: "a" * length, name="search_x", read_only=True)
    hub.register(lambda: "b" * length, name="search_x", source="skills", read_only=True)
    result = hub.call("search_x", strategy="all")
    assert result.meta["source_count"] == 2
    assert result.meta["truncated"] is cut
    assert [len(part["result"]) for part in result.full()] == [length, length]
    answered = hub.call("search_x", strategy="all", llm=lambda prompt: "one answer")
    assert answered.result == "one answer"
    assert answered.meta["truncated"] is False


def test_each_part_is_cut_to_the_limit() -> None:
    merged = toolhub.merge(["a " * 500, "b"], limit=40).result
    assert len(merged.split("\n\n")[0].removeprefix("[result 1] ")) <= 40


# ---------------------------------------------------------------- prompts and pages


@pytest.fixture
def hub() -> ToolHub:
    return ToolHub()


@pytest.mark.parametrize(
    ("name", "limit"),
    [("calculate", 100), ("get_time", 200), ("search_web", 500), ("chat_history", 1000), ("x", 500)],
)
def test_a_prompt_gets_as_much_as_the_kind_of_tool_allows(hub: ToolHub, name: str, limit: int) -> None:
    hub.register(lambda: "word " * 2000, name=name, read_only=True)
    shown = hub.format(hub.call(name))
    assert limit / 2 < len(shown) <= limit


def test_of_a_search_the_first_three_hits_are_shown_as_lines(hub: ToolHub) -> None:
    hits = [{"title": f"T{n}", "snippet": f"about\n{n}", "url": f"http://h/{n}"} for n in range(9)]
    hub.register(lambda: hits, name="search_web")
    result = hub.call("search_web")
    lines = hub.format(result).splitlines()
    assert lines[:3] == [f"{n + 1}. T{n} – about {n} – http://h/{n}" for n in range(3)]
    # The lines are not a part of the full text, which is read from its start.
    assert lines[3].startswith(f"[more: read_more('{result.meta['handle']}', 0), ")
    assert result.meta["truncated"] is True


@pytest.mark.parametrize("name", ["body", "page_content", "passage"])
def test_the_text_of_a_hit_is_shown_whatever_its_name(hub: ToolHub, name: str) -> None:
    hits = [{"title": f"Title {i}", "href": f"https://x/{i}", name: f"text of hit {i}"} for i in range(3)]
    hub.register(lambda: hits, name="search_it")
    assert hub.format(hub.call("search_it")).splitlines()[0] == "1. Title 0 – text of hit 0 – https://x/0"


def test_a_list_that_is_no_list_of_hits_is_shown_as_data(hub: ToolHub) -> None:
    hub.register(lambda: [1, 2, 3], name="search_numbers")
    assert hub.format(hub.call("search_numbers")) == "[1, 2, 3]"


def test_what_is_shown_says_how_much_of_the_whole_is_missing(hub: ToolHub) -> None:
    hub.register(lambda: "word " * 5000, name="words")
    shown = hub.format(hub.call("words"))
    found = re.search(r"\[([\d,]+) of 25,000 characters cut\]", shown)
    assert found is not None, shown
    text = shown[: found.start()].removesuffix("… ")
    assert len(text) == 25_000 - int(found[1].replace(",", ""))
    hub.register(lambda: list(range(5000)), name="numbers")
    numbers = json.loads(hub.format(hub.call("numbers")).splitlines()[0])
    whole = json.dumps(list(range(5000)))
    assert re.fullmatch(rf"… \[[\d,]+ of {len(whole):,} characters cut\]", numbers[-1])


HIDDEN = "b\x1b[31mred\x1b[0m \u200b\u202e\U000e0041."


def test_what_steers_terminals_or_hides_orders_does_not_reach_a_prompt(hub: ToolHub) -> None:
    hub.register(lambda: HIDDEN, name="text")
    hub.register(lambda: {"said": HIDDEN}, name="data")
    hub.register(lambda: [{"title": HIDDEN, "url": "u"}], name="search_web")
    hub.register(lambda: 1 / 0, name="broken")
    hub.register(lambda: (_ for _ in ()).throw(ValueError(HIDDEN)), name="rude")
    assert hub.format(hub.call("text")) == "bred ."
    assert hub.call("text").result == HIDDEN, "a program gets what the tool gave"
    assert hub.format(hub.call("search_web")) == "1. bred . – u"
    for name in ("data", "rude"):
        assert not set("\x1b\u200b\u202e\U000e0041") & set(hub.format(hub.call(name)))
    assert toolhub.format_results(hub.call("text"), "openai")[0]["content"] == "bred ."


def test_pages_of_what_is_cleaned_fit_together(hub: ToolHub) -> None:
    hub.register(lambda: HIDDEN * 1000, name="t")
    result = hub.call("t")
    hub.format(result)
    pages = [hub.read_more(result.meta["handle"], offset, 100) for offset in range(0, 7000, 100)]
    assert "".join(pages) == "bred ." * 1000


def test_a_result_that_fits_is_shown_whole_and_a_failure_as_its_sentence(hub: ToolHub) -> None:
    hub.register(lambda: "short", name="t")
    result = hub.call("t")
    assert hub.format(result) == "short"
    assert "handle" not in result.meta
    assert hub.format(hub.call("nobody")).startswith("Error: There is no tool named 'nobody'.")


def test_pages_give_the_whole_back(hub: ToolHub) -> None:
    text = "".join(f"line {n}\n" for n in range(2000))
    hub.register(lambda: text, name="t")
    result = hub.call("t")
    hub.format(result)
    pages: list[str] = []
    while page := hub.read_more(result.meta["handle"], offset=sum(map(len, pages)), limit=1000):
        pages.append(page)
    assert "".join(pages) == text == result.full()
    assert len(hub.read_more(result.meta["handle"])) == 4000


def test_a_handle_that_is_gone_is_not_found(hub: ToolHub) -> None:
    with pytest.raises(toolhub.ToolError, match="no stored result") as caught:
        hub.read_more("r_gone")
    assert caught.value.kind == "not_found"
    with pytest.raises(ValueError, match="offset must be at least 0, got -1"):
        hub.read_more("r_gone", offset=-1)


def test_the_memory_for_kept_results_is_bounded(hub: ToolHub) -> None:
    hub.register(lambda n: f"{n} " * 5_000, name="t")
    handles: list[str] = []
    for n in range(300):
        result = hub.call("t", {"n": n})
        hub.format(result)
        handles.append(result.meta["handle"])
    assert hub.read_more(handles[-1], limit=4) == "299 "
    with pytest.raises(toolhub.ToolError):
        hub.read_more(handles[0])


def test_handles_of_processes_that_share_a_store_do_not_collide(hub: ToolHub) -> None:
    hub.register(lambda: "x" * 5_000, name="t")
    result = hub.call("t")
    hub.format(result)
    prefix, _, digits = result.meta["handle"].partition("_")
    assert prefix == "r"
    assert len(bytes.fromhex(digits)) >= 8  # 32 bits collide after some 50,000 results


def test_the_text_of_a_text_is_the_same_object() -> None:
    for text in ("plain", "é" * 20_000, "词" * 20_000, "😀" * 20_000):
        assert ToolResult(success=True, result=text).text is text
    assert ToolResult(success=True, result="half \ud83d").text == "half \ufffd"


@pytest.mark.parametrize("letter", ["a", "é", "词", "😀"])
def test_long_texts_are_the_same_if_all_their_letters_are(letter: str) -> None:
    text = letter * 20_000
    same, other = text[:-1] + letter, text[:-1] + chr(ord(letter) + 1)
    merged = toolhub.merge([text, same, other])
    assert merged.result.count("[result") == 2
    assert "[result 1, result 2] (same answer from 2)" in merged.result


def test_long_texts_whose_bytes_in_memory_are_equal_are_not_the_same() -> None:
    wide = "词语" * 10_000
    narrow = wide.encode("utf-16-le").decode("latin-1")
    assert "same answer" not in toolhub.merge([wide, narrow]).result
