"""The end of a served hub: tools that will not end, clients that do not read, Ctrl-C."""

from __future__ import annotations

import asyncio
import http.client
import signal
import socket
import threading
from pathlib import Path
from typing import Any

import pytest

from support import wire
from support.gateway import LegacyClient, ask, served
from toolhub import ToolHub, _lifecycle, current_call

GRACE = 5
"""Seconds. Calls are cancelled after three of them and answered after four; the rest is for the exit. A busy machine may need
longer for that, so no test measures it."""

PROGRAM = f"""
import asyncio, sys, time
from toolhub import ToolHub

hub = ToolHub()

def say(line):
    print(line, file=sys.stderr, flush=True)

@hub.tool
def stubborn() -> str:
    "Do not look at anything."
    say("stubborn begins")
    time.sleep(60)
    return "late"

@hub.tool
async def deaf() -> str:
    "Ignore every cancellation."
    say("deaf begins")
    end = time.monotonic() + 60
    while time.monotonic() < end:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            pass
    return "late"

@hub.resources.add("memo://deaf")
async def memo() -> str:
    "Ignore every cancellation."
    say("memo begins")
    return await deaf()

@hub.tool
async def long(size: int = 1) -> str:
    "Wait for the end of the process, or answer with much text."
    say("long begins")
    if size == 1:
        await asyncio.sleep(60)
    return "x" * size

def ready(serving):
    say(f"serving at {{serving.url}}")

if sys.argv[1] == "stdio":
    hub.serve(grace={GRACE})
else:
    hub.serve("http", port=0, ready=ready, grace={GRACE}, audit=sys.argv[2])
say("serve has returned")
"""


def answer_to(connection: http.client.HTTPConnection, answers: dict[str, Any], name: str) -> threading.Thread:
    """Receives an answer beside the test."""

    def receive() -> None:
        answers[name] = wire.received(connection)[1]

    thread = threading.Thread(target=receive)
    thread.start()
    return thread


def test_tools_that_ignore_the_end_are_answered_for_and_do_not_hold_up_the_process(
    tmp_path: Path,
) -> None:
    audit, answers = tmp_path / "audit.ndjson", dict[str, Any]()
    with wire.running("-c", PROGRAM, "http", str(audit)) as program:
        url = program.url
        clients = []
        for name in ("stubborn", "deaf"):
            clients.append(answer_to(wire.send(url, "tools/call", {"name": name}), answers, name))
            program.errors.wait_for(f"{name} begins")
        read = wire.send(url, "resources/read", {"uri": "memo://deaf"}, **{"Mcp-Name": "memo://deaf"})
        clients.append(answer_to(read, answers, "memo"))
        program.errors.wait_for("memo begins")
        program.process.send_signal(signal.SIGTERM)
        assert program.process.wait(wire.PATIENCE) == 0
        for client in clients:
            client.join(wire.PATIENCE)
    assert {name: answer["error"]["message"] for name, answer in answers.items()} == dict.fromkeys(
        ("stubborn", "deaf", "memo"), "Request cancelled"
    )
    lines = [line for line in wire.audit_lines(audit) if line["type"] == "call"]
    assert sorted((line["tool"], line["candidate"], line["outcome"]) for line in lines) == [
        ("deaf", "tools", "cancelled"),
        ("stubborn", "tools", "cancelled"),
    ]


def test_a_tool_that_ignores_the_end_is_answered_for_on_stdio() -> None:
    with wire.running("-c", PROGRAM, "stdio") as program:
        program.send(wire.message("tools/call", {"name": "deaf"}, 1))
        program.errors.wait_for("deaf begins")
        program.process.send_signal(signal.SIGTERM)
        assert "Request cancelled" in program.output.wait_for('"id":1,')
        assert program.process.wait(wire.PATIENCE) == 0


def test_a_client_that_does_not_read_does_not_hold_up_the_end(tmp_path: Path) -> None:
    with wire.running("-c", PROGRAM, "http", str(tmp_path / "audit")) as program:
        connection = wire.send(program.url, "tools/call", {"name": "long", "arguments": {"size": 8_000_000}})
        assert connection.sock is not None
        # The system would let it grow above the answer.
        connection.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.sock.recv(1, socket.MSG_PEEK)
        program.process.send_signal(signal.SIGTERM)
        assert program.process.wait(wire.PATIENCE) == 0
        connection.close()


@pytest.mark.parametrize("transport", ["stdio", "http"])
def test_ctrl_c_drains_and_serve_returns(transport: str, tmp_path: Path) -> None:
    with wire.running("-c", PROGRAM, transport, str(tmp_path / "audit")) as program:
        if transport == "http":
            assert wire.get(program.url, "/readyz") == 200
        else:
            program.send(wire.message("tools/list", {}, 1))
            program.output.wait_for('"id":1,')
        program.process.send_signal(signal.SIGINT)
        assert program.process.wait(wire.PATIENCE) == 0
        program.errors.wait_for("serve has returned")
        assert not [line for line in program.errors.lines if "KeyboardInterrupt" in line]


def test_the_second_ctrl_c_ends_serving_at_once_and_serve_returns(tmp_path: Path) -> None:
    with wire.running("-c", PROGRAM, "http", str(tmp_path / "audit")) as program:
        url = program.url
        connection = wire.send(url, "tools/call", {"name": "long"})
        program.errors.wait_for("long begins")
        program.process.send_signal(signal.SIGINT)
        while wire.get(url, "/readyz") == 200:
            pass
        program.process.send_signal(signal.SIGINT)
        assert program.process.wait(wire.PATIENCE) == 0
        program.errors.wait_for("serve has returned")
        assert not [line for line in program.errors.lines if "KeyboardInterrupt" in line]
        connection.close()
    (line,) = wire.audit_lines(tmp_path / "audit")
    assert (line["tool"], line["outcome"]) == ("long", "cancelled")


def test_a_handler_of_the_program_for_ctrl_c_stays() -> None:
    program = (
        "import signal, sys\n"
        "from toolhub import ToolHub\n"
        "def own(*_): raise SystemExit('own handler')\n"
        "signal.signal(signal.SIGINT, own)\n"
        "ToolHub().serve('http', port=0, ready=lambda serving: signal.raise_signal(signal.SIGINT))\n"
    )
    with wire.running("-c", program) as running:
        assert running.process.wait(wire.PATIENCE) == 1
        running.errors.wait_for("own handler")


def test_what_hangs_at_the_exit_gets_a_share_of_what_is_left_of_the_grace() -> None:
    assert _lifecycle.patience(7.0) == 7.0
    try:
        _lifecycle.end_within(100.0)
        assert _lifecycle.patience(1.0) == 1.0
        assert _lifecycle.patience(1000.0) <= 10.0
        assert _lifecycle.patience(1000.0, 0.5) <= 50.0
        _lifecycle.end_within(0.0)
        assert _lifecycle.patience(1.0) <= 0.02
    finally:
        _lifecycle.end_within(None)
    assert _lifecycle.patience(7.0) == 7.0


@pytest.mark.anyio
async def test_tasks_that_run_may_end_while_draining(tmp_path: Path) -> None:
    hub, audit = ToolHub(), tmp_path / "audit.ndjson"
    names = ("fetched", "cancelled", "left")
    begun, go = ({name: asyncio.Event() for name in names} for _ in range(2))

    @hub.tool
    async def slow(name: str) -> str:  # pyright: ignore[reportUnusedFunction]
        """Wait for the test."""
        begun[name].set()
        await go[name].wait()
        return f"{name} is done"

    async with served(hub, audit=str(audit), grace=120) as serving:
        client, tasks = LegacyClient(serving.url), dict[str, Any]()
        await client.start()
        for name in names:
            reply = await client.ask(
                "tools/call", {"name": "slow", "arguments": {"name": name}, "task": {"ttl": 600_000}}
            )
            tasks[name] = {"taskId": reply.result["task"]["taskId"]}
            await begun[name].wait()
        serving.stop()
        while (await ask(serving.url, "tools/list")).status != 503:
            pass
        assert (await client.ask("tasks/get", tasks["left"])).result["status"] == "working"
        assert (await client.ask("tasks/cancel", tasks["cancelled"])).result["status"] == "cancelled"
        fetching = asyncio.create_task(client.ask("tasks/result", tasks["fetched"]))
        go["fetched"].set()
        assert (await fetching).content == "fetched is done"
        # Nobody waits for this one.
        go["left"].set()
    lines = [line for line in wire.audit_lines(audit) if line["type"] == "call"]
    assert sorted(line["outcome"] for line in lines) == ["cancelled", "ok", "ok"]


@pytest.mark.anyio
async def test_the_answers_of_a_client_are_taken_while_draining(tmp_path: Path) -> None:
    hub, audit = ToolHub(), tmp_path / "audit.ndjson"
    begun, go = asyncio.Event(), asyncio.Event()

    @hub.tool
    async def greet() -> str:  # pyright: ignore[reportUnusedFunction]
        """Ask twice."""
        first = await current_call().ask("Who are you?", key="first")
        begun.set()
        await go.wait()
        second = await current_call().ask("And who is that?", key="second")
        return f"{first.action}, {second.action}"

    capabilities = {"io.modelcontextprotocol/clientCapabilities": {"elicitation": {"form": {}}}}
    call = {"name": "greet", "arguments": {}, "_meta": capabilities}
    async with served(hub, audit=str(audit), grace=120) as serving:

        async def answer(reply: Any, key: str, action: str) -> Any:
            assert list(reply.result["inputRequests"]) == [key]
            state = {
                "requestState": reply.result["requestState"],
                "inputResponses": {key: {"action": action}},
            }
            return await ask(serving.url, "tools/call", {**call, **state})

        asked = await ask(serving.url, "tools/call", call)
        serving.stop()
        while (await ask(serving.url, "tools/list")).status != 503:
            pass
        assert (await ask(serving.url, "tools/call", call)).status == 503
        forged = await ask(serving.url, "tools/call", {**call, "requestState": "none"})
        assert "requestState" in forged.message["error"]["message"]
        answering = asyncio.create_task(answer(asked, "first", "accept"))
        await begun.wait()
        go.set()
        assert (await answer(await answering, "second", "decline")).content == "accept, decline"
    calls = [line["outcome"] for line in wire.audit_lines(audit) if line["type"] == "call"]
    assert calls == ["invalid_arguments", "ok"]
