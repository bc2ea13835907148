"""The ledger: a row for each call that may have effects, before anything is sent; runs that give again what they have done."""

import asyncio
import json
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from toolhub import ToolError, ToolHub
from toolhub.agents import ChatLoop, CoordinationAgent, VerificationAgent


def opened(path: Path, done: list[Any], **options: Any) -> ToolHub:
    hub = ToolHub(store=path, **options)

    @hub.tool
    def send_mail(to: str, copies: float = 1) -> str:
        done.append(to)
        return f"sent {to}"

    @hub.tool
    async def send_later(to: str) -> str:
        done.append(to)
        return f"later {to}"

    @hub.tool(read_only=True)
    def read_mail(box: str) -> int:
        done.append(box)
        return len(done)

    @hub.tool
    def send_badly(to: str) -> str:
        done.append(to)
        raise OSError("the wire is cut")

    return hub


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


def test_calls_that_may_have_effects_have_a_row_and_reads_have_none(path: Path) -> None:
    with opened(path, []) as hub:
        assert hub.call("send_mail", {"to": "ann"}).result == "sent ann"
        assert asyncio.run(hub.execute("send_later", {"to": "bob"})).result == "later bob"
        assert hub.call("read_mail", {"box": "in"}).success
        assert not hub.call("send_badly", {"to": "cy"}).success
        rows = hub.ledger()
    assert [(row.tool, row.state) for row in rows] == [
        ("send_mail", "done"),
        ("send_later", "done"),
        ("send_badly", "failed"),
    ]
    assert all(row.run is None and row.principal == "" and row.source == "tools" for row in rows)
    assert json.loads(json.dumps(rows[0].to_dict()))["arguments"].startswith("sha256:")


# In other processes: two libraries of SQLite in one process do not see the locks of each other.
LOOK = """
import sqlite3, sys
print(sqlite3.connect(sys.argv[1]).execute("SELECT tool, state FROM ledger").fetchall())
"""
LOCK = """
import sqlite3, sys
other = sqlite3.connect(sys.argv[1], isolation_level=None)
other.execute("BEGIN IMMEDIATE")
print("locked", flush=True)
sys.stdin.read()
"""


def test_the_row_is_there_before_the_tool_runs(path: Path) -> None:
    seen: list[str] = []
    with ToolHub(store=path) as hub:

        @hub.tool
        def send_mail() -> None:
            seen.append(subprocess.check_output([sys.executable, "-c", LOOK, path], text=True))

        assert hub.call("send_mail").success
    assert seen == ["[('send_mail', 'started')]\n"]


def test_rows_outlive_the_process_and_spellings_of_arguments_are_the_same(path: Path) -> None:
    with opened(path, []) as hub:
        hub.call("send_mail", {"to": "caf\u00e9", "copies": 1})
        hub.call("send_mail", {"copies": 1.0, "to": "caf\u00e9"})
        hub.call("send_mail", {"copies": 1, "to": "cafe\u0301"})
        hub.call("send_mail", {"copies": 1, "to": "cafe\u0301"}, source="tools", meta={"tenant": 1})
    with opened(path, []) as hub:
        first, second, third, fourth = hub.ledger(tool="send_mail")
    assert first.key == second.key
    assert len({first.key, third.key, fourth.key}) == 3
    assert first.arguments == second.arguments != third.arguments == fourth.arguments
    assert first.definition == third.definition


def test_each_candidate_that_was_tried_has_its_own_row(path: Path) -> None:
    with ToolHub(store=path) as hub:

        def one() -> str:
            raise ToolError("no such thing", kind="connect")

        hub.register(one, name="send", priority=1)
        hub.register(lambda: "two", name="send", priority=2)
        result = hub.call("send", strategy="fallback")
        rows = hub.ledger()
    assert len({row.call for row in rows}) == 1
    assert len(rows) == (2 if result.success else 1)
    assert rows[-1].state in ("done", "failed")


def test_a_run_gives_again_what_it_has_done(path: Path) -> None:
    def program(done: list[Any]) -> list[Any]:
        with opened(path, done) as hub:
            return [
                hub.call("send_mail", {"to": "ann"}, run="r").result,
                hub.call("read_mail", {"box": "in"}, run="r").result,
                hub.call("send_mail", {"to": "ann"}, run="r").result,
                asyncio.run(hub.execute("send_later", {"to": "bob"}, run="r")).result,
                hub.call("send_badly", {"to": "cy"}, run="r").error,
            ]

    first: list[Any] = []
    again: list[Any] = []
    results = program(first)
    assert first == ["ann", "in", "ann", "bob", "cy"]  # two equal calls are two effects
    assert program(again) == results
    assert again == []


def test_dispatch_run_and_many_take_part_in_runs(path: Path) -> None:
    message = '<tool_call>{"name": "send_mail", "arguments": {"to": "ann"}}</tool_call>'
    counts: list[int] = []
    for _ in range(2):
        done: list[Any] = []
        with opened(path, done) as hub:
            assert hub.run_sync(message, run="r").results[0].result == "sent ann"
            assert hub.dispatch_sync({"tool_name": "send_later", "arguments": {"to": "b"}}, run="r").success
            many = hub.call_many([("send_mail", {"to": str(n)}) for n in range(5)], run="r")
            assert [one.result for one in many] == [f"sent {n}" for n in range(5)]
        counts.append(len(done))
    assert counts == [7, 0]


async def given_up(hub: ToolHub, began: asyncio.Event, tool: str, args: Any, **options: Any) -> None:
    """A call whose caller goes away when its tool has begun."""
    call = asyncio.ensure_future(hub.execute(tool, args, **options))
    await began.wait()
    call.cancel()
    await asyncio.wait({call})


def test_what_may_have_happened_is_asked_about_and_settled(path: Path) -> None:
    done: list[Any] = []
    began = asyncio.Event()
    with ToolHub(store=path) as hub:

        @hub.tool
        async def send_slowly(to: str) -> str:
            done.append(to)
            began.set()
            if len(done) == 1:
                await asyncio.sleep(60)
            return to

        asyncio.run(given_up(hub, began, "send_slowly", {"to": "a"}, run="r"))
        held = hub.call("send_slowly", {"to": "a"}, run="r")
        (row,) = hub.ledger("r", state="unknown")
        assert held.kind == "paused"
        assert row.id in str(held.error)
        assert done == ["a"]
        assert [one.id for one in hub.resume("r").unknown] == [row.id]
        hub.settle(row.id, "again")
        assert hub.call("send_slowly", {"to": "a"}, run="r").result == "a"
        assert done == ["a", "a"]
        with pytest.raises(ToolError, match="no row 'nobody'"):
            hub.settle("nobody", "done")
        with pytest.raises(ValueError, match="'done', 'failed' or 'again'"):
            hub.settle(row.id, "perhaps")  # type: ignore[arg-type]


@pytest.mark.parametrize(("decision", "success"), [("done", True), ("failed", False)])
def test_a_settled_call_is_not_made(path: Path, decision: Any, success: bool) -> None:
    done: list[Any] = []
    began = asyncio.Event()
    with ToolHub(store=path) as hub:

        @hub.tool
        async def send_slowly() -> None:
            done.append(1)
            began.set()
            await asyncio.sleep(60)

        asyncio.run(given_up(hub, began, "send_slowly", None, run="r"))
        hub.settle(hub.ledger("r")[0].id, decision, result={"by": "hand"})
        # No arguments at all are the same as none in a mapping.
        result = hub.call("send_slowly", {}, run="r")
    assert result.success is success
    assert done == [1]
    assert result.result == ({"by": "hand"} if success else None)


def test_a_tool_that_changed_is_not_called_again_in_its_run(path: Path) -> None:
    for description in ("Send it.", "Send it now."):
        done: list[Any] = []
        with ToolHub(store=path) as hub:
            hub.register(
                partial(done.append, 1), name="send", description=description, parameters={"type": "object"}
            )
            result = hub.call("send", run="r")
    assert result.kind == "paused"
    assert "a different definition" in str(result.error)
    assert done == []


SERVER = Path(__file__).parents[2] / "torture" / "ledger" / "server.py"


def test_a_run_knows_its_calls_by_their_server_before_and_after_it_has_listed_them(
    path: Path, tmp_path: Path
) -> None:
    effects = tmp_path / "effects"
    server = {"command": sys.executable, "args": [str(SERVER), str(effects)]}

    def life(*servers: str, lists: bool) -> list[bool]:
        with ToolHub({"mcpServers": {"one": server, "two": server}}, store=path) as hub:
            if lists:
                hub.refresh_sync()
            results = [hub.call("send", {"key": "x"}, server=one, run="r") for one in servers]
        assert all(result.success for result in results), results
        return [bool(result.meta.get("replayed")) for result in results]

    assert life("one", lists=False) == [False]
    assert life("one", lists=True) == [True]
    # Nothing of the other server is known to the run, though the call is the same.
    assert life("two", "one", lists=False) == [False, True]
    assert life("one", "two", lists=True) == [True, True]
    assert effects.read_text() == "x\nx\n"


def test_arguments_that_are_no_json_are_refused_in_a_run(path: Path) -> None:
    with ToolHub(store=path) as hub:
        hub.register(lambda x: None, name="send")
        result = hub.call("send", {"x": object()}, run="r")
        assert result.kind == "invalid_arguments"
        assert "not JSON" in str(result.error)
        assert hub.call("send", {"x": object()}).success


@pytest.mark.parametrize("harm", ["gone", "directory"])
def test_without_its_row_nothing_is_sent(tmp_path: Path, harm: str) -> None:
    folder = tmp_path / "store"
    folder.mkdir()
    path, done = folder / "store.db", list[Any]()
    hub, free = opened(path, done), opened(tmp_path / "free" / "store.db", done, ledger="optional")
    with hub, free:
        assert hub.call("send_mail", {"to": "a"}).success
        assert free.call("send_mail", {"to": "a"}).success
        for place in (path, tmp_path / "free" / "store.db"):
            place.unlink()
            if harm == "directory":
                place.mkdir()
        result = hub.call("send_mail", {"to": "b"})
        assert result.kind == "not_allowed"
        assert "ledger" in str(result.error)
        assert result.meta["error"]["outcome"] == "not_sent"
        assert hub.call("read_mail", {"box": "in"}).success
        assert free.call("send_mail", {"to": "d"}).success
    assert "b" not in done


def test_a_call_whose_row_waits_for_a_lock_is_not_sent(path: Path) -> None:
    done: list[Any] = []
    with opened(path, done) as hub:
        assert hub.call("send_mail", {"to": "a"}).success
        command = [sys.executable, "-c", LOCK, path]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
            assert other.stdout is not None
            assert other.stdout.readline() == "locked\n"
            late = hub.call("send_mail", {"to": "b"}, timeout=0.2)
            assert late.kind == "timeout"
            assert late.meta["error"]["outcome"] == "not_sent"
            assert hub.call("read_mail", {"box": "in"}).success
            other.communicate()
        assert hub.call("send_mail", {"to": "c"}).success
        row = hub.ledger(state="not_sent")[0]
        assert (row.state, row.error, row.repeatable) == ("not_sent", "it was not started", False)
    assert done == ["a", "in", "c"]


PROGRAM = """
import sys, time
from toolhub import ToolHub
hub = ToolHub(store=sys.argv[1])
@hub.tool
def send(n: int) -> int:
    with open(sys.argv[2], "a") as file:
        file.write(f"{n}\\n")
    if sys.argv[3] == str(n):
        print("there", flush=True)
        time.sleep(600)
    return n
for n in range(3):
    result = hub.call("send", {"n": n}, run="r")
    print(result.result if result.success else result.kind, flush=True)
    if not result.success:
        break
"""


def start(store: Path, effects: Path, stop_at: str) -> "subprocess.Popen[str]":
    command = [sys.executable, "-c", PROGRAM, str(store), str(effects), stop_at]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def test_a_killed_program_started_again_does_nothing_twice(tmp_path: Path) -> None:
    store, effects = tmp_path / "store.db", tmp_path / "effects"
    with start(store, effects, "1") as first:
        assert first.stdout is not None
        assert [first.stdout.readline() for _ in range(2)] == ["0\n", "there\n"]
        # It is under way: another process neither calls its row unknown nor gets its run.
        with ToolHub(store=store) as hub:
            assert [row.state for row in hub.ledger("r")] == ["done", "started"]
            with pytest.raises(
                ToolError, match="another hub, in this process or another one, is working on run 'r'"
            ):
                hub.resume("r")
        with start(store, effects, "") as second:
            assert second.communicate(timeout=60)[0] == "not_allowed\n"
        first.kill()
    with start(store, effects, "") as third:
        assert third.communicate(timeout=60)[0] == "0\npaused\n"
    with ToolHub(store=store) as hub:
        (row,) = hub.ledger("r", state="unknown")
        hub.settle(row.id, "done", 1)
    with start(store, effects, "") as fourth:
        assert fourth.communicate(timeout=60)[0] == "0\n1\n2\n"
    assert effects.read_text() == "0\n1\n2\n"


def test_runs_without_a_store_are_kept_in_memory() -> None:
    done: list[int] = []
    with ToolHub() as hub:
        hub.register(lambda: done.append(1), name="send")
        hub.call("send")
        assert hub.ledger() == []
        hub.call("send", run="r")
        with hub.resume("r"):
            assert hub.call("send", run="r").meta["replayed"]
        assert len(hub.ledger("r")) == 1
        assert len(done) == 2


def test_bad_options_are_refused(path: Path) -> None:
    with pytest.raises(ValueError, match="ledger must be 'required', 'optional' or 'off'"):
        ToolHub(ledger="maybe")  # type: ignore[arg-type]
    with opened(path, []) as hub:
        with pytest.raises(TypeError):
            hub.call("send_mail", {"to": "a"}, run=3)  # type: ignore[arg-type]
        with pytest.raises(ValueError, match="empty"):
            hub.call("send_mail", {"to": "a"}, run="")
        for name in (" ", "\u200b", "\n\t\u2060"):
            with pytest.raises(ValueError, match="without visible characters"):
                hub.call("send_mail", {"to": "a"}, run=name)
        with pytest.raises(
            ToolError, match=r"The ledger has no row 'a{100}…' with an unknown outcome"
        ) as caught:
            hub.settle("\u200b" + "a" * 100_000, "done")
        assert "\u200b" not in str(caught.value)
        too_many = hub.call("send_mail", {"to": "a", "more": list(range(200_001))})
        assert (too_many.kind, too_many.meta["error"]["outcome"]) == ("limit", "not_sent")


@pytest.mark.parametrize("reason", ["", " ", "\u200b"])
def test_an_empty_reason_is_no_reason(path: Path, reason: str) -> None:
    with opened(path, []) as hub:
        waiting = hub.call("send_mail", {"to": "a"}, approve="ask").paused
        assert waiting is not None
        hub.deny(waiting, reason)
        refused = hub.call("send_mail", {"to": "a"}, approve="ask")
        assert str(refused.error) == "Tool 'send_mail' was not called: it was not approved."


def test_agents_take_part_in_runs(path: Path) -> None:
    plan = '[{"id": 1, "description": "Send it", "tool_type": "send_mail", "arguments": {"to": "ann"}}]'
    call = '<tool_call>{"name": "send_later", "arguments": {"to": "bob"}}</tool_call>'
    counts: list[int] = []
    for _ in range(2):
        done: list[Any] = []
        with opened(path, done) as hub:
            answer = asyncio.run(CoordinationAgent(hub, lambda _: plan, run="r").answer("Send it"))
            assert answer.text == "sent ann"
            script = iter([call, "I have sent it."])
            talked = asyncio.run(
                ChatLoop(hub, lambda _, script=script: next(script), run="r").answer("Send it later")
            )
            assert talked.text == "I have sent it."
            rows = [row.to_dict() for row in hub.ledger("r")]
        counts.append(len(done))
    assert counts == [2, 0]
    # What an answer claims is looked up in the ledger.
    check = VerificationAgent().verify_result
    assert asyncio.run(check("I have sent the mail.", evidence=rows))["verified"]
    assert not asyncio.run(check("I have deleted the mail.", evidence=rows))["verified"]


@pytest.mark.parametrize("decision", [None, "failed", "again"])
def test_a_success_is_kept_although_another_candidate_was_stopped(path: Path, decision: Any) -> None:
    made: list[str] = []

    def opened() -> ToolHub:
        hub = ToolHub(store=path)

        async def slow(number: int) -> str:
            made.append("slow")
            await asyncio.Event().wait()
            return "slow"

        async def fast(number: int) -> str:
            made.append("fast")
            return "fast"

        hub.register(slow, name="work", source="tools")
        hub.register(fast, name="work", source="skills")
        return hub

    with opened() as hub:
        assert hub.call("work", {"number": 1}, run="r", strategy="first").result == "fast"
        assert sorted(row.state for row in hub.ledger("r")) == ["done", "unknown"]
    made.clear()
    with opened() as hub:
        if decision is not None:
            (stopped,) = hub.ledger("r", state="unknown")
            hub.settle(stopped.id, decision)
        assert hub.call("work", {"number": 1}, run="r", strategy="first").result == "fast"
    assert made == []
