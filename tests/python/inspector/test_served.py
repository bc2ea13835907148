"""The inspector of a served hub, in a real browser: forms, calls, saved calls, servers, approvals, and who may see it."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from support.browser import Page
from support.gateway import send, serving
from toolhub import ToolHub

Visit = Callable[..., Page]

HOSTILE = "</script><img src=x onerror=window.hacked=1>"


# name, schema, what a user does in the form (JavaScript; `field(name)` finds one), the arguments that must come of it
SCHEMAS: list[tuple[str, dict[str, Any], str, Any]] = [
    (
        "text",
        {"properties": {"q": {"type": "string"}}, "required": ["q"]},
        "put(field('q'), 'é <b>\\n2')",
        {"q": "é <b>\n2"},
    ),
    (
        "numbers",
        {"properties": {"n": {"type": "integer"}, "x": {"type": "number"}}, "required": ["n", "x"]},
        "put(field('n'), '42'); put(field('x'), '-1.5e3')",
        {"n": 42, "x": -1500.0},
    ),
    (
        "left out",
        {"properties": {"a": {"type": "string"}, "b": {"type": "integer"}}},
        "tick(field('b')); put(field('b'), '7')",
        {"b": 7},
    ),
    (
        "nullable",
        {
            "properties": {
                "a": {"type": ["string", "null"]},
                "b": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
                "c": {"type": "string", "nullable": True},
            },
            "required": ["a", "b", "c"],
        },
        "tick(field('a')); put(field('b'), '3'); put(field('c'), 'x')",
        {"a": None, "b": 3, "c": "x"},
    ),
    (
        "choices",
        {
            "properties": {"unit": {"enum": ["m", "km", 3, None]}, "kind": {"const": "fixed"}},
            "required": ["unit", "kind"],
        },
        "pick(field('unit'), 2)",
        {"unit": 3, "kind": "fixed"},
    ),
    (
        "defaults",
        {
            "properties": {
                "limit": {"type": "integer", "default": 10},
                "on": {"type": "boolean", "default": False},
                "tags": {"type": "array", "items": {"type": "string"}, "default": ["a", "b"]},
                "deep": {"type": "object", "properties": {"x": {"type": "integer"}}, "default": {"x": 5}},
            }
        },
        "",
        {"limit": 10, "on": False, "tags": ["a", "b"], "deep": {"x": 5}},
    ),
    (
        "one of several",
        {
            "properties": {
                "target": {
                    "anyOf": [
                        {"type": "string", "title": "name"},
                        {
                            "type": "object",
                            "title": "place",
                            "properties": {"x": {"type": "number"}},
                            "required": ["x"],
                        },
                    ]
                }
            },
            "required": ["target"],
        },
        "pick(field('target'), 1); put(field('x'), '2')",
        {"target": {"x": 2}},
    ),
    (
        "lists",
        {
            "properties": {
                "rows": {
                    "type": "array",
                    "items": {
                        "type": "object",
                        "properties": {"id": {"type": "integer"}},
                        "required": ["id"],
                    },
                }
            },
            "required": ["rows"],
        },
        "[1, 2, 3].forEach(() => press(field('rows'), 'add')); put(field('id', 0), '1'); put(field('id', 2), '3');"
        " press(field('rows'), 'remove', 1)",
        {"rows": [{"id": 1}, {"id": 3}]},
    ),
    (
        "nested with references",
        {
            "properties": {"user": {"$ref": "#/$defs/user"}},
            "required": ["user"],
            "$defs": {
                "user": {
                    "type": "object",
                    "properties": {"name": {"type": "string"}, "boss": {"$ref": "#/$defs/user"}},
                    "required": ["name"],
                }
            },
        },
        "put(field('name'), 'ann'); tick(field('boss')); put(field('name', 1), 'eve')",
        {"user": {"name": "ann", "boss": {"name": "eve"}}},
    ),
    (
        "tuples and any JSON",
        {
            "properties": {
                "pair": {
                    "type": "array",
                    "prefixItems": [{"type": "string"}, {"type": "integer"}],
                    "items": False,
                },
                "any": {},
            },
            "required": ["pair", "any"],
        },
        "put(field('pair'), 'a', 0); put(field('pair'), '2', 1); put(field('any'), '{\"k\": [1, null]}')",
        {"pair": ["a", 2], "any": {"k": [1, None]}},
    ),
    (
        "free members",
        {
            "properties": {"env": {"type": "object", "additionalProperties": {"type": "integer"}}},
            "required": ["env"],
        },
        "press(field('env'), 'add a member'); put(field('env'), 'A', 0); put(field('env'), '1', 1)",
        {"env": {"A": 1}},
    ),
    (
        "parts and odd names",
        {
            "allOf": [
                {"properties": {"__proto__": {"type": "string"}}, "required": ["__proto__"]},
                {"properties": {HOSTILE: {"type": "string", "description": HOSTILE}}, "required": [HOSTILE]},
            ]
        },
        f"put(field('__proto__'), 'p'); put(field({json.dumps(HOSTILE)}), 'h')",
        {"__proto__": "p", HOSTILE: "h"},
    ),
]

HELPERS = """
window.field = (name, nth = 0) => [...document.querySelectorAll('#tool-work .field')].filter(f => f.dataset.name === name)[nth];
window.inputs = (node) => [...node.querySelectorAll('input:not([type=checkbox]), textarea')];
window.tell = (node, what) => node.dispatchEvent(new Event(what, {bubbles: true}));
window.put = (node, text, nth = 0) => { const input = inputs(node)[nth]; input.value = text; tell(input, 'input'); };
window.tick = (node) => { node.querySelector('input[type=checkbox]').click(); };
window.pick = (node, at) => { const select = node.querySelector('select'); select.selectedIndex = at; tell(select, 'change'); };
window.press = (node, text, nth = 0) => [...node.querySelectorAll('button')].filter(b => b.textContent === text)[nth].click();
window.names = () => [...document.querySelectorAll('#tool-names button')];
window.tool = (name) => names().find(b => b.firstChild.textContent === name).click();
0
"""


def answer(page: Page) -> dict[str, Any]:
    """What the tool answered to the call that the form made."""
    page.click("#call", "call")
    page.wait_for(
        "document.querySelector('#answer .result') || document.querySelector('#tool-work .wrong:not(:empty)')"
    )
    return json.loads(page.run("document.querySelector('#answer pre').textContent"))


def test_forms_of_twelve_schemas(visit: Visit) -> None:
    hub = ToolHub()

    async def echo(**arguments: Any) -> str:
        return json.dumps(arguments)

    for name, schema, _, _ in SCHEMAS:
        hub.register(
            echo, name=name.replace(" ", "_"), parameters={"type": "object", **schema}, description=HOSTILE
        )
    with serving(hub) as served:
        page = visit(served.inspect_url)
        page.wait_for("document.querySelectorAll('#tool-names button').length === 12")
        page.run(HELPERS)
        for name, _, steps, expected in SCHEMAS:
            page.run(f"tool({json.dumps(name.replace(' ', '_'))})")
            page.run(f"{steps}; 0")
            assert answer(page) == expected, name
        assert page.run("typeof window.hacked") == "undefined"
        # What is not filled in is said at the field, and nothing is called.
        page.run("tool('numbers')")
        page.run("put(field('n'), '1.5'); put(field('x'), 'abc')")
        page.click("#call", "call")
        assert "'1.5' is not a whole number" in page.text("#tool-work")
        assert "'abc' is not a number" in page.text("#tool-work")
        assert page.text("#answer") == ""
        page.run("put(field('n'), '1'); put(field('x'), '2')")
        page.click("#tool-work label", "as JSON")
        assert json.loads(page.run("document.querySelector('#tool-work textarea:not([hidden])').value")) == {
            "n": 1,
            "x": 2,
        }


LARGE = 9007199254740993  # the first whole number that JavaScript has not
DIGITS = 12345678901234567890


def test_numbers_keep_all_their_digits(visit: Visit) -> None:
    hub = ToolHub()

    @hub.tool(read_only=True)
    def row(n: int, x: float | None = None) -> dict[str, Any]:
        """Find a row."""
        return {"found": str(n), "id": DIGITS, "x": x, "part": 1.0}

    with serving(hub) as served:
        page = visit(served.inspect_url)
        page.wait_for("document.querySelector('#tool-names button')")
        page.run(HELPERS)
        page.run(f"put(field('n'), '{LARGE}')")
        assert answer(page)["found"] == str(LARGE), "from the form"
        page.click("#tool-work label", "as JSON")
        area = "#tool-work textarea:not([hidden])"
        assert f'"n": {LARGE}' in page.run(f"document.querySelector('{area}').value")
        page.fill(area, f'{{"n": {LARGE + 2}, "x": 1e3}}')
        assert answer(page)["found"] == str(LARGE + 2), "as JSON"
        assert f'"id": {DIGITS},' in page.text("#answer")
        assert '"part": 1.0' in page.text("#answer")
        # What is compared: other digits differ, another way to write the same number does not.
        page.fill("#assertions", f"structured.id = {DIGITS + 1}\nstructured.id != {DIGITS}")
        page.click("#call", "call")
        page.wait_for("document.querySelector('#answer').innerText.includes('Assertions that do not hold')")
        assert f"structured.id = {DIGITS + 1}: it is {DIGITS}" in page.text("#answer")
        assert f"structured.id != {DIGITS}: it is {DIGITS}" in page.text("#answer")
        holds = (
            f"structured.id = {DIGITS}\nstructured.id > {DIGITS - 1}\nstructured.id < {DIGITS + 1}\n"
            f"structured.part = 1\nstructured.x = 1000\nstructured.found contains {LARGE + 2}"
        )
        page.fill("#assertions", holds)
        page.fill("#saved-name", "large")
        page.click("#save")
        # Saved in the browser, and sent again from there.
        page.go(served.url.removesuffix("/mcp") + "/inspect")
        page.click("#tab-saved")
        assert f'{{"n":{LARGE + 2},"x":1e3}}' in page.text("#saved")
        page.click("#run-all")
        page.wait_for("document.querySelector('#saved-summary').textContent === '1 of 1 passed'")
        page.click("#saved button", "open")
        page.wait_for("document.querySelector('#saved-name').value === 'large'")
        assert page.run("document.querySelector('[data-name=n] input[type=text]').value") == str(LARGE + 2)


def test_large_numbers_of_a_schema(visit: Visit) -> None:
    hub = ToolHub()

    async def echo(**arguments: Any) -> str:
        return json.dumps(arguments)

    schema = {
        "type": "object",
        "properties": {
            "a": {"type": "integer", "default": DIGITS},
            "b": {"enum": [DIGITS, DIGITS + 1]},
            "c": {"anyOf": [{"type": "string"}, {"type": "integer"}], "default": DIGITS},
            "d": {"type": "integer"},
        },
        "required": ["b", "d"],
    }
    hub.register(echo, name="echo", parameters=schema, description="Echo")
    with serving(hub) as served:
        page = visit(served.inspect_url)
        page.wait_for("document.querySelector('#tool-names button')")
        page.run(HELPERS)
        page.run("pick(field('b'), 1); put(field('d'), '1.0')")
        assert answer(page) == {"a": DIGITS, "b": DIGITS + 1, "c": DIGITS, "d": 1}


def test_each_field_has_a_name_for_screen_readers(visit: Visit) -> None:
    hub = ToolHub()

    async def echo(**arguments: Any) -> str:
        return json.dumps(arguments)

    for name, schema, _, _ in SCHEMAS:
        hub.register(
            echo, name=name.replace(" ", "_"), parameters={"type": "object", **schema}, description=name
        )
    with serving(hub) as served:
        page = visit(served.inspect_url)
        page.wait_for("document.querySelectorAll('#tool-names button').length === 12")
        page.run(HELPERS)
        for name, _, steps, _ in SCHEMAS:
            page.run(f"tool({json.dumps(name.replace(' ', '_'))})")
            page.run(f"{steps}; 0")
            # A placeholder is gone as soon as something is written, so it is not a name.
            unnamed = page.run(
                "[...document.querySelectorAll('#main input, #main textarea, #main select, #tool-work fieldset')]"
                ".filter(e => !e.getAttribute('aria-label') && ![...e.labels ?? []].some(l => l.textContent.trim()))"
                ".map(e => e.outerHTML)"
            )
            assert unnamed == [], name
        page.run("tool('numbers')")
        page.send("Accessibility.enable")
        nodes = page.send("Accessibility.getFullAXTree")["nodes"]
        shown = {
            (node["role"]["value"], node["name"]["value"]): node.get("description", {}).get("value")
            for node in nodes
            if not node["ignored"] and "name" in node
        }
        assert shown["textbox", "n"] == "required integer"
        assert shown["textbox", "x"] == "required number"
        assert ("group", "Arguments") in shown


def test_calls_are_saved_with_assertions(visit: Visit) -> None:
    hub = ToolHub()
    amounts = [1]

    @hub.tool(read_only=True)
    def total() -> dict[str, int]:
        """The sum."""
        return {"total": sum(amounts)}

    @hub.tool(read_only=True)
    def fail() -> str:
        """It fails."""
        raise ValueError(HOSTILE)

    with serving(hub) as served:
        page = visit(served.inspect_url)
        page.click("#tool-names button", "totalThe sum.")
        page.fill("#assertions", "ok\nstructured.total = 1\nms < 100000\ntext contains total")
        page.fill("#saved-name", "sum is one")
        page.click("#save")
        page.click("#call", "call")
        page.wait_for("document.querySelector('#answer').innerText.includes('All assertions hold')")
        page.click("#tool-names button", "failIt fails.")
        page.fill("#assertions", "error")
        page.fill("#saved-name", "must fail")
        page.click("#save")
        # They are kept in the browser, and read again.
        page.go(served.url.removesuffix("/mcp") + "/inspect")
        page.click("#tab-saved")
        page.click("#run-all")
        page.wait_for("document.querySelector('#saved-summary').textContent === '2 of 2 passed'")
        amounts.append(5)
        page.click("#run-all")
        page.wait_for("document.querySelector('#saved-summary').textContent === '1 of 2 passed'")
        assert "structured.total = 1: it is 6" in page.text("#saved")
        assert HOSTILE in page.text("#saved")
        page.click("#saved button", "open")
        page.wait_for("document.querySelector('#saved-name').value === 'sum is one'")


def test_servers_show_era_state_and_the_end_of_their_error_stream(visit: Visit, tmp_path: Path) -> None:
    upstream = Path(__file__).parents[1] / "gateway" / "upstream.py"
    noisy = tmp_path / "noisy.py"
    noisy.write_text(
        f"import runpy, sys\nprint({HOSTILE!r}, file=sys.stderr, flush=True)\n"
        "sys.argv = sys.argv[1:]\nrunpy.run_path(sys.argv[0], run_name='__main__')\n"
    )
    hub = ToolHub()
    hub.add_server("noisy", command=sys.executable, args=[str(noisy), str(upstream), "noisy", str(tmp_path)])
    hub.add_server(
        "broken", command=sys.executable, args=["-c", "import sys; sys.exit('no such module: <b>')"]
    )
    hub.connect_sync()
    with serving(hub) as served:
        page = visit(served.url.removesuffix("/mcp") + "/inspect")
        # The first list of tools tries the broken one once more, and ends when it has failed.
        page.wait_for("document.querySelectorAll('#tool-names button').length")
        page.click("#tab-servers")
        page.wait_for("document.querySelectorAll('#servers .card').length === 2")
        cards = page.run("[...document.querySelectorAll('#servers .card')].map(card => card.innerText)")
        sound = next(card for card in cards if card.startswith("noisy"))
        assert "connected" in sound
        assert HOSTILE in sound
        assert "legacy" in sound or "modern" in sound
        failed = next(card for card in cards if card.startswith("broken"))
        assert "failed" in failed
        assert "no such module: <b>" in failed
        assert page.run("typeof window.hacked") == "undefined"


def test_approvals_need_the_key_of_the_operator(visit: Visit, tmp_path: Path) -> None:
    hub = ToolHub(store=tmp_path / "store.db")
    sent: list[str] = []

    @hub.tool
    def send_mail(to: str) -> str:
        """Send a mail."""
        sent.append(to)
        return f"sent to {to}"

    def ask(to: str) -> Any:
        message = f'<tool_call>{{"name": "send_mail", "arguments": {{"to": "{to}"}}}}</tool_call>'
        return hub.run_sync(message, approve="ask").results[0]

    for to in ("ann", "eve"):
        assert ask(to).paused
    with serving(hub) as served:
        base = served.url.removesuffix("/mcp")
        page = visit(f"{base}/inspect")
        page.click("#tab-approvals")
        page.wait_for("document.querySelector('#approvals').innerText.includes(`needs the inspector's key`)")
        page.expected = [text for text in page.complaints() if "403" in text]
        key = served.inspect_url.partition("#key=")[2]
        page.run(f"document.querySelectorAll('#approvals input')[1].value = {json.dumps(key)}")
        page.click("#approvals button", "use")
        page.wait_for("document.querySelectorAll('#approvals .card').length === 2")
        assert '"ann"' in page.text("#approvals .card")
        page.click("#approvals button", "approve")
        page.wait_for("document.querySelectorAll('#approvals .card').length === 1")
        page.fill("#approvals input", "not her")
        page.click("#approvals button", "deny")
        page.wait_for("document.querySelector('#approvals').innerText.includes('No call waits')")
        assert ask("ann").result == "sent to ann"
        refused = ask("eve")
        assert refused.error is not None
        assert "not her" in str(refused.error)
        assert sent == ["ann"]
        # Not with a wrong key, not twice, not with something else than a decision.
        decide = json.dumps({"id": "x", "approve": True})
        assert (
            send(f"{base}/inspect/approvals", "POST", decide, {"Toolhub-Inspect-Key": "wrong"}).status == 403
        )
        assert send(f"{base}/inspect/approvals", "POST", decide, {"Toolhub-Inspect-Key": key}).status == 404
        for wrong in ("", "[]", '{"id": "x", "approve": "true"}', '{"id": "x", "approve": 1}'):
            assert (
                send(f"{base}/inspect/approvals", "POST", wrong, {"Toolhub-Inspect-Key": key}).status == 400
            )
        assert send(f"{base}/inspect/approvals", "DELETE", None, {"Toolhub-Inspect-Key": key}).status == 405


def test_with_credentials_the_page_has_no_data_without_them(visit: Visit) -> None:
    hub = ToolHub()

    @hub.tool(read_only=True)
    def seen() -> str:
        """A tool that this view shows."""
        return "ok"

    @hub.tool(read_only=True)
    def hidden() -> str:
        """Another one."""
        return "ok"

    options = {
        "token": {"ann": {"token": "secret-of-ann", "view": "few"}},
        "views": {"few": {"tools": ["seen"]}},
    }
    with serving(hub, host="0.0.0.0", **options) as served:
        base = served.url.removesuffix("/mcp").replace("0.0.0.0", "127.0.0.1")
        assert "secret-of-ann" not in send(f"{base}/inspect", "GET", None, {}).text
        for route in ("servers", "approvals"):
            assert (
                send(f"{base}/inspect/{route}", "GET", None, {"Authorization": "Bearer secret-of-ann"}).status
                == 403
            )
        page = visit(f"{base}/inspect#token=secret-of-ann")
        page.wait_for("document.querySelectorAll('#tool-names button').length")
        assert page.run(
            "[...document.querySelectorAll('#tool-names button')].map(b => b.firstChild.textContent)"
        ) == ["seen"]
        assert page.run("location.href") == f"{base}/inspect"


def test_the_page_is_not_served_to_a_network_without_credentials() -> None:
    hub = ToolHub()
    with serving(hub, host="0.0.0.0") as served:
        base = served.url.removesuffix("/mcp").replace("0.0.0.0", "127.0.0.1")
        assert served.inspect_url is None, "no address is better than one where nothing is"
        key = {"Toolhub-Inspect-Key": served._gateway.inspect_key or ""}
        for path in ("", "/servers", "/calls", "/approvals"):
            assert send(f"{base}/inspect{path}", "GET", None, key).status == 404
    with serving(ToolHub(), host="0.0.0.0", token="a-long-enough-secret") as served:
        assert served.inspect_url is not None


def test_who_comes_through_a_proxy_needs_the_key() -> None:
    """A proxy on this machine reaches the loopback address for everyone."""
    hub = ToolHub()
    with serving(hub, allowed_hosts=["tools.example.com"]) as served:
        base = served.url.removesuffix("/mcp")
        assert served.inspect_url is not None
        key = {"Toolhub-Inspect-Key": served.inspect_url.partition("#key=")[2]}
        port = base.rpartition(":")[2]
        own = [{}, {"Host": f"localhost:{port}"}, {"Host": f"127.0.0.1:{port}"}, {"Host": "[::1]"}]
        foreign = [
            {"Host": "tools.example.com"},
            {"Host": "tools.example.com:443", "X-Forwarded-For": "203.0.113.9"},
            {"Host": "192.0.2.7"},
            {"X-Forwarded-For": "203.0.113.9"},
            {"Forwarded": "for=203.0.113.9"},
        ]
        for path in ("calls", "servers"):
            for headers in own:
                assert send(f"{base}/inspect/{path}", "GET", None, headers).status == 200, headers
            for headers in foreign:
                refused = send(f"{base}/inspect/{path}", "GET", None, headers)
                assert refused.status == 403, headers
                assert "needs the inspector's key" in refused.text
                assert send(f"{base}/inspect/{path}", "GET", None, {**headers, **key}).status == 200


def test_the_headers_of_the_page() -> None:
    with serving(ToolHub()) as served:
        base = served.url.removesuffix("/mcp")
        reply = send(f"{base}/inspect", "GET", None, {})
        assert reply.headers["content-type"] == "text/html; charset=utf-8"
        policy = reply.headers["content-security-policy"]
        assert policy.startswith("default-src 'none'; script-src 'sha256-")
        assert "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy
        assert (reply.headers["cache-control"], reply.headers["x-content-type-options"]) == (
            "no-store",
            "nosniff",
        )
        assert send(f"{base}/inspect", "POST", "{}", {}).status == 405
        assert send(f"{base}/inspect/other", "GET", None, {}).status == 404
        foreign = {"Host": "evil.example.com"}
        assert send(f"{base}/inspect", "GET", None, foreign).status == 403
        foreign = {"Origin": "http://evil.example.com"}
        assert send(f"{base}/inspect/servers", "GET", None, foreign).status == 403


@pytest.mark.parametrize("path", ["/in", "/inspec", "/", "/mcp", "/inspect/mcp"])
def test_the_address_that_is_printed_has_the_page(path: str) -> None:
    with serving(ToolHub(), path=path) as served:
        assert served.inspect_url is not None
        assert send(served.inspect_url.partition("#")[0], "GET", None, {}).status == 200


@pytest.mark.parametrize(
    ("path", "views"),
    [("/inspect", {}), ("/", {"inspect": {"tools": ["*"], "token": "a-long-enough-secret"}})],
)
def test_an_endpoint_in_the_place_of_the_page_has_no_address_of_it(path: str, views: dict[str, Any]) -> None:
    with serving(ToolHub(), path=path, views=views) as served:
        assert served.inspect_url is None
