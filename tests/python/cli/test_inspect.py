"""`toolhub inspect`: the page in a real browser, and what it is made of."""

from __future__ import annotations

import asyncio
import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from support.cli import User
from toolhub import ToolHub
from toolhub.cli.inspect_ import difference, read_spans
from toolhub.testing import record

HOSTILE = "</script><img src=x onerror=\"document.title='owned'\"><!-- \u2028 &lt;"


@pytest.fixture
def run(user: User) -> Path:
    hub = ToolHub()

    async def slow(city: str) -> str:
        await asyncio.sleep(60)
        return city

    async def fast(city: str) -> str:
        return city

    async def fails(city: str) -> str:
        raise ValueError(city)

    hub.register(slow, name="weather", source="mcps", server="far", read_only=True)
    hub.register(fast, name="weather", read_only=True)
    hub.register(fails, name="fails", read_only=True)
    path = user.home / "run.ndjson"

    async def agent() -> None:
        await hub.execute("weather", {"city": HOSTILE}, strategy="first")
        await hub.execute("fails", {"city": HOSTILE})

    with record(path):
        asyncio.run(agent())
    return path


def dom(path: Path, fragment: str = "") -> str:
    """The page after its script has run."""
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        pytest.skip("there is no Chromium")
    profile = path.parent / "profile"
    options = ["--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={profile}", "--dump-dom"]
    done = subprocess.run(
        [browser, *options, f"{path.as_uri()}{fragment}"], capture_output=True, text=True, timeout=55
    )
    return done.stdout


def rows(page: str) -> list[list[str]]:
    body = re.search(r'<tbody id="rows">(.*?)</tbody>', page, re.DOTALL)
    assert body is not None, page[-2000:]
    return [re.findall(r"<td[^>]*>(.*?)</td>", line)[2:] for line in body[1].split("</tr>") if "<td" in line]


def test_the_page_in_a_browser(run: Path, user: User) -> None:
    done = user.run("inspect", str(run), "-o", "page.html")
    assert (done.returncode, done.stderr) == (0, "toolhub: 4 spans written to page.html\n")
    page = dom(user.home / "page.html", "#tool:weather")
    assert 'data-ready="yes"' in page
    assert sorted(rows(page)) == [["ok", "tools", "weather"], ["stopped", "mcps:far", "weather"]]
    assert "2 of 4 spans" in page
    assert "<title>run.ndjson</title>" in page, "a text of the run was taken for HTML"
    assert "<img" not in page.split('<script type="application/json"')[0]


def test_the_page_is_whole_and_asks_for_nothing(run: Path, user: User) -> None:
    user.run("inspect", str(run), "-o", "page.html")
    text = (user.home / "page.html").read_text("utf-8")
    assert "default-src 'none'" in text
    assert not re.search(r'(src|href)="', text)
    assert text.count("</script>") == 2
    assert len(text) < 150_000
    assert HOSTILE not in text


def test_spans_have_lanes_and_times(run: Path) -> None:
    spans = read_spans(str(run))
    assert {(span["lane"], span["name"], span["outcome"]) for span in spans} == {
        ("tools", "weather", "ok"),
        ("mcps:far", "weather", "stopped"),
        ("tools", "fails", "tool_error"),
        ("far", "list", "ok"),
    }
    assert spans[0]["at"] == 0
    assert all(0 <= span["at"] < 600_000 for span in spans)


def a_span(name: str, outcome: str = "ok", result: Any = 1) -> dict[str, Any]:
    details = {"arguments": {"a": 1}, "result": {"value": result}}
    return {
        "type": "call",
        "name": name,
        "lane": "tools",
        "at": 0,
        "ms": 1,
        "outcome": outcome,
        "details": details,
    }


def test_two_runs_are_compared() -> None:
    one = [a_span("same"), a_span("fails"), a_span("says"), a_span("twice"), a_span("twice"), a_span("gone")]
    two = [
        a_span("same"),
        a_span("fails", "timeout"),
        a_span("says", result=2),
        a_span("twice"),
        a_span("new"),
    ]
    shown = [(row["what"], row["name"].split()[0], row["how"]) for row in difference(one, two)]
    assert shown == [
        ("differs", "fails", "ok, then timeout"),
        ("differs", "says", "another answer"),
        ("only 1", "gone", "ok"),
        ("only 1", "twice", "ok"),
        ("only 2", "new", "ok"),
    ]
    assert difference(one, one) == []


@pytest.mark.parametrize(
    ("text", "says"),
    [("", "has no events"), ("{", "line 1 of"), ('{"a": 1}\n', "has no events"), (None, "cannot be read")],
)
def test_a_file_that_is_no_run(text: str | None, says: str, user: User) -> None:
    if text is not None:
        (user.home / "run.ndjson").write_text(text, "utf-8")
    done = user.run("inspect", "run.ndjson")
    assert done.returncode == 2
    assert says in done.stderr


def test_an_audit_log_has_times_of_day(user: User) -> None:
    def line(tool: str, time: str) -> str:
        event = {
            "v": 1,
            "type": "call",
            "tool": tool,
            "candidate": "mcps:x",
            "time": time,
            "outcome": "ok",
            "ms": 5,
        }
        return json.dumps(event) + "\n"

    path = user.home / "audit.ndjson"
    path.write_text(line("b", "2026-11-16T09:30:01.000Z") + line("a", "2026-11-16T09:30:00.500Z"), "utf-8")
    assert [(span["name"], span["at"]) for span in read_spans(str(path))] == [("a", 0), ("b", 500)]
