"""`toolhub doctor` on set-ups that are broken, each in its own way: it names the right step, and what to do."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from support.cli import User, new_user, shop
from support.programs import require

BROKEN = str(Path(__file__).with_name("broken.py"))

# Set-ups of one server each, and the step that fails.
STEPS = {
    "no_program": "command",
    "not_executable": "command",
    "a_folder": "command",
    "no_folder": "command",
    "exits": "start",
    "no_module": "start",
    "silent": "start",
    "noise": "start",
    "log_lines": "start",
    "refused": "start",
    "no_page": "start",
    "server_error": "start",
    "old_protocol": "era",
    "refuses_greeting": "era",
    "html": "era",
    "no_token": "auth",
    "wrong_token": "auth",
    "forbidden": "auth",
    "list_fails": "list",
    "empty_list": "list",
    "greets": "list",
    "no_names": "list",
    "list_hangs": "list",
    "same_cursor": "list",
    "new_cursors": "list",
    "unknown_type": "schemas",
    "broken_pattern": "schemas",
    "array_schema": "schemas",
    "no_schema": "schemas",
    "twice": "names",
    "odd_name": "names",
    "long_name": "names",
    "no_description": "descriptions",
    "repeats_name": "descriptions",
    "hidden_orders": "descriptions",
    "hidden_in_schema": "descriptions",
    "no_variable": "file",
    "nothing_to_start": "file",
    "wrong_key": "file",
    "no_issuer": "file",
    "no_interpreter": "command",
    "syntax_error": "start",
    "no_script": "start",
    "no_node_module": "start",
    "port_taken": "start",
    "plain_http": "start",
    "redirects": "start",
    "limited": "start",
    "dies_at_list": "list",
    "no_tools": "list",
}


class Answering(BaseHTTPRequestHandler):
    """Answers each request with the status in its path."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.send_response(int(self.path.strip("/")))
        self.send_header("Content-Type", "text/html")
        self.send_header("Location", "https://elsewhere.invalid/")
        self.send_header("Content-Length", "15")
        self.end_headers()
        self.wfile.write(b"<html>no</html>")

    do_GET = do_DELETE = do_POST

    def log_message(self, format: str, *args: Any) -> None: ...


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Answering)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    thread.join()
    server.server_close()


TWICE = "import socket; a = socket.create_server(('127.0.0.1', 0)); socket.create_server(a.getsockname())"


def entries(address: str, folder: Path) -> dict[str, Any]:
    (folder / "server.py").write_text("def main(:\n")
    (folder / "server.mjs").write_text('import { Server } from "no-such-package/server";\n')
    (folder / "script").write_text("#!/no/such/interpreter\n")
    (folder / "script").chmod(0o755)
    broken: dict[str, Any] = {way: {"command": sys.executable, "args": [BROKEN, way]} for way in STEPS}
    for way in ("silent", "noise", "list_hangs"):  # they never answer, whatever the limit
        broken[way]["toolhub"] = {"startup_timeout": 2}
    return broken | {
        "no_program": {"command": "no-such-program-anywhere"},
        "not_executable": {"command": BROKEN},
        "a_folder": {"command": str(folder)},
        "no_folder": {"command": sys.executable, "cwd": "/no/such/folder"},
        "no_module": {"command": sys.executable, "args": ["-m", "no_such_module"]},
        "refused": {"url": "http://127.0.0.1:9/mcp"},
        "no_page": {"url": f"{address}/404"},
        "server_error": {"url": f"{address}/500"},
        "html": {"url": f"{address}/200"},
        "no_token": {"url": f"{address}/401"},
        "wrong_token": {"url": f"{address}/401", "headers": {"Authorization": "Bearer hunter2"}},
        "forbidden": {"url": f"{address}/403"},
        "no_variable": {"command": "x", "env": {"KEY": "${NO_SUCH_VARIABLE}"}},
        "nothing_to_start": {"args": ["--help"]},
        "wrong_key": {"command": 5},
        "no_issuer": {
            "url": f"{address}/401",
            "auth": {"type": "client_credentials", "client_id": "c", "client_secret": "hunter2"},
        },
        "no_interpreter": {"command": str(folder / "script")},
        "syntax_error": {"command": sys.executable, "args": [str(folder / "server.py")]},
        "no_script": {"command": sys.executable, "args": ["/no/such/server.py"]},
        "no_node_module": {
            "command": require("node", package="nodejs"),
            "args": [str(folder / "server.mjs")],
        },
        "port_taken": {"command": sys.executable, "args": ["-c", TWICE]},
        "plain_http": {"url": f"{address.replace('http:', 'https:')}/mcp"},
        "redirects": {"url": f"{address}/302"},
        "limited": {"url": f"{address}/429"},
    }


@pytest.fixture(scope="module")
def findings(address: str, tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """What one run says about all of them, beside a server that works."""
    user = new_user(tmp_path_factory.mktemp("doctor") / "home")
    broken = entries(address, user.home)
    # It prints lines that are not messages, before the first one and between others, and does not fail.
    chatty = {"command": sys.executable, "args": [BROKEN, "chatty"]}
    others = {"healthy": shop(), "chatty": chatty, "off": {"command": "x", "disabled": True}}
    user.configure({**broken, **others})
    done = user.run("doctor", "--json", "--timeout", "45")
    assert done.returncode == 2, done.stderr  # the first problem is one of the file
    assert "hunter2" not in done.stdout + done.stderr
    return {one["id"]: one for one in json.loads(done.stdout)["servers"]}


@pytest.mark.parametrize("way", STEPS)
def test_the_first_failing_step_is_named(way: str, findings: dict[str, dict[str, Any]]) -> None:
    found = findings[way]
    assert found["failed"] == STEPS[way], found
    assert found["message"]
    assert found["advice"].endswith(".")


def test_a_server_that_works_passes_all_steps(findings: dict[str, dict[str, Any]]) -> None:
    assert findings["healthy"]["ok"]
    assert len(findings["healthy"]["passed"]) == 9
    assert "off" not in findings, "a server that is turned off is not examined"
    assert set(findings) == {*STEPS, "healthy", "chatty"}
    assert findings["chatty"]["ok"]
    assert findings["healthy"]["notes"] == []


def test_text_on_stdout_is_told(findings: dict[str, dict[str, Any]]) -> None:
    # The other note says that its tools have the names of another server's.
    (note,) = (note for note in findings["chatty"]["notes"] if "stderr" in note)
    assert "printed 'Starting the server' there" in note
    # A server that works until it is asked for its tools; what it printed is not the reason.
    assert "printed 'hello, my name is shop'" in findings["greets"]["notes"][0]
    assert findings["greets"]["message"] == "the list of tools is empty"
    # Where it is the reason, it is said once. A line of a log may look like the beginning of JSON.
    assert "it printed '[INFO] Starting the server', which is not MCP" in findings["log_lines"]["message"]
    assert findings["log_lines"]["notes"] == []


@pytest.mark.parametrize(
    ("way", "words"),
    [
        ("no_program", "'no-such-program-anywhere'"),
        ("no_folder", "/no/such/folder"),
        ("exits", "API_KEY"),
        ("no_module", "no_such_module"),
        ("old_protocol", "1999-01-01"),
        ("list_fails", "the database is down"),
        ("no_variable", "NO_SUCH_VARIABLE"),
        ("no_issuer", '"issuer": "https://YOUR-AUTHORIZATION-SERVER"'),
        ("odd_name", "look at it!"),
        ("no_interpreter", "the interpreter that its first line names"),
        ("syntax_error", "SyntaxError"),
        ("no_node_module", "no-such-package"),
        ("port_taken", "Address already in use"),
        ("plain_http", "there is no TLS at this address"),
        ("redirects", "https://elsewhere.invalid"),
        ("dies_at_list", "the database is locked"),
        ("list_hangs", "tools"),
        ("same_cursor", "its cursor came again"),
        ("new_cursors", "did not end after"),
        ("no_schema", "'rename'"),
        ("hidden_orders", "invisible characters"),
        ("a_folder", "it is a folder"),
    ],
)
def test_the_message_names_the_culprit(way: str, words: str, findings: dict[str, dict[str, Any]]) -> None:
    assert words in findings[way]["message"]


@pytest.mark.parametrize(
    ("way", "words"),
    [
        ("plain_http", "http://"),
        ("redirects", "redirects to"),
        ("limited", "try again later"),
        ("no_tools", "has no tools"),
        ("no_page", "/mcp or /sse"),
        ("not_executable", "chmod +x"),
        ("a_folder", "a program as 'command'"),
        ("no_interpreter", "first line"),
        ("no_folder", "'cwd'"),
        ("hidden_orders", "hide instructions"),
        ("same_cursor", "The list never ends"),
    ],
)
def test_the_advice_fits(way: str, words: str, findings: dict[str, dict[str, Any]]) -> None:
    assert words in findings[way]["advice"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (None, "does not exist"),
        ('{"mcpServers": {"a": }', "not valid JSON"),
        ('{"mcpServers": []}', "must be an object"),
        ('{"servers_of_mine": {}}', "names no servers"),
        ("", "is empty"),
    ],
)
def test_files_that_are_wrong_as_a_whole(text: str | None, words: str, user: User) -> None:
    path = user.home / "mcp.json"
    path.unlink() if text is None else path.write_text(text, "utf-8")
    done = user.run("doctor", "--json")
    (found,) = json.loads(done.stdout)["servers"]
    assert (done.returncode, found["failed"]) == (2, "file")
    assert words in found["message"]


@pytest.mark.parametrize(("way", "code"), [("no_program", 3), ("forbidden", 4), ("no_description", 1)])
def test_the_exit_code_tells_the_kind_of_the_problem(way: str, code: int, address: str, user: User) -> None:
    user.configure({way: entries(address, user.home)[way]})
    done = user.run("doctor")
    assert done.returncode == code
    assert f"FAILED  {STEPS[way]}: " in done.stdout


def test_doctor_of_one_server_and_of_none(user: User) -> None:
    user.configure({"shop": shop(), "broken": {"command": 5}})
    one = user.run("doctor", "shop")
    assert one.returncode == 0, one.stdout
    assert "broken" not in one.stdout
    missing = user.run("doctor", "ship")
    assert (missing.returncode, missing.stderr) == (
        5,
        "toolhub: unknown server 'ship'; known servers: broken, shop\n",
    )


def test_a_server_that_greets_and_never_lists_fails_at_the_list(user: User) -> None:
    """Also when the limit of the command ends before that of the server."""
    user.configure({"hangs": {"command": sys.executable, "args": [BROKEN, "list_hangs"]}})
    done = user.run("doctor", "--json", "--timeout", "5")
    (found,) = json.loads(done.stdout)["servers"]
    assert (done.returncode, found["failed"]) == (1, "list")
    assert found["message"] == "Server 'hangs' did not list its tools within 5 s."
