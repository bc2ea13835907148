"""Thirty tasks with the tools of public orchestrators and a scripted model: right, failed with a sentence, or wrong.

`orchestrator_tools.json` has names, descriptions and schemas of the tools, and whose they are. Half of the tasks have a tool
that fails, is missing, or acts; there the model would like to claim a success.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from support.agents import Roles
from toolhub import ToolHub
from toolhub.agents import CoordinationAgent

TOOLS = json.loads(Path(__file__).with_name("orchestrator_tools.json").read_text(encoding="utf-8"))["tools"]
RIGHT, FAILED, WRONG = "right", "failed with a sentence", "wrong"


class Task(NamedTuple):
    """`said` is the step that the model plans, `written` are the arguments that it writes, `claimed` is what it answers itself.

    `calls` are what has to reach the tools: nothing else may.
    """

    said: str
    tool: str
    calls: list[Any]
    answer: str
    expected: str = RIGHT
    written: Any = None
    claimed: str = ""
    broken: tuple[str, ...] = ()


WORKING = [
    Task("Calculate 17 * 23", "calculate", ["17 * 23"], "391", written={"input_data": "17 * 23"}),
    Task(
        "计算 12 乘以 (3 加 4)", "calculate", ["12 * (3 + 4)"], "84", written={"input_data": "12 * (3 + 4)"}
    ),
    Task(
        "Calculate 5 + 3 and then multiply by 2",
        "calculate",
        ["(5+3)*2"],
        "16",
        written={"input_data": "(5+3)*2"},
    ),
    Task("What time is it now?", "get_time", ["What time is it now?"], "09:30"),
    Task("现在几点了？", "get_time", ["现在几点了？"], "09:30"),
    Task("Search the web for the mayor of Lyon", "search_web", ["mayor of Lyon"], "mayor of Lyon: 3 pages"),
    Task("搜索北京的人口", "search_web", ["北京的人口"], "北京的人口: 3 pages"),
    Task("Get all messages", "get_conversation_history", ["all"], "[user]: hello"),
    Task("我刚才问了什么？", "get_conversation_history", ["我刚才问了什么？"], "[user]: hello"),
    Task(
        "List the files in src",
        "list_workspace_files",
        ["List the files in src", "src"],
        "main.py",
        written={"input_data": "src"},
    ),
    Task("Look up Ada Lovelace", "wikipedia_search", [{"query": "Ada Lovelace"}], "Ada Lovelace: 3 pages"),
    Task(
        "打开 https://a.test/news 并阅读",
        "visit_webpage",
        [{"url": "https://a.test/news"}],
        "a page",
        written={"url": "https://a.test/news"},
    ),
    Task(
        "Read the file notes.txt",
        "read_file",
        [{"file_path": "notes.txt"}],
        "milk",
        written={"file_path": "notes.txt"},
    ),
    Task(
        "列出 data 目录中的文件",
        "list_directory",
        [{"dir_path": "data"}],
        "main.py",
        written={"dir_path": "data"},
    ),
    Task(
        "How many users are there?",
        "sql_db_query",
        [{"query": "SELECT count(*) FROM users"}],
        "42",
        written={"query": "SELECT count(*) FROM users"},
    ),
]
FAILING = [
    # Another harmless search stands in.
    Task(
        "Search for the mayor of Lyon",
        "search_web",
        ["mayor of Lyon", {"query": "mayor of Lyon"}],
        "mayor of Lyon: 3 pages",
        broken=("search_web",),
    ),
    Task(
        "搜索里昂的市长",
        "search_web",
        ["里昂的市长", {"query": "里昂的市长"}],
        "in place of a tool",
        FAILED,
        claimed="里昂的市长是张三。",
        broken=("search_web", "web_search", "wikipedia_search"),
    ),
    Task(
        "Calculate 1/0",
        "calculate",
        ["1/0"],
        "division by zero",
        FAILED,
        {"input_data": "1/0"},
        "It is infinite.",
    ),
    Task(
        "计算 1/0", "calculate", ["1/0"], "division by zero", FAILED, {"input_data": "1/0"}, "现在是 09:30。"
    ),
    Task(
        "Get the last 3 messages",
        "get_conversation_history",
        ["last 3"],
        "MemoryManager",
        FAILED,
        claimed="You asked about cats.",
        broken=("get_conversation_history",),
    ),
]
MISSING = [
    Task("Get the weather in Oslo", "get_weather", [], "no tool named", FAILED, claimed="It rains in Oslo."),
    Task("查询奥斯陆的天气", "get_weather", [], "no tool named", FAILED, claimed="奥斯陆在下雨。"),
    Task("Send a fax to Ada", "send_fax", [], "no tool named", FAILED, claimed="I have sent the fax."),
    Task("给小明发送短信", "send_sms", [], "no tool named", FAILED, claimed="已发送短信。"),
    Task("Search for Dune", "searchWeb", ["Dune"], "Dune: 3 pages"),
]
LETTER = {"message": "到了", "to": "li@a.test", "subject": "到达"}
ACTING = [
    Task(
        "Write milk into list.txt",
        "write_file",
        [{"file_path": "list.txt", "text": "milk"}],
        "done",
        written={"file_path": "list.txt", "text": "milk"},
    ),
    Task("给 li@a.test 发邮件说到了", "send_gmail_message", [LETTER], "done", written=LETTER),
    Task(
        "Delete the last file", "file_delete", [], "wrote no arguments", FAILED, claimed="I have deleted it."
    ),
    Task(
        "运行测试",
        "terminal",
        [],
        "terminal",
        FAILED,
        written={"shell": "make test"},
        claimed="测试已全部通过。",
    ),
    Task(
        "Mail bob@a.test that we are late",
        "send_gmail_message",
        [{"message": "late", "to": "bob@a.test", "subject": "late"}],
        "mail server",
        FAILED,
        {"message": "late", "to": "bob@a.test", "subject": "late"},
        "I have sent the mail.",
        ("send_gmail_message",),
    ),
]
TASKS = [*WORKING, *FAILING, *MISSING, *ACTING]


def answer_of(name: str, given: Any) -> Any:
    text = given if isinstance(given, str) else str(next(iter(given.values()), ""))
    match name:
        case "calculate":
            return {"success": True, "expression": text, "result": eval(text), "formatted": str(eval(text))}
        case "get_time":
            return {"success": True, "current_time": "2026-11-18 09:30:00", "timezone": "local"}
        case "search_web" | "web_search" | "wikipedia_search":
            return f"{text}: 3 pages"
        case "list_workspace_files" | "list_directory":
            return {"success": text in ("src", "data"), "error": "path_not_found", "result": ["main.py"]}
        case "get_conversation_history":
            return "[user]: hello"
        case "visit_webpage":
            return "a page"
        case "read_file":
            return "milk"
        case "sql_db_query":
            return 42
        case _:
            return "done"


class OldTool:
    """A tool of Research_Agent: any input, and no schema."""

    def __init__(self, name: str, description: str, answer: Callable[[Any], Any]) -> None:
        self.name, self.description, self._answer = name, description, answer

    async def execute(self, input_data: Any) -> Any:
        return self._answer(input_data)


BROKEN = {"get_conversation_history": "MemoryManager未设置", "send_gmail_message": "the mail server is down"}


def orchestrator(task: Task) -> tuple[ToolHub, list[Any]]:
    hub, calls = ToolHub(), []

    def answering(name: str) -> Callable[[Any], Any]:
        def answer(given: Any) -> Any:
            calls.append(given)
            if name in task.broken:
                raise OSError(BROKEN.get(name, "SERPAPI_KEY_not_configured"))
            return answer_of(name, given)

        return answer

    for one in TOOLS:
        answer = answering(one["name"])
        if "parameters" not in one:
            hub.register(OldTool(one["name"], one["description"], answer))
        else:

            def function(_answer: Any = answer, **arguments: Any) -> Any:
                return _answer(arguments)

            hub.register(function, **{key: one[key] for key in ("name", "description", "parameters")})
    return hub, calls


def outcome(task: Task) -> tuple[str, list[Any], str]:
    """What became of a task, the calls that were made, and what the user is told."""
    hub, calls = orchestrator(task)
    step = {"id": 1, "description": task.said, "tool_type": task.tool}
    model = Roles(json.dumps([step]), task.claimed, "?" if task.written is None else json.dumps(task.written))
    answer = CoordinationAgent(hub, model).answer_sync(task.said)
    checked = answer.verification or {}
    told = "\n".join([answer.text, *answer.errors, *checked.get("issues", ())])
    if calls != task.calls:
        return WRONG, calls, told
    if answer.success and checked.get("verified"):
        return (RIGHT if task.answer in answer.text and task.expected == RIGHT else WRONG), calls, told
    return (FAILED if task.answer in told else WRONG), calls, told


@pytest.mark.parametrize("task", TASKS, ids=lambda task: f"{task.tool}-{task.said}")
def test_a_task_is_right_or_fails_with_a_sentence(task: Task) -> None:
    became, calls, told = outcome(task)
    assert (became, calls) == (task.expected, task.calls), told


def test_none_of_thirty_tasks_is_wrong() -> None:
    assert (len(TASKS), len(FAILING + MISSING + ACTING)) == (30, 15)
    assert Counter(outcome(task)[0] for task in TASKS) == {RIGHT: 19, FAILED: 11}
