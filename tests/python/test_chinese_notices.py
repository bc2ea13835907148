"""A hub with `lang="zh"`: notes for models, the login page."""

import json
import re
import threading
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

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
    assert reason.startswith("模型失败：ConnectionFailed：")
    assert "http://127.0.0.1:9" in reason, "the text of an exception stays as it is"


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
