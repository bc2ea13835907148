"""A hub with `lang="zh"`: notices about configurations, folders and the store, notes for models, the login page."""

import json
import logging
import re
import sqlite3
import threading
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from toolhub import ToolHub
from toolhub.llm import OpenAI

WORDS = re.compile(r"[A-Za-z]{2,}(?: [A-Za-z]{2,})+")
QUOTED = re.compile(
    r"'[^']*'|`[^`]*`|\"[^\"]*\"|https?://\S+|/\S+|[A-Za-z]+Error[:：][^；]*|（[^）]*）|\([^)]*\)"
)


def is_chinese(text: str) -> bool:
    """No two English words in a row, outside quotations, paths and the words of the system."""
    text = re.sub("(无法读取|不是 YAML)：.*|front matter", "", text)
    return re.search("[\u4e00-\u9fff]", text) is not None and not WORDS.search(QUOTED.sub("", text))


WRONG_ENTRIES: dict[str, Any] = {
    "no object": 5,
    "nothing": {},
    "both": {"command": "x", "url": "https://example.com/mcp"},
    "bad url": {"url": "example"},
    "ftp": {"url": "ftp://example.com/"},
    "args": {"command": "x", "args": 5},
    "arg": {"command": "x", "args": [None]},
    "env": {"command": "x", "env": {"A=B": "c"}},
    "number": {"command": "x", "toolhub": {"retries": -1}},
    "seconds": {"command": "x", "toolhub": {"timeout": 0}},
    "trust": {"command": "x", "toolhub": {"trust": "some"}},
    "both effects": {"command": "x", "toolhub": {"effects": True, "assume_read_only": True}},
    "type": {"command": "x", "type": "carrier-pigeon"},
    "unset": {"command": "x", "env": {"A": "${NO_SUCH_VARIABLE_ANYWHERE}"}},
    "editor": {"command": "x", "args": ["${input:key}"]},
    "env file": {"command": "x", "envFile": "/no/such/file"},
    "token": {"url": "https://example.com/mcp", "auth": "two words"},
    "header": {"url": "https://example.com/mcp", "headers": {"a b": "c"}},
    "x" * 300: {"command": "x"},
}
ODD_ENTRIES: dict[str, Any] = {
    "unknown": {"command": "x", "zzzzzzz": 1},
    "near": {"command": "x", "arg": ["a"]},
    "no effect": {"command": "x", "headers": {"a": "b"}},
    "misplaced": {"command": "x", "retries": 5},
    "no tools": {"command": "x", "toolhub": {"include": []}},
}


@pytest.mark.parametrize("entry", WRONG_ENTRIES)
def test_wrong_entries(entry: str) -> None:
    with ToolHub(lang="zh") as hub:
        report = hub.load_mcp({"mcpServers": {entry: WRONG_ENTRIES[entry]}})
        assert report.errors
        for error in report.errors:
            assert is_chinese(error.replace(entry, "s")), error


@pytest.mark.parametrize("entry", ODD_ENTRIES)
def test_odd_entries(entry: str) -> None:
    with ToolHub(lang="zh") as hub:
        report = hub.load_mcp({"mcpServers": {entry: ODD_ENTRIES[entry]}})
        for warning in report.warnings:
            assert is_chinese(warning), warning
        assert report.warnings


def test_wrong_files(tmp_path: Path) -> None:
    (tmp_path / "text.json").write_text("nothing")
    (tmp_path / "list.json").write_text("[]")
    (tmp_path / "empty.json").write_text("{}")
    (tmp_path / "bytes.json").write_bytes(b"\xff\xfe\x00")
    with ToolHub(lang="zh") as hub:
        for name in ("text.json", "list.json", "empty.json", "bytes.json", "missing.json", "."):
            report = hub.load_mcp(tmp_path / name)
            for notice in (*report.errors, *report.warnings):
                assert is_chinese(re.sub(r"：[^：]*at line.*", "", notice)), notice
        with pytest.raises(
            ValueError, match=r"服务器 's'：`toolhub.timeout`：必须是大于 0 且不超过一年的秒数"
        ):
            hub.add_server("s", command="x", timeout=-1)


def test_folders(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    tools, skills = tmp_path / "tools", tmp_path / "skills"
    files = {
        "empty.py": "x = 1",
        "nameless.py": "class Tool:\n    description = 'd'\n    def execute(self, input): return input\n",
        "greedy.py": "class Tool:\n    name = 'g'\n    description = 'd'\n"
        "    def __init__(self, a): pass\n    def execute(self, input): return input\n",
        "ends.py": "import sys\nsys.exit(3)\n",
        "a.b.py": "x = 1",
        "link.py": None,
    }
    tools.mkdir()
    for name, code in files.items():
        if code is None:
            (tools / name).symlink_to(tools / "nowhere.py")
        else:
            (tools / name).write_text(code)
    for name, front in {
        "pdf": "name: pdf",
        "big": f"name: {'x' * 80}\ndescription: d",
        "Other": "name: Other\ndescription: d",
        "number": "name: 5\ndescription: d",
        "none": "",
        "yaml": "name: [",
    }.items():
        (skills / name).mkdir(parents=True)
        (skills / name / "SKILL.md").write_text(f"---\n{front}\n---\nDo it.", "utf-8")
    with ToolHub(lang="zh") as hub, caplog.at_level(logging.INFO):
        reports = [hub.load_tools(tools), hub.load_skills(skills), hub.load_tools(tmp_path / "gone")]
        notices = [text for one in reports for text in (*one.errors, *one.warnings, *one.skipped)]
    assert len(notices) >= 10
    untranslated = [notice for notice in notices if not is_chinese(notice)]
    assert untranslated == []
    assert {record.message for record in caplog.records} >= set(notices)


def test_the_store(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    damaged, foreign = tmp_path / "damaged.db", tmp_path / "foreign.db"
    damaged.write_bytes(b"this is no database " * 500)
    with sqlite3.connect(foreign) as other:
        other.execute("create table theirs (a)")
    other.close()
    for path in (damaged, foreign, tmp_path):
        caplog.clear()
        with caplog.at_level(logging.WARNING):
            ToolHub(lang="zh", store=path).close()
        messages = [record.message for record in caplog.records]
        assert messages
        assert all(map(is_chinese, messages)), messages


def test_the_note_about_arguments_that_a_tool_may_not_know() -> None:
    hub = ToolHub(lang="zh")
    parameters = {"type": "object", "properties": {"city": {"type": "string"}}}
    hub.register(lambda **given: "sun", name="weather", parameters=parameters)
    arguments = json.dumps({"city": "Rome", "town": "Rome"})
    function = {"name": "weather", "arguments": arguments}
    message = {"role": "assistant", "tool_calls": [{"id": "1", "type": "function", "function": function}]}
    (answer,) = hub.run_sync(message).messages
    note = answer["content"].partition("\n\n")[2]
    assert note.startswith("注意：")
    assert note.endswith("。")
    assert "Note" not in answer["content"]
    assert is_chinese(note), note


def test_why_a_model_did_not_combine_the_answers() -> None:
    hub = ToolHub(lang="zh", llm=OpenAI("http://127.0.0.1:9/v1", model="m", max_retries=0))
    hub.register(lambda q: "one", name="search_x", read_only=True, strategy="all")
    hub.register(lambda q: "two", name="search_x", source="skills", read_only=True)
    reason = hub.call("search_x", {"q": "1"}).meta["synthesis_reason"]
    assert reason.startswith("模型失败：")
    assert "无法连接模型端点" in reason


def test_the_page_after_a_login() -> None:
    class Refusing(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.send_response(401)
            self.send_header("content-length", "0")
            self.end_headers()

        do_GET = do_POST

        def log_message(self, format: str, *args: Any) -> None:
            pass

    pages: list[str] = []

    def open_url(server: str, url: str) -> None:
        asked = parse_qs(urlsplit(url).query)
        for query in ("state=another", f"state={asked['state'][0]}&error=denied"):
            request = urllib.request.Request(f"{asked['redirect_uri'][0]}?{query}")
            try:
                urllib.request.urlopen(request)
            except urllib.error.HTTPError as error:
                pages.append(error.read().decode())

    with ThreadingHTTPServer(("127.0.0.1", 0), Refusing) as web:
        threading.Thread(target=web.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{web.server_port}"
        auth = {
            "type": "oauth",
            "client_id": "me",
            "authorization_url": f"{address}/login",
            "token_url": f"{address}/token",
        }
        with ToolHub(lang="zh", login={"open_url": open_url, "token_file": None}) as hub:
            hub.add_server("s", url=f"{address}/mcp", auth=auth, retries=0)
            error = hub.connect_sync(["s"], timeout=20).failed["s"]
        web.shutdown()
    assert "登录被拒绝" in str(error)
    assert "这不属于正在此处等待的登录。" in pages[0]
    assert "登录失败。原因见程序。" in pages[1]
