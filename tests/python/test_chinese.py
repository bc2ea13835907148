"""A hub with `lang="zh"`: everything that the hub itself says in a result or a prompt is Chinese."""

import asyncio
import re
import sys
from collections.abc import Callable
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
