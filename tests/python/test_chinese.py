"""A hub with `lang="zh"`: everything that the hub itself says in a result or a prompt is Chinese."""

import asyncio
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from toolhub import ToolError, ToolHub, ToolResult

WORDS = re.compile(r"[A-Za-z]{2,}(?: [A-Za-z]{2,})+")


@pytest.fixture
def hub() -> ToolHub:
    hub = ToolHub(lang="zh", timeout=5)

    @hub.tool
    def add(a: int, b: int = 1) -> int:
        return a + b

    @hub.tool
    def fail() -> None:
        raise ValueError("磁盘已满")

    @hub.tool
    def nothing() -> None:
        return None

    @hub.tool
    async def slow() -> None:
        await asyncio.Event().wait()

    @hub.tool
    def long_text() -> str:
        return "一个句子。" * 2_000

    return hub


def run_text(hub: ToolHub, name: str, **options: Any) -> ToolResult:
    call = f'<tool_call>{{"name": "{name}", "arguments": {{}}}}</tool_call>'
    return hub.run_sync(call, **options).results[0]


def run_unread(hub: ToolHub, arguments: str) -> ToolResult:
    return hub.run_sync(f'<tool_call>{{"name": "add", "arguments": {arguments}}}</tool_call>').results[0]


@pytest.mark.parametrize(
    ("failing", "sentence"),
    [
        (lambda hub: hub.call("ad"), "没有名为 'ad' 的工具。是否想用 'add'？"),
        (lambda hub: hub.call("add"), "'add' 的参数无效：a：缺少必填参数，应为整数。"),
        (lambda hub: hub.call("add", {"a": "x"}), "'add' 的参数无效：a：应为整数，实际为 'x'（字符串）。"),
        (lambda hub: hub.call("add", {"a": 1, "c": 2}), "c：未知参数（"),
        (lambda hub: hub.call("fail"), "磁盘已满"),
        (lambda hub: hub.call("slow", timeout=0.01), "工具 'slow' 在 0.01 秒后超时（可能已经执行）。"),
        (lambda hub: hub.call("slow", deadline=0.01), "未在 0.01 秒的期限内结束"),
        (
            lambda hub: hub.call("add", {"a": 1}, server="files"),
            "没有服务器 'files'。已知服务器：无。提供工具 'add' 的是：tools。",
        ),
        (lambda hub: hub.call("add", {"a": 1}, source="skills"), "来源 'skills' 不提供工具 'add'；"),
        (lambda hub: hub.call_by_capability("astronomy"), "没有工具具备能力 'astronomy'。已知能力：无。"),
        (lambda hub: hub.dispatch_sync({"tool_name": "add", "source": "x"}), "没有来源 'x'。已知服务器"),
        (lambda hub: hub.dispatch_sync({}), "调用没有指明工具"),
        (lambda hub: run_unread(hub, "[1]"), "参数必须是对象，但给出的是列表。"),
        (lambda hub: run_unread(hub, '"{\\"a\\": 1,"'), "无法读取参数：文本在参数结束之前就结束了。"),
        (lambda hub: run_text(hub, "add", allowed=["x"]), "未调用工具 'add'：它不在此处允许的工具之列。"),
        (lambda hub: run_text(hub, "fail", approve=lambda _: False), "未调用工具 'fail'：未获批准。"),
    ],
)
def test_errors(hub: ToolHub, failing: Callable[[ToolHub], ToolResult], sentence: str) -> None:
    result = failing(hub)
    assert result.error is not None
    assert sentence in result.error
    assert result.text == result.error
    assert not WORDS.search(re.sub(r"'[^']*'|ValueError", "", result.error)), result.error
    for attempt in [*result.meta.get("errors", []), *result.meta.get("skipped", [])]:
        assert not WORDS.search(re.sub(r"'[^']*'|ValueError", "", attempt["error"]))
    assert hub.format(result).startswith("错误：")


def test_a_closed_hub(hub: ToolHub) -> None:
    hub.close()
    assert hub.call("add", {"a": 1}).error == "hub 已关闭；请新建一个 ToolHub。"


def test_a_server_that_cannot_start(hub: ToolHub) -> None:
    hub.add_server("gone", command="no-such-program-anywhere")
    error = hub.call("read", server="gone").error
    assert error is not None
    assert "无法启动 'no-such-program-anywhere'：没有这个命令" in error
    hub.add_server("python", command=sys.executable, args=["-c", "raise SystemExit(3)"])
    assert "'python'" in str(hub.call("read", server="python").error)
    hub.close()


SERVERS = {
    "not MCP": {"command": "echo", "args": ["hi"]},
    "silent": {"command": "true"},
    "echoes": {"command": "cat"},
    "floods": {"command": "yes"},
    "refused": {"url": "http://127.0.0.1:9/mcp"},
    "no folder": {"command": "echo", "cwd": "/no/such/folder"},
}


@pytest.mark.parametrize("server", SERVERS)
def test_servers_that_fail(hub: ToolHub, server: str) -> None:
    hub.add_server("s", retries=0, **SERVERS[server])
    report = hub.connect_sync(["s"])
    state = hub.servers()[0].error
    texts = [str(hub.call("read", server="s").error) for _ in range(3)]
    for text in [*texts, str(report.failed["s"]), str(state)]:
        bare = re.sub(r"'[^']*'|`[^`]*`|\([^()]*http[^()]*\)|（http[^）]*）", "", text)
        assert not WORDS.search(bare), text
    assert re.search("服务器 's' (失败|在连接)", texts[-1]), texts[-1]
    hub.close()


def test_explanations(hub: ToolHub) -> None:
    hub.register(lambda q: q, name="search_x", strategy="all")
    hub.register(lambda q: q, name="search_x", source="skills")
    hub.register(lambda q: q, name="search_x", source="mcps", server="far")
    hub.call("search_x", {"q": "1"})
    hub.add_server("unlisted", command="no-such-program-anywhere")
    explained = [
        hub.explain("add", {"a": "x"}),
        hub.explain("add", {"a": 1}),
        hub.explain("search_x"),
        hub.explain({"tool_name": "search_x", "arguments": {"q": "1"}}),
        hub.explain({"tool_name": "search_x", "arguments": {}, "source": "far"}),
        hub.explain({"tool_name": "search_x", "arguments": {}, "source": "nowhere"}),
        hub.explain("gone"),
        hub.explain("slow"),
    ]
    for explanation in explained:
        bare = re.sub(r"'[^']*'|\([^()]*unlisted\)", "", explanation.text)
        assert not WORDS.search(bare), explanation.text
    assert "策略：first，因为只有一个候选者。" in explained[0].text
    hub.close()


def test_a_cut_text_says_so_in_the_language_of_the_hub(hub: ToolHub) -> None:
    hub.register(lambda: "An English sentence. " * 500, name="get_english", read_only=True)
    assert "…［已截去 " in hub.format(hub.call("get_english"), 400)
    hub.register(lambda: {"text": "word " * 900}, name="get_json", read_only=True)
    assert "［已截去 " in hub.format(hub.call("get_json"), 400)


def test_files_of_a_skill(hub: ToolHub, tmp_path: Path) -> None:
    (tmp_path / "pdf").mkdir()
    (tmp_path / "pdf" / "SKILL.md").write_text("---\nname: pdf\ndescription: Reads.\n---\nDo it.", "utf-8")
    hub.load_skills(tmp_path)
    assert "技能 'pdf' 没有文件 'x'" in str(hub.call("pdf", {"file": "x"}).error)
    assert "技能 'pdf' 不能读取 '../x'" in str(hub.call("pdf", {"file": "../x"}).error)
    (tmp_path / "pdf" / "SKILL.md").unlink()
    error = str(hub.call("pdf").error)
    assert not WORDS.search(re.sub(r"'[^']*'|SKILL.md|（[^）]*）", "", error)), error


def test_the_own_words_of_tools_stay_as_they_are(hub: ToolHub) -> None:
    @hub.tool
    def own() -> dict[str, Any]:
        return {"success": False, "error": "no space left on device"}

    assert "no space left on device" in str(hub.call("own").error)
    assert hub.call("add", {"a": 1}).result == 2


def test_texts_and_frames(hub: ToolHub) -> None:
    assert hub.call("nothing").text == "已完成，工具没有返回值。"
    text = hub.format(hub.call("long_text"), 400)
    handle = re.search(r"\[更多内容：read_more\('(\w+)', \d+\)，共 10,000 个字符\]", text)
    assert handle is not None, text
    assert hub.read_more(handle[1]).startswith("一个句子。")
    with pytest.raises(ToolError, match="没有保留结果 'x'"):
        hub.read_more("x")


def test_prompts_follow_the_hub_unless_they_say_otherwise(hub: ToolHub) -> None:
    assert hub.system_prompt() == hub.system_prompt(lang="zh")
    assert hub.system_prompt() != hub.system_prompt(lang="en")
    assert ToolHub().call("x").error == "There is no tool named 'x'. No tool is registered yet."
