"""Approvals that are kept in the store: bound to what was shown, used once, expiring."""

import json
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from toolhub import ToolError, ToolHub


def message(args: dict[str, Any], name: str = "send_mail") -> Any:
    return {"role": "assistant", "tool_calls": [
        {"id": "c", "type": "function", "function": {"name": name, "arguments": json.dumps(args)}}
    ]}  # fmt: skip


def opened(path: Path | None, done: list[Any], description: str = "Send it.", **options: Any) -> ToolHub:
    hub = ToolHub(store=path, **options)
    for name in ("send_mail", "send_letter"):
        hub.register(
            lambda to, copies=1, **more: done.append(to) or "sent", name=name, description=description
        )
    hub.register(lambda: 1, name="look", read_only=True)
    return hub


def asked(hub: ToolHub, args: dict[str, Any], name: str = "send_mail", **options: Any) -> Any:
    return hub.run_sync(message(args, name), approve="ask", **options).results[0]


def test_a_call_waits_and_goes_on_in_another_process(tmp_path: Path) -> None:
    path, done = tmp_path / "store.db", list[Any]()
    with opened(path, done) as hub:
        waiting = asked(hub, {"to": "ann"})
        assert waiting.kind == "paused"
        assert waiting.paused in str(waiting.error)
        assert done == []
        assert asked(hub, {"to": "ann"}).paused == waiting.paused
        assert asked(hub, {}, "look").result == 1
        (row,) = hub.pending()
        assert row.id == waiting.paused
        assert row.shown == 'send_mail {"to":"ann"}'
    cli = [sys.executable, "-m", "toolhub"]
    shown = subprocess.run([*cli, "pending", "--store", path, "--json"], capture_output=True, check=True)
    assert [row["id"] for row in json.loads(shown.stdout)["pending"]] == [waiting.paused]
    subprocess.run([*cli, "approve", waiting.paused, "--store", path], check=True, capture_output=True)
    again = subprocess.run(
        [*cli, "approve", waiting.paused, "--store", path], capture_output=True, check=False
    )
    assert again.returncode == 5
    assert b"was already given" in again.stderr
    with opened(path, done) as hub:
        assert asked(hub, {"to": "ann"}).result == "sent"
        assert done == ["ann"]
        assert asked(hub, {"to": "ann"}).kind == "paused"
        assert done == ["ann"]
    listed = subprocess.run([*cli, "ledger", "--store", path], capture_output=True, check=True, text=True)
    assert "done" in listed.stdout
    assert "send_mail" in listed.stdout


def test_a_denied_call_says_why(tmp_path: Path) -> None:
    with opened(tmp_path / "store.db", []) as hub:
        hub.deny(asked(hub, {"to": "ann"}).paused, "not on Mondays")
        result = asked(hub, {"to": "ann"})
        assert result.kind == "not_allowed"
        assert "not on Mondays" in str(result.error)
        with pytest.raises(ToolError, match="No call waits for approval 'x'"):
            hub.approve("x")


def test_an_approval_expires(tmp_path: Path) -> None:
    done: list[Any] = []
    with opened(tmp_path / "store.db", done, limits={"approval_lifetime": 0.000001}) as hub:
        waiting = asked(hub, {"to": "ann"})
        with pytest.raises(ToolError):
            hub.approve(waiting.paused)
        assert asked(hub, {"to": "ann"}).paused != waiting.paused
        assert done == []


def test_spellings_of_the_same_call_are_the_same(tmp_path: Path) -> None:
    done: list[Any] = []
    with opened(tmp_path / "store.db", done) as hub:
        hub.approve(asked(hub, {"to": "caf\u00e9", "copies": 1}, run="r").paused)
        # Texts count byte by byte: on most disks these are two files.
        assert asked(hub, {"copies": 1, "to": "cafe\u0301"}, run="r").kind == "paused"
        assert asked(hub, {"copies": 1.0, "to": "caf\u00e9"}, run="r").success
        assert len(done) == 1


def mutated(rng: random.Random, args: dict[str, Any]) -> dict[str, Any]:
    """Other arguments: one byte of a text, one digit of a number, or one member more."""
    other = dict(args)
    kind = rng.randrange(4)
    if kind == 0:
        at = rng.randrange(len(args["to"]))
        letter = chr((ord(args["to"][at]) - 32 + rng.randrange(1, 90)) % 94 + 32)
        letter = "~" if letter == args["to"][at] else letter
        other["to"] = args["to"][:at] + letter + args["to"][at + 1 :]
    elif kind == 1:
        other["copies"] = args["copies"] + rng.choice([1, -1, 0.5, 10**20])
    elif kind == 2:
        other[f"more{rng.randrange(100)}"] = rng.choice([None, 0, "", False])
    else:
        other["to"] = args["to"] + rng.choice([" ", "\n", "\u200b", "a", "\u0301"])
    return other


def test_a_thousand_mutations_are_refused(tmp_path: Path) -> None:
    rng, done = random.Random(7), list[Any]()
    args = {"to": "ann@example.org", "copies": 2}
    path = tmp_path / "store.db"
    with opened(path, done) as hub, opened(path, done, "Send it now.") as newer:
        hub.approve(asked(hub, args, run="r").paused)
        for number in range(1_000):
            where = hub
            options: dict[str, Any] = {"run": "r"}
            tried, name = args, "send_mail"
            match number % 5:
                case 0:
                    options = rng.choice([{}, {"run": f"r{number}"}, {"run": "R"}])
                case 1:
                    where, options = newer, {}
                case 2:
                    name = "send_letter"
                case _:
                    tried = mutated(rng, args)
            assert asked(where, tried, name, **options).kind == "paused", (number, tried, options)
        assert done == []
        assert asked(hub, args, run="r").success
        assert done == [args["to"]]
        # A second equal call of the run is another one.
        assert asked(hub, args, run="r").kind == "paused"
        assert len(done) == 1


SERVER = """
import json, sys
for line in sys.stdin:
    request = json.loads(line)
    if "id" not in request:
        continue
    results = {
        "initialize": {
            "protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "s", "version": "1"}
        },
        "tools/list": {"tools": [{"name": "send_mail", "inputSchema": {"type": "object"}}]},
        "tools/call": {"content": [{"type": "text", "text": "sent"}]},
    }
    answer = {"jsonrpc": "2.0", "id": request["id"]}
    if request["method"] in results:
        answer["result"] = results[request["method"]]
    else:
        answer["error"] = {"code": -32601, "message": "no"}
    print(json.dumps(answer), flush=True)
"""


def served(tmp_path: Path, **changes: Any) -> Any:
    """What a call of the tool of a server ends with, whose program may be another one."""
    config = {"command": sys.executable, "args": ["-c", SERVER, "--token", "old"], "env": {"REGION": "eu"}}
    with ToolHub(store=tmp_path / "store.db", mcp={"mcpServers": {"s": {**config, **changes}}}) as hub:
        result = asked(hub, {"to": "ann"})
        if result.paused and not changes:
            hub.approve(result.paused)
        return result


def test_an_approval_is_bound_to_the_program_of_a_server(tmp_path: Path) -> None:
    assert served(tmp_path).kind == "paused"
    link = tmp_path / "python"
    link.symlink_to(sys.executable)
    for other in (
        {"args": ["-c", SERVER + "# changed", "--token", "old"]},
        {"args": ["-c", SERVER, "--token", "old", "--all"]},
        {"command": str(link)},
        {"cwd": str(tmp_path)},
        {"env": {"REGION": "eu", "DRY_RUN": "0"}},
        {"env": {"REGION": "us"}},
        {"args": ["-c", SERVER, "--token", "new"]},
    ):
        assert served(tmp_path, **other).kind == "paused", other
    assert served(tmp_path).result == "sent"


def test_only_ask_and_functions_approve() -> None:
    with ToolHub() as hub, pytest.raises(ValueError, match="a function or 'ask'"):
        hub.run_sync("x", approve="yes")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("to", "shown"),
    [
        ("ann\x9d, eve@evil.example\x9c", "ann\\u009d, eve@evil.example\\u009c"),
        ("ann\x9b1000000m", "ann\\u009b1000000m"),
        ("a\u202eb\u200d\ufe0f\u3164", "a\\u202eb\\u200d\\ufe0f\\u3164"),
        ("搜索 é 😀", "搜索 é 😀"),
    ],
)
def test_what_is_shown_hides_nothing(tmp_path: Path, to: str, shown: str) -> None:
    with opened(tmp_path / "store.db", []) as hub:
        asked(hub, {"to": to})
        assert hub.pending()[0].shown == f'send_mail {{"to":"{shown}"}}'


def test_a_question_is_kept_whole(tmp_path: Path) -> None:
    with opened(tmp_path / "store.db", []) as hub:
        asked(hub, {"to": "x" * 30_000})
        assert hub.pending()[0].shown == 'send_mail {"to":"%s"}' % ("x" * 30_000)


def test_the_command_line_cuts_a_long_question_in_the_middle_and_shows_all_of_it(tmp_path: Path) -> None:
    store = tmp_path / "store.db"
    with opened(store, []) as hub:
        waiting = asked(hub, {"to": "a" + "x" * 30_000 + "z"}).paused

    def said(*words: str, code: int = 0) -> str:
        command = [sys.executable, "-m", "toolhub", *words, "--store", str(store)]
        ended = subprocess.run(command, capture_output=True, text=True, check=False)
        assert ended.returncode == code, ended.stderr
        return ended.stdout

    shown = said("pending")
    assert len(shown) < 800
    assert 'send_mail {"to":"axxx' in shown
    assert '"…(30002 characters)…"' in shown
    assert shown.endswith('xxxz"}\n')
    assert said("approve", waiting, "--full") == 'send_mail {"to":"a%sz"}\n' % ("x" * 30_000)
    # Nothing was decided.
    assert json.loads(said("approve", waiting, "--full", "--json"))["state"] == "pending"
    said("approve", waiting)
    said("approve", waiting, "--full", code=5)


def test_secrets_are_in_the_question_of_no_approval_and_bind_it_all_the_same(tmp_path: Path) -> None:
    store = tmp_path / "hub.db"

    def login(user: str, password: str) -> str:
        return user

    def text(password: str) -> str:
        call = {"name": "login", "arguments": {"user": "ann", "password": password}}
        return f"<tool_call>{json.dumps(call)}</tool_call>"

    with ToolHub(store=store) as hub:
        hub.register(login)
        (waiting,) = hub.run_sync(text("swordfish-1"), approve="ask").results
        (question,) = hub.pending()
        assert "ann" in question.shown
        assert "[named-secret]" in question.shown
        hub.approve(question.id)
        (other,) = hub.run_sync(text("swordfish-2"), approve="ask").results
        assert other.paused not in (None, waiting.paused)
        (done,) = hub.run_sync(text("swordfish-1"), approve="ask").results
        assert done.result == "ann"
    assert all(b"swordfish" not in file.read_bytes() for file in tmp_path.iterdir())
