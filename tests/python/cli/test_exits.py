"""Exit codes and `--json` of all commands: a table of how each may end. All of them run in one process, one after another."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from support.cli import User, new_user, shop
from toolhub.cli._commands import COMMANDS

AGENT = """
from toolhub import ToolHub
import sys
hub = ToolHub()
hub.register(lambda a: a, name="echo", read_only=True)
print(hub.call("echo", {"a": sys.argv[1]}).text)
"""
CASES = "cases:\n  - name: echoes\n    cassette: run.ndjson\n    called: [{}]\n"

# Runs the commands of a file; prints code, stdout and stderr of each.
RUNNER = """
import contextlib, json, sys, tempfile
from toolhub.cli import main
ended = []
for words in json.load(open(sys.argv[1])):
    # Files, because commands hand their streams on to programs.
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            try:
                code = main(words)
            except SystemExit as exit:
                code = exit.code
        printed = []
        for file in (out, err):
            file.flush()
            file.seek(0)
            printed.append(file.read())
        ended.append([code, *printed])
json.dump(ended, open(sys.argv[2], "w"))
"""

PYTHON = sys.executable
GONE, DENIED = ("--config", "gone.json", "--store", ""), ("--config", "denied.json", "--store", "")
NO_FILE = ("--config", "nowhere.json")
# Command lines and their exit codes. A command is in the table with each way to end that it has.
TABLE: list[tuple[tuple[str, ...], int]] = [
    (("list",), 0),
    (("list", "--nonsense"), 2),
    (("list", *NO_FILE), 2),
    (("list", *GONE), 3),
    (("list", *DENIED), 4),
    (("list", "nowhere"), 5),
    (("search", "price"), 0),
    (("search", "price", "-k", "-1"), 2),
    (("search", "price", *GONE), 3),
    (("search", "price", *DENIED), 4),
    (("search", "zzzz"), 5),
    (("show", "price"), 0),
    (("show",), 2),
    (("show", "look", *GONE), 3),
    (("show", "gone.look", *GONE), 3),
    (("show", "look", *DENIED), 4),
    (("show", "nothing_like_it"), 5),
    (("call", "shop.price", "item=tea"), 0),
    (("call", "shop.refuse", "why=x"), 1),
    (("call", "shop.price", "count=many"), 2),
    (("call", "shop.price", "word"), 2),
    (("call", "gone.look", *GONE), 3),
    (("call", "look", *GONE), 3),
    (("call", "look", "--server", "gone", *GONE), 3),
    (("call", "denied.look", *DENIED), 4),
    (("call", "look", *DENIED), 4),
    (("call", "nothing_like_it"), 5),
    (("call", "shop.nothing_like_it"), 5),
    (("call", "empty.nothing_like_it", "--config", "empty.json", "--store", ""), 5),
    (("prompt",), 0),
    (("prompt", "--limit", "-1"), 2),
    (("prompt", *GONE), 3),
    (("prompt", *DENIED), 4),
    (("parse", "answer.txt"), 0),
    (("parse", "damaged.txt"), 1),
    (("parse", "nowhere.txt"), 2),
    (("serve", *NO_FILE), 2),
    (("serve", "--http", "--port", "70000"), 2),
    (("serve", "--http", "--port", "TAKEN"), 1),
    (("connect",), 0),
    (("connect", *NO_FILE), 2),
    (("connect", *GONE), 3),
    (("connect", *DENIED), 4),
    (("connect", "nowhere"), 5),
    (("import",), 0),
    (("import", "damaged.txt", "--to", "new.json"), 2),
    (("import", "nowhere"), 5),
    (("export",), 0),
    (("export", "--format", "cobol"), 2),
    (("export", *GONE), 3),
    (("export", *DENIED), 4),
    (("export", "nowhere"), 5),
    (("doctor",), 0),
    (("doctor", "--config", "empty.json", "--store", ""), 1),
    (("doctor", *NO_FILE), 2),
    (("doctor", "--config", ""), 2),
    (("doctor", *GONE), 3),
    (("doctor", *DENIED), 4),
    (("doctor", "nowhere"), 5),
    (("stats",), 0),
    (("stats", *NO_FILE), 2),
    (("stats", "nothing_like_it"), 5),
    (("pins",), 0),
    (("pins", *NO_FILE), 2),
    (("pins", *GONE), 3),
    (("pins", *DENIED), 4),
    (("pins", "--accept", "nowhere"), 5),
    (("login", "shop"), 0),
    (("login",), 2),
    (("login", "gone", *GONE), 3),
    (("login", "denied", "--no-browser", *DENIED), 4),
    (("login", "nowhere"), 5),
    (("pending",), 0),
    (("pending", "--store", "nowhere.db"), 2),
    (("approve", "7", "--store", "nowhere.db"), 2),
    (("approve", "7"), 5),
    (("settle", "7", "done", "--store", "nowhere.db"), 2),
    (("settle", "7", "done"), 5),
    (("deny", "7", "--store", "nowhere.db"), 2),
    (("deny", "7"), 5),
    (("ledger",), 0),
    (("ledger", "--store", "nowhere.db"), 2),
    (("store", "accept"), 0),
    (("store", "accept", "--store", "nowhere.db"), 2),
    (("record", "-o", "run.ndjson", "--", PYTHON, "agent.py", "hello"), 0),
    (("record", "-o", "none.ndjson", "--", "true"), 1),
    (("record", "--", "no-such-program"), 2),
    (("replay", "run.ndjson", "--", PYTHON, "agent.py", "hello"), 0),
    (("replay", "run.ndjson", "--", PYTHON, "agent.py", "other"), 1),
    (("replay", "nowhere.ndjson", "--", "true"), 2),
    (("cassette", "run.ndjson"), 0),
    (("cassette", "nowhere.ndjson"), 2),
    (("eval", "cases.yaml"), 0),
    (("eval", "failing.yaml"), 1),
    (("eval", "nowhere.yaml"), 2),
    (("inspect", "run.ndjson"), 0),
    (("inspect", "nowhere.ndjson"), 2),
    (("completion", "bash"), 0),
    (("completion", "tcsh"), 2),
    (("demo",), 0),
    (("nonsense",), 2),
]


class Ended(NamedTuple):
    code: int
    out: str
    err: str


class Unauthorized(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.send_response(401)
        self.send_header("Content-Length", "0")
        self.end_headers()

    do_GET = do_DELETE = do_POST

    def log_message(self, format: str, *args: Any) -> None: ...


@pytest.fixture(scope="module")
def user(tmp_path_factory: pytest.TempPathFactory) -> Iterator[User]:
    user = new_user(tmp_path_factory.mktemp("exits") / "home")
    server = ThreadingHTTPServer(("127.0.0.1", 0), Unauthorized)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        user.configure({"gone": {"command": "no-such-program-anywhere"}}, "gone.json")
        user.configure({"denied": {"url": f"http://127.0.0.1:{server.server_port}/mcp"}}, "denied.json")
        empty = Path(__file__).with_name("broken.py")
        user.configure({"empty": {"command": PYTHON, "args": [str(empty), "empty_list"]}}, "empty.json")
        user.configure({"shop": shop()})
        for name, text in {
            "agent.py": AGENT,
            "cases.yaml": CASES.format("echo"),
            "failing.yaml": CASES.format("other"),
            "answer.txt": '<tool_call>{"name": "price", "arguments": {"item": "tea"}}</tool_call>',
            "damaged.txt": "<tool_call>{oops!}</tool_call>",
            "port": str(server.server_port),
        }.items():
            (user.home / name).write_text(text, "utf-8")
        yield user
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def run_all(user: User, lines: list[tuple[str, ...]], **environment: str) -> list[Ended]:
    port = (user.home / "port").read_text()
    (user.home / "lines.json").write_text(
        json.dumps([[word.replace("TAKEN", port) for word in words] for words in lines])
    )
    done = subprocess.run(
        [PYTHON, "-c", RUNNER, "lines.json", "ended.json"],
        cwd=user.home,
        env={**user.environment, **environment},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        timeout=120,
    )
    assert done.returncode == 0
    return [Ended(*one) for one in json.loads((user.home / "ended.json").read_text())]


def test_every_command_ends_with_the_code_of_its_end(user: User) -> None:
    ended = run_all(user, [words for words, _ in TABLE])
    wrong = {
        " ".join(words): (one.code, one.err)
        for (words, code), one in zip(TABLE, ended, strict=True)
        if one.code != code
    }
    assert wrong == {}
    for (words, code), one in zip(TABLE, ended, strict=True):
        # One line a problem, never a traceback.
        assert "Traceback" not in one.err, words
        # `serve` logs what is wrong with a file, and the commands before it have turned the log off.
        assert not code or one.err or one.out or words == ("serve", *NO_FILE), words
    assert {words[0] for words, _ in TABLE} - {"nonsense"} == set(COMMANDS)


def test_json_is_one_object(user: User) -> None:
    """Of each command that ends well; `serve` is in the tests of serving."""
    lines = [(words[0], "--json", *words[1:]) for words, code in TABLE if code == 0 and words[0] != "serve"]
    assert {words[0] for words in lines} | {"serve", "approve", "deny", "settle"} == set(COMMANDS)
    for words, one in zip(lines, run_all(user, lines), strict=True):
        assert one.code == 0, (words, one.err)
        assert isinstance(json.loads(one.out), dict), words


def test_json_is_one_object_for_failures_too(user: User) -> None:
    # Some of them fail over what `record` has written.
    table = [(words, code) for words, code in TABLE if code or words[0] == "record"]
    lines = [(words[0], "--json", *words[1:]) for words, _ in table]
    ended = run_all(user, lines)
    assert {words: one.code for (words, _), one in zip(table, ended, strict=True)} == dict(table)
    for (words, code), one in zip(table, ended, strict=True):
        # Stdout is for the client where `serve` is on stdio.
        is_stdio = words[0] == "serve" and "--http" not in words
        printed = json.loads(one.err.splitlines()[-1] if is_stdio else one.out)
        assert isinstance(printed, dict), words
        if "exit" in printed and words[0] not in ("record", "replay"):
            assert printed["exit"] == code, words
            assert printed["error"]["message"], words
