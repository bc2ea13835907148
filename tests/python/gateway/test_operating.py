"""Operating a served hub: draining, reloading, the audit log."""

from __future__ import annotations

import json
import os
import select
import signal
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from support import wire
from support.gateway import MODERN, bearer, python_of, send, serving
from toolhub import ToolError, ToolHub

sys.path.insert(0, str(Path(__file__).parents[2] / "mcp"))
import catalogue

HERE = Path(__file__).parent
PROGRAM, UPSTREAM = str(HERE / "programs.py"), str(HERE / "upstream.py")


def configure(path: Path, *names: str) -> None:
    """Servers with one tool each, named like it. The file is replaced, as editors do."""
    servers = {
        name: {"command": sys.executable, "args": [UPSTREAM, name, str(path.parent)]} for name in names
    }
    draft = path.with_suffix(".draft")
    draft.write_text(json.dumps({"mcpServers": servers}))
    draft.replace(path)


def appears(path: Path) -> None:
    """Waits for a file."""
    patience = threading.Event()
    for _ in range(int(wire.PATIENCE / 0.02)):
        if path.exists():
            return
        patience.wait(0.02)
    raise AssertionError(f"{path.name} did not appear")


def test_sigterm_drains(tmp_path: Path) -> None:
    config = tmp_path / "mcp.json"
    configure(config, "slow")
    with wire.command("--config", str(config), "--grace", "30") as program:
        url = program.url
        assert wire.get(url, "/readyz") == 200
        running = wire.send(url, "tools/call", {"name": "slow"})
        appears(tmp_path / "slow.begun")
        program.process.send_signal(signal.SIGTERM)
        while wire.get(url, "/readyz") == 200:
            pass
        assert wire.get(url, "/healthz") == 200
        status, refused, headers = wire.received(wire.send(url, "tools/call", {"name": "slow"}))
        assert (status, headers["Retry-After"]) == (503, "1")
        assert refused["error"] == {"code": -32000, "message": "The server is stopping; try again later"}
        (tmp_path / "slow.go").touch()
        _, answer, _ = wire.received(running)
        assert answer["result"]["content"][0]["text"] == "slow is done"
        assert program.process.wait(wire.PATIENCE) == 0


def test_sigterm_drains_on_stdio(tmp_path: Path) -> None:
    config = tmp_path / "mcp.json"
    configure(config, "slow")
    serve = ["-m", "toolhub", "serve", "--config", str(config), "--grace", "30"]
    with wire.running(*serve) as program:
        program.send(wire.message("tools/call", {"name": "slow"}, 1))
        appears(tmp_path / "slow.begun")
        program.process.send_signal(signal.SIGTERM)
        # The signal and the message may cross; requests are refused from some moment on.
        number = 2
        while not any("stopping" in line for line in program.output.lines):
            program.send(wire.message("tools/list", {}, number))
            program.output.wait_for(f'"id":{number}')
            number += 1
        (tmp_path / "slow.go").touch()
        assert "slow is done" in program.output.wait_for('"id":1,')
        assert program.process.wait(wire.PATIENCE) == 0


def test_calls_that_outlive_the_grace_are_cancelled_and_written_down(tmp_path: Path) -> None:
    config, audit = tmp_path / "mcp.json", tmp_path / "audit.ndjson"
    configure(config, "slow")
    with wire.command("--config", str(config), "--grace", "2", "--audit", str(audit)) as program:
        running = wire.send(program.url, "tools/call", {"name": "slow", "arguments": {"a": 1}})
        appears(tmp_path / "slow.begun")
        program.process.send_signal(signal.SIGTERM)
        _, answer, _ = wire.received(running)
        assert answer["error"]["message"] == "Request cancelled"
        assert program.process.wait(wire.PATIENCE) == 0
    (line,) = wire.audit_lines(audit)
    assert (line["tool"], line["outcome"]) == ("slow", "cancelled")


def test_the_first_list_has_the_tools_of_all_servers(tmp_path: Path) -> None:
    names = [f"tool{n}" for n in range(6)]
    configure(tmp_path / "mcp.json", *names)
    with wire.command("--config", str(tmp_path / "mcp.json")) as program:
        assert wire.tools(program.url) == names


def test_a_changed_file_is_reloaded_without_breaking_a_call(tmp_path: Path) -> None:
    config = tmp_path / "mcp.json"
    configure(config, "first", "second")
    with wire.command("--config", str(config)) as program:
        url = program.url
        assert wire.tools(url) == ["first", "second"]
        with wire.listening(url) as changes:
            changes.wait_for("acknowledged")
            running = wire.send(url, "tools/call", {"name": "first"})
            appears(tmp_path / "first.begun")
            configure(config, "second", "third")
            changes.wait_for("list_changed")
        program.errors.wait_for(f"reloaded {config}")
        assert wire.tools(url) == ["second", "third"]
        (tmp_path / "first.go").touch()
        _, answer, _ = wire.received(running)
        assert answer["result"]["content"][0]["text"] == "first is done"
        assert wire.call(url, "third", {"quick": True}) == "third is done"


def test_a_broken_file_changes_nothing(tmp_path: Path) -> None:
    config = tmp_path / "mcp.json"
    configure(config, "first")
    for broken in ('{"mcpServers": {', '{"mcpServers": {"second": {"command": 5}}}'):
        with wire.command("--config", str(config)) as program:
            url = program.url
            assert wire.tools(url) == ["first"]
            config.write_text(broken)
            line = program.errors.wait_for("the old one stays")
            assert str(config) in line
            assert wire.call(url, "first", {"quick": True}) == "first is done"
            configure(config, "first", "second")
            program.errors.wait_for(f"reloaded {config}")
            assert wire.tools(url) == ["first", "second"]
        configure(config, "first")


def test_sighup_reloads_and_opens_the_audit_log_again(tmp_path: Path) -> None:
    config, audit = tmp_path / "mcp.json", tmp_path / "audit.ndjson"
    tools = tmp_path / "tools"
    tools.mkdir()
    configure(config, "first")
    with wire.command("--config", str(config), "--tools", str(tools), "--audit", str(audit)) as program:
        url = program.url
        wire.call(url, "first", {"quick": True})
        audit.rename(tmp_path / "old.ndjson")
        (tools / "greet.py").write_text(
            'import toolhub\n\n@toolhub.tool\ndef greet() -> str:\n    "Greet."\n    return "hello"\n'
        )
        program.process.send_signal(signal.SIGHUP)
        program.errors.wait_for(f"reloaded {config}")
        appears(audit)
        wire.call(url, "first", {"quick": True})
        while "greet" not in wire.tools(url):
            pass
        assert wire.call(url, "greet") == "hello"
    assert [line["tool"] for line in wire.audit_lines(audit)] == ["first", "greet"]
    assert [line["tool"] for line in wire.audit_lines(tmp_path / "old.ndjson")] == ["first"]


def configure_serving(path: Path, /, **options: Any) -> None:
    draft = path.with_suffix(".draft")
    draft.write_text(json.dumps({"mcpServers": {}, "serve": options}))
    draft.replace(path)


def status(url: str, token: str) -> int:
    connection = wire.send(url, "tools/list", Authorization=f"Bearer {token}")
    return wire.received(connection)[0]


def test_tokens_views_and_limits_are_reloaded(tmp_path: Path) -> None:
    config = tmp_path / "mcp.json"
    old, new, reader = ("first-token-of-greta", "second-token-of-wilma", "third-token-of-heiner")
    configure_serving(config, token={"greta": old})
    with wire.command("--config", str(config)) as program:
        url = program.url
        assert (status(url, old), status(url, new)) == (200, 401)
        views = {"reader": {"tools": ["nothing_*"]}}
        tokens = {"wilma": new, "heiner": {"token": reader, "view": "reader"}}
        configure_serving(config, token=tokens, views=views, path="/other", name="other", max_in_flight=3)
        line = program.errors.wait_for("restart to apply")
        assert line.endswith("restart to apply the changes of serve: name, path")
        assert [status(url, token) for token in (old, new, reader)] == [401, 200, 200]
        assert status(f"{url}/reader", reader) == 200

        # Mistakes change nothing.
        configure_serving(config, token={"wilma": {"token": new, "view": "absent"}})
        line = program.errors.wait_for("the old one stays: serve:")
        assert "The token of 'wilma' is for the view 'absent'" in line
        assert status(url, new) == 200
        configure_serving(config)
        program.errors.wait_for("restart it to serve without")
        configure_serving(config, tokn={"greta": old})
        program.errors.wait_for("'tokn'")
        assert [status(url, token) for token in (old, new)] == [401, 200]

        configure_serving(config, token={"greta": old})
        program.process.send_signal(signal.SIGHUP)
        while status(url, old) != 200:
            pass
        assert status(url, new) == 401
        assert len([line for line in program.errors.lines if "restart to apply" in line]) == 1


def servers_and_options(path: Path, names: list[str], **options: Any) -> None:
    """A file with both sections."""
    configure(path, *names)
    draft = path.with_suffix(".draft")
    draft.write_text(json.dumps({**json.loads(path.read_text()), "serve": options}))
    draft.replace(path)


def test_a_mistake_in_one_section_or_file_changes_nothing_in_the_others(tmp_path: Path) -> None:
    first, second = tmp_path / "a.json", tmp_path / "b.json"
    servers_and_options(first, ["one"], max_in_flight=50)
    configure(second, "two")
    with wire.command("--config", str(first), "--config", str(second)) as program:
        url = program.url
        assert wire.tools(url) == ["one", "two"]

        # The options are wrong: the servers stay, those of the other file, too.
        configure(second, "two", "three")
        servers_and_options(first, [], max_in_flight="many")
        program.process.send_signal(signal.SIGHUP)
        assert "max_in_flight" in program.errors.wait_for("the old one stays: serve:")
        assert wire.tools(url) == ["one", "two"]

        # The servers of one file are wrong: the options of the other one stay.
        servers_and_options(first, [], max_in_flight=40, token={"greta": "first-token-of-greta"})
        second.write_text('{"mcpServers": {"three": {"command": 5}}}')
        program.process.send_signal(signal.SIGHUP)
        program.errors.wait_for(f"the old one stays: {second}")
        assert wire.tools(url) == ["one", "two"]

        # Nothing is wrong any more: all that has waited counts, also in the file that did not change again.
        configure(second, "two", "three")
        program.errors.wait_for(f"reloaded {first}: 0 servers, removed one")
        connection = wire.send(url, "tools/list", Authorization="Bearer first-token-of-greta")
        _, listed, _ = wire.received(connection)
        assert sorted(tool["name"] for tool in listed["result"]["tools"]) == ["three", "two"]
        assert wire.received(wire.send(url, "tools/list"))[0] == 401


def test_a_token_for_an_unknown_view_is_refused_at_the_start() -> None:
    hub = ToolHub()
    token = {"greta": {"token": "first-token-of-greta", "view": "reader"}}
    with pytest.raises(ToolError) as refused:
        hub.serve("http", port=0, token=token, views={"writer": {}, "admin": {}})
    assert str(refused.value).endswith(
        "The token of 'greta' is for the view 'reader', which does not exist; known views: 'admin', 'writer'."
    )
    with pytest.raises(ToolError, match="known views: none"):
        hub.asgi(token=token)


def test_each_call_has_a_line_in_the_audit_log(tmp_path: Path) -> None:
    config, audit = tmp_path / "mcp.json", tmp_path / "audit.ndjson"
    configure(config, "slow")
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / "own.py").write_text(
        "import toolhub\n\n@toolhub.tool\ndef twice(n: int) -> int:\n"
        '    "Double."\n    return 2 * n\n\n@toolhub.tool\ndef breaks() -> None:\n    "Break."\n    raise OSError\n'
    )
    arguments = ["--config", str(config), "--tools", str(tools), "--audit", str(audit)]
    with wire.command(*arguments, TOOLHUB_TOKEN="audit-secret") as program:
        url = program.url
        headers = {"Authorization": "Bearer audit-secret"}
        wire.call(url, "twice", {"n": 4}, **headers)
        wire.call(url, "twice", {"n": 4}, **headers)
        wire.call(url, "twice", {"n": "many"}, **headers)
        wire.call(url, "breaks", **headers)
        wire.call(url, "no_such_tool", **headers)
        wire.received(wire.send(url, "tools/call", {"name": "twice", "arguments": [4]}, **headers))
        vanishing = wire.send(url, "tools/call", {"name": "slow"}, **headers)
        appears(tmp_path / "slow.begun")
        vanishing.close()
        appears(tmp_path / "slow.cancelled")
        wire.call(url, "twice", {"n": 5}, **headers)
        program.process.send_signal(signal.SIGTERM)
        assert program.process.wait(wire.PATIENCE) == 0
    lines = wire.audit_lines(audit)
    assert "audit-secret" not in audit.read_text()
    envelope = {"v", "type", "time", "principal", "view", "outcome", "ms"}
    optional = {"call", "session"}
    assert all(set(line) - optional == envelope | {"tool", "candidate", "arguments"} for line in lines)
    assert {(line["v"], line["type"]) for line in lines} == {(2, "call")}
    outcomes: list[tuple[Any, Any]] = sorted((line["tool"], line["outcome"]) for line in lines)
    assert outcomes == [
        ("breaks", "tool_error"),
        ("no_such_tool", "not_found"),
        ("slow", "cancelled"),
        ("twice", "invalid_arguments"),
        ("twice", "invalid_arguments"),
        ("twice", "ok"),
        ("twice", "ok"),
        ("twice", "ok"),
    ]
    assert {line["principal"] for line in lines} == {"token:token"}
    digests = [line["arguments"] for line in lines if line["outcome"] == "ok"]
    assert digests[0] == digests[1] != digests[2]
    candidates = {
        (line["tool"], line["candidate"]) for line in lines if line["outcome"] in ("ok", "cancelled")
    }
    assert candidates == {("slow", "mcps:slow"), ("twice", "tools")}


def test_a_login_that_nobody_can_answer_fails_at_once_and_the_command_signs_in(tmp_path: Path) -> None:
    """With a server of the SDK that asks for OAuth."""
    server = "guarded-mcp2"
    try:
        catalogue.command(server)
    except catalogue.NotInstalled as missing:
        (pytest.fail if os.environ.get("CI") else pytest.skip)(str(missing))
    port, config = catalogue.free_port(), tmp_path / "mcp.json"
    entry = {"url": f"http://127.0.0.1:{port}/mcp", "auth": "oauth"}
    config.write_text(json.dumps({"mcpServers": {"guarded": entry}}))
    # The browser of a person who agrees to everything.
    browser = tmp_path / "browser"
    browser.write_text(
        f"#!{sys.executable}\nimport sys, urllib.request\nurllib.request.urlopen(sys.argv[1]).read()\n"
    )
    browser.chmod(0o755)
    own = {"HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path), "XDG_DATA_HOME": str(tmp_path)}
    serve = ["--config", str(config)]
    with catalogue.listening(server, str(port), port=port):
        with wire.command(*serve, **own) as program:
            assert wire.call(program.url, "granted").endswith(
                "The server 'guarded' requires a login; run 'toolhub login guarded' on this machine."
            )
        login = ["-m", "toolhub", "login", "guarded", "--config", str(config)]
        with wire.running(*login, BROWSER=str(browser), **own) as signing_in:
            assert signing_in.process.wait(wire.PATIENCE) == 0, signing_in.errors.lines
        with wire.command(*serve, **own) as program:
            assert "code" in wire.call(program.url, "granted")


def replaced(config: Path, servers: dict[str, Path]) -> None:
    """Servers with the tool `slow` and one slot each, by name and folder."""
    entries = {
        name: {
            "command": sys.executable,
            "args": [UPSTREAM, "slow", str(folder)],
            "toolhub": {"max_concurrency": 1},
        }
        for name, folder in servers.items()
    }
    draft = config.with_suffix(".draft")
    draft.write_text(json.dumps({"mcpServers": entries}))
    draft.replace(config)


def until_running(url: str, number: int) -> None:
    """Waits until the gateway works on this many requests."""
    patience = threading.Event()
    for _ in range(int(wire.PATIENCE / 0.02)):
        if f"toolhub_gateway_requests {number}\n" in wire.page(url, "/metrics"):
            return
        patience.wait(0.02)
    raise AssertionError(f"{number} requests are not running")


def test_a_call_that_waits_moves_to_the_server_that_replaces_its_own(tmp_path: Path) -> None:
    """One call runs on the old server and ends there; the one that waits for its slot runs on the new one, at once."""
    config, old, new = tmp_path / "mcp.json", tmp_path / "old", tmp_path / "new"
    old.mkdir()
    new.mkdir()
    replaced(config, {"only": old})
    with wire.command("--config", str(config)) as program:
        url = program.url
        running = wire.send(url, "tools/call", {"name": "slow"})
        appears(old / "slow.begun")
        waiting = wire.send(url, "tools/call", {"name": "slow"})
        until_running(url, 2)
        replaced(config, {"only": new})
        appears(new / "slow.begun")
        (new / "slow.go").touch()
        _, answer, _ = wire.received(waiting)
        assert answer["result"]["content"][0]["text"] == "slow is done"
        (old / "slow.go").touch()
        _, answer, _ = wire.received(running)
        assert answer["result"]["content"][0]["text"] == "slow is done"


def test_a_call_that_waits_for_a_removed_server_is_refused(tmp_path: Path) -> None:
    """It neither waits for ever nor runs on a server that the configuration does not name any more."""
    config, old, other = tmp_path / "mcp.json", tmp_path / "old", tmp_path / "other"
    old.mkdir()
    other.mkdir()
    replaced(config, {"only": old})
    with wire.command("--config", str(config)) as program:
        url = program.url
        running = wire.send(url, "tools/call", {"name": "slow"})
        appears(old / "slow.begun")
        waiting = wire.send(url, "tools/call", {"name": "slow"})
        until_running(url, 2)
        configure(config, "other")
        _, answer, _ = wire.received(waiting)
        assert answer["error"]["message"] == "Unknown tool: slow"
        (old / "slow.go").touch()
        _, answer, _ = wire.received(running)
        assert answer["result"]["content"][0]["text"] == "slow is done"


def test_refusals_searches_and_reads_are_in_the_audit_log(tmp_path: Path) -> None:
    """Each kind has its line, without a secret, and a client that tries again and again does not fill the log."""
    config, audit = tmp_path / "mcp.json", tmp_path / "audit.ndjson"
    suite = HERE.parents[1] / "mcp" / "conformance"
    serve = {"token": {"ann": "audit-secret", "bob": "other-secret"}, "search_mode": "on", "max_in_flight": 3}
    server = {"command": python_of("mcp1"), "args": [str(suite / "upstream_legacy.py")]}
    slow = {"command": sys.executable, "args": [UPSTREAM, "slow", str(tmp_path)]}
    config.write_text(json.dumps({"mcpServers": {"notes": server, "slow": slow}, "serve": serve}))
    own, other = ({"Authorization": f"Bearer {token}"} for token in ("audit-secret", "other-secret"))
    with wire.command("--config", str(config), "--audit", str(audit)) as program:
        url = program.url

        def ask(method: str, params: Any) -> Any:
            return wire.received(wire.send(url, method, params, **own))[1]

        ask("tools/list", {})  # waits for the servers
        tools = {"search_tools": {"query": "hunter2"}, "describe_tool": {"name": "slow"}}
        for name, arguments in tools.items():
            assert "result" in ask("tools/call", {"name": name, "arguments": arguments})
        ask("tools/call", {"name": "describe_tool", "arguments": {"name": "no_such_tool"}})
        ask("tools/describe", {"name": "slow"})
        uri = "test://static-text"
        read = wire.send(url, "resources/read", {"uri": uri}, **own, **{"Mcp-Name": uri})
        assert wire.received(read)[1]["result"]["contents"]
        ask("prompts/get", {"name": "test_simple_prompt"})
        for _ in range(50):
            assert wire.received(wire.send(url, "tools/list", {}, Authorization="Bearer hunter2"))[0] == 401
        slow_call = {"name": "call_tool", "arguments": {"name": "slow"}}
        running = [wire.send(url, "tools/call", slow_call, **other) for _ in range(3)]
        refused = 1
        while wire.received(wire.send(url, "tools/list", {}, **other))[0] != 429:
            # The list may have taken the place of a call, which is refused then.
            for number, one in enumerate(running):
                if select.select([one.sock], [], [], 0)[0]:
                    assert wire.received(one)[0] == 429
                    refused += 1
                    running[number] = wire.send(url, "tools/call", slow_call, **other)
        appears(tmp_path / "slow.begun")
        program.process.send_signal(signal.SIGTERM)
        while wire.get(url, "/readyz") == 200:
            pass
        assert wire.received(wire.send(url, "tools/list", {}, **own))[0] == 503
        (tmp_path / "slow.go").touch()
        for one in running:
            assert wire.received(one)[0] == 200
        assert program.process.wait(wire.PATIENCE) == 0
    text, lines = audit.read_text(), wire.audit_lines(audit)
    assert not any(secret in text for secret in ("audit-secret", "other-secret", "hunter2"))
    envelope = {"v", "type", "time", "principal", "view", "outcome", "ms"}
    assert all(envelope <= set(line) for line in lines)
    seen = {
        (
            line["type"],
            line["principal"],
            line.get("tool") or line.get("uri") or line.get("prompt"),
            line["outcome"],
        )
        for line in lines
        if line["type"] != "refusal"
    }
    assert seen == {
        ("search", "token:ann", None, "ok"),
        ("describe", "token:ann", "slow", "ok"),
        ("describe", "token:ann", "no_such_tool", "not_found"),
        ("resource", "token:ann", uri, "ok"),
        ("prompt", "token:ann", "test_simple_prompt", "ok"),
        ("call", "token:bob", "slow", "ok"),
    }
    counts: dict[Any, int] = {}
    for line in lines:
        if line["type"] == "refusal":
            key = (line["status"], line["principal"], line["outcome"])
            counts[key] = counts.get(key, 0) + line["count"]
    assert counts == {
        (401, "", "auth"): 50,
        (429, "token:bob", "overloaded"): refused,
        (503, "token:ann", "closed"): 1,
    }
    assert len([line for line in lines if line["type"] == "refusal"]) < 40


CALL = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "tools/call",
    "params": {"name": "add", "arguments": {"a": 1, "b": 2}},
}


def modern(version: str = MODERN, tool: str = "add") -> dict[str, str]:
    """The headers of a modern call."""
    return {"MCP-Protocol-Version": version, "Mcp-Method": "tools/call", "Mcp-Name": tool}


def speaking(version: str = MODERN, **params: Any) -> dict[str, Any]:
    """A modern call, with these parameters instead of its own."""
    meta = {**wire.META, "io.modelcontextprotocol/protocolVersion": version}
    return {**CALL, "params": {**(params or CALL["params"]), "_meta": meta}}


INCAPABLE = {
    **CALL,
    "params": {**CALL["params"], "_meta": {"io.modelcontextprotocol/protocolVersion": MODERN}},
}
REFUSED: dict[str, tuple[dict[str, str], Any, int]] = {
    "forger": ({"Mcp-Session-Id": "hunter2"}, CALL, 404),
    "liar": (modern(tool="other"), speaking(), 400),
    "visitor": (modern("2030-01-01"), speaking("2030-01-01"), 400),
    "silent": (modern(), INCAPABLE, 400),
    "forgetful": ({"Mcp-Session-Id": "own", "MCP-Protocol-Version": "2025-03-26"}, CALL, 400),
    "hasty": ({"Mcp-Session-Id": "own", "MCP-Protocol-Version": "2025-06-18"}, [CALL, CALL], 400),
    "double": ({"MCP-Protocol-Version": "2025-03-26", "Mcp-Session-Id": "own"}, [CALL, CALL], 200),
    "writer": ({**modern(), "Content-Type": "text/plain"}, speaking(), 415),
    "nameless": (modern(), speaking(arguments={}), 400),
}
"""Callers and what they send: headers, message, and the status that they get."""


def test_each_refused_call_has_a_line_in_the_audit_log(tmp_path: Path) -> None:
    hub, audit = ToolHub(), tmp_path / "audit.ndjson"

    @hub.tool
    def add(a: int, b: int) -> int:  # pyright: ignore[reportUnusedFunction]
        """Add two numbers."""
        return a + b

    tokens = {name: f"secret-of-{name}" for name in REFUSED}
    usual = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    with serving(hub, token=tokens, audit=str(audit), metrics_token="the-operator") as served:
        for name, (headers, message, status) in REFUSED.items():
            own = {**usual, **bearer(tokens[name])}
            if headers.get("Mcp-Session-Id") == "own":
                version = "2025-03-26" if name == "double" else "2025-06-18"
                params = {"protocolVersion": version, "capabilities": {}, "clientInfo": {}}
                hello = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}
                opened = send(served.url, "POST", json.dumps(hello), own)
                headers = {**headers, "Mcp-Session-Id": opened.headers["mcp-session-id"]}
            assert send(served.url, "POST", json.dumps(message), {**own, **headers}).status == status, name
        metrics = send(served.url.replace("/mcp", "/metrics"), "GET", None, bearer("the-operator")).text
    text, lines = audit.read_text(), wire.audit_lines(audit)
    assert "secret-of" not in text
    assert "hunter2" not in text
    found = {
        (line["principal"].removeprefix("token:"), line["type"], line.get("status"), line["outcome"])
        for line in lines
    }
    refusals = [
        (name, "refusal", 400 if status == 200 else status, "not_found" if status == 404 else "protocol")
        for name, (_, _, status) in REFUSED.items()
        if name != "nameless"
    ]
    calls = [("nameless", "call", None, "invalid_arguments"), ("double", "call", None, "ok")]
    assert found == {*refusals, *calls}
    assert len(lines) == len(found)
    assert 'toolhub_gateway_refusals_total{http_response_status_code="400"} 6' in metrics


def test_refusals_on_stdio_are_in_the_audit_log(tmp_path: Path) -> None:
    audit = tmp_path / "audit.ndjson"
    with wire.running("-m", "toolhub", "serve", "--audit", str(audit)) as program:
        for message, answer in (
            ({**CALL, "id": 1}, '"id":1,'),
            ({**speaking("2030-01-01"), "id": 2}, '"id":2,'),
            ([CALL], '"id":null,'),
        ):
            program.send(message)
            assert "error" in program.output.wait_for(answer)
        assert program.process.stdin is not None
        program.process.stdin.close()
        assert program.process.wait(wire.PATIENCE) == 0
    lines = wire.audit_lines(audit)
    assert {(line["type"], line["status"], line["principal"]) for line in lines} == {("refusal", 400, "")}
    assert sum(line["count"] for line in lines) == 3
