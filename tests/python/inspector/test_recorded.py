"""The page of recorded runs, in a real browser."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from support.browser import Page
from toolhub import ToolHub, inspector, testing

Visit = Callable[..., Page]

ROWS = "[...document.querySelectorAll('.part:not([hidden]) .row')]"

HOSTILE = [
    "</script><script>window.hacked = 1</script>",
    "<!--<script>",
    "]]><img src=x onerror='window.hacked = 1'>",
    "<img src=x onerror=window.hacked=1>",
    "<svg onload=window.hacked=1>",
    "javascript:window.hacked=1",
    "\"><iframe srcdoc='<script>parent.hacked=1</script>'>",
    "'-window.hacked++-'",
    "${window.hacked=1}",
    "{{constructor.constructor('window.hacked=1')()}}",
    "\\u003cscript>window.hacked=1</script>",
    "&lt;script&gt;",
    "line one\nline\u2028two\u2029three\x00\x1b[31m",
    "\u202eright to left\u2066",
    "__proto__",
    "constructor",
    "<base href=//example.org>",
    "<meta http-equiv=refresh content=0;url=//example.org>",
    "a" * 5000,
]


def span(tool: str = "find", at: float = 0.0, ms: float = 1.0, **fields: Any) -> dict[str, Any]:
    """A line of a cassette."""
    line = {"v": 1, "type": "call", "tool": tool, "candidate": "tools", "arguments": {}, "at": at, "ms": ms}
    line |= {"time": "2026-11-16T09:30:00.000Z", "principal": "", "view": "", "outcome": "ok"}
    return {**line, "result": {"value": 1}, **fields}


def write(path: Path, lines: list[dict[str, Any]]) -> Path:
    """A file of events."""
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines), "utf-8")
    return path


def calls_of(path: Path) -> list[dict[str, Any]]:
    """The calls that were recorded."""
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    return [line for line in lines if line["type"] == "call"]


def page_of(path: Path, *lines: dict[str, Any]) -> Path:
    """The page of a run with these lines."""
    return inspector.write(write(path, list(lines)))


def rows(page: Page) -> list[list[str]]:
    """The cells of the rows that are in the page."""
    return page.run(f"{ROWS}.map(row => [...row.children].map(cell => cell.textContent))")


def scroll(page: Page, to: float) -> None:
    """Scroll the table, and wait for its rows."""
    table = "document.querySelector('.part:not([hidden]) .table')"
    page.run(f"{table}.scrollTop = {to}; {table}.dispatchEvent(new Event('scroll')); 0")


def racing_hub() -> ToolHub:
    """Two candidates: one wins, the other is cancelled."""
    hub = ToolHub()

    async def quick(q: str) -> str:
        return f"quick {q}"

    async def endless(q: str) -> str:
        await asyncio.Event().wait()
        return q

    hub.register(endless, name="find", source="tools", read_only=True)
    hub.register(quick, name="find", source="mcps", server="quick", read_only=True)
    return hub


def test_answers_that_counted_and_one_that_came_late(tmp_path: Path, visit: Visit) -> None:
    lines = [
        span(ms=5, candidate="slow", call=1),
        span(ms=2, candidate="fast", call=1),
        span(ms=9, candidate="last", call=1, late=True),
        span(ms=1, candidate="alone", call=2),
    ]
    page = visit(page_of(tmp_path / "run.ndjson", *lines))
    seen = {cells[3]: cells[4] for cells in rows(page)}
    assert seen == {"slow": "counted", "fast": "won", "last": "late", "alone": "ok"}


def test_a_race_shows_who_won_and_was_cancelled(
    tmp_path: Path, visit: Visit, run: Callable[[Coroutine[Any, Any, Any]], Any]
) -> None:
    async def race() -> None:
        async with racing_hub() as hub:
            result = await hub.execute("find", {"q": "x"}, strategy="first")
            assert result.result == "quick x"

    with testing.record(tmp_path / "run.ndjson"):
        run(race())
    lines = calls_of(tmp_path / "run.ndjson")
    assert len({line["call"] for line in lines}) == 1
    done = subprocess.run(
        [sys.executable, "-m", "toolhub", "inspect", str(tmp_path / "run.ndjson")],
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stdout.strip()) == (0, str(tmp_path / "run.html"))
    page = visit(tmp_path / "run.html")
    seen = {cells[3]: (cells[4], cells[5]) for cells in rows(page) if cells[2] == "find"}
    assert seen == {"mcps:quick": ("won", "ok"), "tools": ("cancelled", "stopped")}
    page.run("[...document.querySelectorAll('.row')].find(row => row.textContent.includes('won')).click()")
    details = page.text("#details")
    assert "Other candidates of this call" in details
    assert '"q": "x"' in details
    assert "quick x" in details
    page.run("document.querySelector('#details button').click()")
    assert "stopped" in page.text("#details")


def test_an_answer_that_comes_late_is_recorded_as_late(
    tmp_path: Path, run: Callable[[Coroutine[Any, Any, Any]], Any]
) -> None:
    async def stubborn(q: str) -> str:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            return "too late"  # it was stopped, and answers all the same
        return q

    async def quick(q: str) -> str:
        return f"quick {q}"

    def hub() -> ToolHub:
        hub = ToolHub()
        hub.register(stubborn, name="find", source="tools", read_only=True)
        hub.register(quick, name="find", source="mcps", server="quick", read_only=True)
        return hub

    async def race() -> None:
        async with hub() as own:
            result = await own.execute("find", {"q": "x"}, strategy="first")
            assert result.result == "quick x"

    with testing.record(tmp_path / "run.ndjson"):
        run(race())
    by_source = {line["candidate"]: line for line in calls_of(tmp_path / "run.ndjson")}
    late = by_source["tools"]
    assert (late["outcome"], late["late"], late["result"]["value"]) == ("ok", True, "too late")
    assert "late" not in by_source["mcps:quick"]
    # A replay gives the answer that won, not the one that came late.
    with testing.replay(tmp_path / "run.ndjson"):
        run(race())


def test_a_candidate_that_failed_ends_before_the_next_begins(
    tmp_path: Path, run: Callable[[Coroutine[Any, Any, Any]], Any]
) -> None:
    async def fall_back() -> None:
        async with ToolHub() as hub:

            async def broken(q: str) -> str:
                raise ValueError("no")

            async def sound(q: str) -> str:
                return q

            hub.register(broken, name="find", source="tools", read_only=True)
            hub.register(sound, name="find", source="skills", read_only=True)
            await hub.execute("find", {"q": "x"}, strategy="fallback")

    with testing.record(tmp_path / "run.ndjson"):
        run(fall_back())
    lines = calls_of(tmp_path / "run.ndjson")
    by_source = {line["candidate"]: line for line in lines}
    broken, sound = by_source["tools"], by_source["skills"]
    assert broken["at"] + broken["ms"] <= sound["at"] + 0.001
    assert broken["call"] == sound["call"]
    assert "late" not in sound


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("", {0, 1, 2, 3}),
        ("tool:read", {0, 1}),
        ("read", {0, 1}),
        ("tool:*file", {0}),
        ("status:error", {1, 3}),
        ("status:timeout", {1}),
        ("status:cancelled", {2}),
        (">500ms", {1}),
        (">0.5s tool:read", {1}),
        ("<10ms -status:error", {0}),
        ("server:web", {2, 3}),
        ("type:call -server:web", {0, 1}),
        ("caller:ann", {3}),
        ("tool:nothing", set()),
    ],
)
def test_the_filter(words: str, found: set[int], filtered_page: Page) -> None:
    filtered_page.fill("#filter", words)
    assert filtered_page.text("#count") == f"{len(found)} of 4"
    names = ["read_file", "read_text", "fetch", "post"]
    assert {cells[2] for cells in rows(filtered_page)} == {names[at] for at in found}


@pytest.fixture(scope="module")
def filtered_page(browser: Any, tmp_path_factory: pytest.TempPathFactory) -> Page:
    error = {"kind": "timeout", "message": "m", "outcome": "unknown"}
    lines = [
        span("read_file", 0, 5),
        span("read_text", 1, 900, outcome="timeout", error=error),
        span("fetch", 2, 20, outcome="stopped", candidate="mcps:web"),
        span("post", 3, 2, outcome="auth", candidate="mcps:web", principal="token:ann"),
    ]
    return browser.open(page_of(tmp_path_factory.mktemp("run") / "run.ndjson", *lines).as_uri())


def test_a_wrong_word_of_the_filter_is_explained(filtered_page: Page) -> None:
    filtered_page.fill("#filter", "colour:red")
    assert "'colour:' is not known" in filtered_page.text("#count")
    filtered_page.fill("#filter", "")
    assert filtered_page.text("#count") == "4 of 4"


def test_two_runs_are_compared(tmp_path: Path, visit: Visit) -> None:
    first = [
        span("same"),
        span("other_result", result={"value": {"total": 1}}),
        span("other_arguments", arguments={"q": "a"}),
        span("fails_now"),
        span("gone"),
    ]
    error = {"kind": "timeout", "message": "m", "outcome": "unknown"}
    second = [
        span("same", 5),
        span("other_result", result={"value": {"total": 2}}),
        span("other_arguments", arguments={"q": "b"}),
        span("fails_now", outcome="timeout", error=error),
        span("new"),
    ]
    one, other = write(tmp_path / "one.ndjson", first), write(tmp_path / "other.ndjson", second)
    page = visit(inspector.write(one, tmp_path / "out.html", other=other))
    seen = {cells[1]: (cells[0], cells[5]) for cells in rows(page)}
    assert seen == {
        "other_result": ("other result", "result.value.total: 1 was recorded, 2 was given"),
        "other_arguments": ("other arguments", "arguments.q: 'a' was recorded, 'b' was given"),
        "fails_now": ("other outcome", "ok → timeout"),
        "gone": ("only in the first", ""),
        "new": ("only in the second", ""),
    }
    page.click("label", "the same (1)")
    assert "same" in {cells[1] for cells in rows(page)}
    page.run(f"{ROWS}.find(row => row.textContent.includes('other_result')).click()")
    assert page.run("document.querySelectorAll('.part:not([hidden]) .two pre').length") == 4
    page.click("#tab-timeline")
    page.run(
        "(() => { const run = document.querySelector('#run'); run.selectedIndex = 1; run.onchange(); })()"
    )
    assert "new" in {cells[2] for cells in rows(page)}


def test_hostile_text_stays_text(tmp_path: Path, visit: Visit) -> None:
    lines = [
        span(
            text,
            at,
            arguments={text: text},
            candidate=text,
            principal=text,
            outcome=text,
            result={"value": [text]},
        )
        for at, text in enumerate(HOSTILE)
    ]
    lines += [
        span("err", 50, outcome="tool_error", error={"kind": text, "message": text}) for text in HOSTILE
    ]
    lines.append({**span(), "type": HOSTILE[0]})
    path = write(tmp_path / "a b<&>'\".ndjson", lines)
    page = visit(inspector.write(path, tmp_path / "page.html", other=path))
    page.click("#tab-timeline")
    for at, text in enumerate(HOSTILE):
        page.fill("#filter", "")
        scroll(page, at * 26)
        page.run(f"{ROWS}.find(row => row.style.top === '{at * 26}px').click()")
        assert page.run("document.querySelector('#details h2').textContent") == text
        blocks = page.run(
            "[...document.querySelectorAll('#details pre')].map(pre => JSON.parse(pre.textContent))"
        )
        assert blocks == [{text: text}, {"value": [text]}]
    assert page.run("typeof window.hacked") == "undefined"
    assert (
        page.run(
            "document.querySelectorAll('script, iframe, svg, img, base, meta[http-equiv=refresh]').length"
        )
        == 4
    )
    assert page.run("document.querySelector('#about').textContent").startswith("a b<&>'\".ndjson")


def test_a_hundred_thousand_spans(tmp_path: Path, visit: Visit) -> None:
    lines = [span(f"tool{n % 7}", n * 0.5, 3.0, candidate=f"mcps:s{n % 5}", call=n) for n in range(100_000)]
    page = visit(page_of(tmp_path / "run.ndjson", *lines))
    page.wait_for("performance.getEntriesByName('toolhub-drawn').length")
    assert page.text("#count") == "100000 of 100000"
    # Rows that are not seen are not there.
    assert page.run("document.querySelectorAll('*').length") < 1_000
    canvas = "document.querySelector('canvas')"
    pixels = f"{canvas}.getContext('2d').getImageData(0, 0, {canvas}.width, {canvas}.height).data"
    assert page.run(f"{pixels}.some(value => value)")
    page.fill("#filter", "tool:tool3 server:s1")
    assert page.text("#count") == f"{sum(n % 7 == 3 and n % 5 == 1 for n in range(100_000))} of 100000"
    scroll(page, 1e9)
    assert rows(page)[-1][2] == "tool3"


def test_an_audit_log_is_shown(tmp_path: Path, visit: Visit) -> None:
    common = {"v": 1, "principal": "token:ann", "view": "", "outcome": "ok", "ms": 12.4}
    lines = [
        {
            **common,
            "type": "call",
            "tool": "read",
            "candidate": None,
            "arguments": "sha256:00",
            "time": "2026-11-16T09:30:01.000Z",
            "outcome": "not_found",
        },
        {**common, "type": "search", "arguments": "sha256:00", "time": "2026-11-16T09:30:00.000Z"},
        {
            **common,
            "type": "refusal",
            "status": 401,
            "count": 37,
            "time": "2026-11-16T09:30:02.500Z",
            "outcome": "auth",
        },
        {**common, "type": "of a later version", "time": "2026-11-16T09:30:02.500Z"},
    ]
    path = write(tmp_path / "audit.ndjson", lines)
    path.write_text(path.read_text() + '{"v":1,"type":"ca')
    page = visit(inspector.write(path))
    assert "The last line is cut off" in page.text("#notice")
    assert [(cells[0], cells[2], cells[3]) for cells in rows(page)] == [
        ("1.00 s", "read", "no candidate"),
        ("0 ms", "search_tools", "gateway"),
        ("2.50 s", "401 × 37", "refused"),
    ]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, "There is no file"),
        (b"\xff\xfe", "is not UTF-8 text"),
        (b"hello\nworld\n", "line 1 is wrong, it is not an event"),
        (b'{"v":1,"type":"header","time":"2026-11-16T09:30:00.000Z"}\n[]\n{}\n', "line 2 is wrong"),
        (b'{"v":3,"type":"call","time":"x"}\n', "version 3"),
        (
            b'{"v":1,"type":"call","tool":"a","time":"yesterday","ms":1}\n',
            "`time` is not a valid time: 'yesterday'",
        ),
        (b'{"v":1,"type":"call","tool":"a","time":"2026-11-16T09:30:00.000Z","ms":-1}\n', "0 or more"),
    ],
)
def test_a_wrong_file_is_one_sentence(content: bytes | None, words: str, tmp_path: Path) -> None:
    path = tmp_path / "run.ndjson"
    if content is not None:
        path.write_bytes(content)
    command = [sys.executable, "-m", "toolhub", "inspect", str(path), "-o", str(tmp_path / "out.html")]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 2
    assert words in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert not (tmp_path / "out.html").exists()


def test_a_page_does_not_replace_its_run(tmp_path: Path) -> None:
    path = write(tmp_path / "run.html", [span()])
    with pytest.raises(ValueError, match="would replace"):
        inspector.write(path)
    with pytest.raises(ValueError, match="is a folder"):
        inspector.page(tmp_path)


def test_recorded_numbers_keep_all_their_digits(tmp_path: Path, visit: Visit) -> None:
    hub = ToolHub()

    @hub.tool(read_only=True)
    def get(n: int) -> dict[str, Any]:
        """Get it."""
        return {"n": n, "x": 1.0}

    with testing.record(tmp_path / "run.ndjson"):
        hub.call("get", {"n": 12345678901234567890})
    page = visit(Path(inspector.write(tmp_path / "run.ndjson")))
    page.click(".row")
    details = page.text("#details")
    assert details.count("12345678901234567890") == 2
    assert '"x": 1.0' in details
