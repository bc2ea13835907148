"""The calls of a served hub while they run, and what the operator decides, in a real browser."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from support.browser import Page
from support.gateway import send, serving
from toolhub import ToolHub

Visit = Callable[..., Page]
ROWS = "[...document.querySelectorAll('#part-calls .row')].map(row => [...row.children].map(cell => cell.textContent))"


def call(url: str, tool: str, arguments: dict[str, Any] | None = None, **headers: str) -> Any:
    """One call through the MCP endpoint."""
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call"}
    message["params"] = {"name": tool, "arguments": arguments or {}}
    accepts = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    return send(
        url, "POST", json.dumps(message), {**accepts, "MCP-Protocol-Version": "2025-11-25", **headers}
    )


def racing_hub(released: threading.Event) -> ToolHub:
    """`find` has two candidates: one answers when it is released, the other never."""
    hub = ToolHub()

    async def held(q: str) -> str:
        await asyncio.to_thread(released.wait, 30)
        return f"found {q}"

    async def endless(q: str) -> str:
        await asyncio.Event().wait()
        return q

    hub.register(held, name="find", source="mcps", server="held", read_only=True)
    hub.register(endless, name="find", source="tools", read_only=True)
    return hub


def test_calls_are_seen_while_they_run_and_when_they_end(visit: Visit) -> None:
    released = threading.Event()
    with serving(racing_hub(released)) as served:
        page = visit(served.url.removesuffix("/mcp") + "/inspect")
        page.click("#tab-calls")
        page.wait_for(
            "document.querySelector('#part-calls').innerText.includes('appear here while they run')"
        )
        caller = threading.Thread(target=call, args=(served.url, "find", {"q": "hunter2"}))
        caller.start()
        try:
            page.wait_for(f"{ROWS}.filter(cells => cells[4] === 'running').length")
        finally:
            released.set()
            caller.join()
        page.wait_for(f"{ROWS}.some(cells => cells[4] === 'ok' || cells[4] === 'won')")
        page.wait_for(f"{ROWS}.every(cells => cells[4] !== 'running')")
        call(served.url, "no_such_tool")
        page.wait_for(f"{ROWS}.some(cells => cells[5] === 'not_found')")
        rows = page.run(ROWS)
        assert [rows[0][2], rows[0][3]] == ["no_such_tool", "no candidate"], "the last call comes first"
        # A span stays chosen while others come.
        page.run("[...document.querySelectorAll('#part-calls .row')].at(-1).click()")
        call(served.url, "no_such_tool")
        page.wait_for(f"{ROWS}.length === {len(rows) + 1}")
        assert "find" in page.text("#part-calls .details")
        page.fill("#part-calls #filter", "tool:find")
        assert {cells[2] for cells in page.run(ROWS)} == {"find"}
        assert "hunter2" not in page.run("document.documentElement.outerHTML"), "arguments are not kept"
        page.click("#pause")
        call(served.url, "no_such_tool")
        page.fill("#part-calls #filter", "")
        assert len(page.run(ROWS)) == len(rows) + 1
        page.click("#pause")
        page.wait_for(f"{ROWS}.length === {len(rows) + 2}")


def test_the_calls_are_for_the_operator(visit: Visit) -> None:
    hub = ToolHub()

    @hub.tool(read_only=True)
    def seen() -> str:
        """A tool."""
        return "ok"

    with serving(hub, host="0.0.0.0", token={"ann": {"token": "secret-of-ann"}}) as served:
        base = served.url.removesuffix("/mcp").replace("0.0.0.0", "127.0.0.1")
        ann = {"Authorization": "Bearer secret-of-ann"}
        call(f"{base}/mcp", "seen", **ann)
        assert send(f"{base}/inspect/calls", "GET", None, ann).status == 403
        key = served.inspect_url.partition("#key=")[2]
        told = json.loads(send(f"{base}/inspect/calls", "GET", None, {"Toolhub-Inspect-Key": key}).text)
        assert told["run"]["callers"] == ["token:ann"]
        same = f"{base}/inspect/calls?after={told['change']}"
        assert json.loads(send(same, "GET", None, {"Toolhub-Inspect-Key": key}).text)["run"] is None
        assert send(f"{base}/inspect/calls", "POST", "{}", {"Toolhub-Inspect-Key": key}).status == 405
        page = visit(f"{base}/inspect#token=secret-of-ann")
        page.click("#tab-calls")
        page.wait_for(
            "document.querySelector('#calls-wrong').innerText.includes(`needs the inspector's key`)"
        )
        page.expected = [text for text in page.complaints() if "403" in text]
        page.run(f"document.querySelectorAll('#calls-wrong input')[1].value = {json.dumps(key)}")
        page.click("#calls-wrong button", "use")
        page.wait_for(f"{ROWS}.length === 1")


def test_without_credentials_a_network_sees_no_calls() -> None:
    with serving(ToolHub(), host="0.0.0.0") as served:
        base = served.url.removesuffix("/mcp").replace("0.0.0.0", "127.0.0.1")
        assert send(f"{base}/inspect/calls", "GET", None, {}).status == 404


def test_a_decision_on_the_page_is_in_the_audit_log(visit: Visit, tmp_path: Path) -> None:
    hub = ToolHub(store=tmp_path / "store.db")

    @hub.tool
    def send_mail(to: str) -> str:
        """Send a mail."""
        return f"sent to {to}"

    message = '<tool_call>{"name": "send_mail", "arguments": {"to": "ann"}}</tool_call>'
    waiting = hub.run_sync(message, approve="ask").results[0].paused
    audit = tmp_path / "audit.ndjson"
    with serving(hub, audit=str(audit)) as served:
        page = visit(served.inspect_url)
        page.click("#tab-approvals")
        page.click("#approvals button", "approve")
        page.wait_for("document.querySelector('#approvals').innerText.includes('No call waits')")
        key = {"Toolhub-Inspect-Key": served.inspect_url.partition("#key=")[2]}
        again = json.dumps({"id": waiting, "approve": False})
        base = served.url.removesuffix("/mcp")
        assert send(f"{base}/inspect/approvals", "POST", again, key).status == 404
    lines = [json.loads(line) for line in audit.read_text().splitlines()]
    decided = [line for line in lines if line["type"] == "approval"]
    assert [(line["approval"], line["decision"], line["outcome"], line["principal"]) for line in decided] == [
        (waiting, "approve", "ok", "operator"),
        (waiting, "deny", "not_found", "operator"),
    ]


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_the_page_speaks_the_language_of_its_hub(lang: str, visit: Visit) -> None:
    hub = ToolHub(lang=lang)

    @hub.tool(read_only=True)
    def double(n: int) -> int:
        """Double a number."""
        return 2 * n

    with serving(hub) as served:
        page = visit(served.url.removesuffix("/mcp") + "/inspect")
        page.wait_for("document.querySelectorAll('#tool-names button').length")
        assert page.run("document.documentElement.lang") == lang
        page.run("document.querySelector('#tool-work .field input').value = '1.5'")
        page.run("document.querySelector('#call').click()")
        expected = {"en": "'1.5' is not a whole number", "zh": "'1.5' 不是整数"}
        assert expected[lang] in page.text("#tool-work")
        page.click("#tab-approvals")
        needs = {"en": "needs the inspector's key", "zh": "需要检查器的密钥"}
        page.wait_for(f"document.querySelector('#approvals').innerText.includes({json.dumps(needs[lang])})")
        page.expected = [text for text in page.complaints() if "403" in text]
