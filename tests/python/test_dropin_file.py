"""A whole file of an orchestrator, replaced by `toolhub.compat`."""

import asyncio
from typing import Any

import pytest

from support.tools import Run
from toolhub import compat


class Answering:
    """A tool that gives back a fixed value."""

    description = "Find rows."

    def __init__(self, name: str, value: Any) -> None:
        self.name, self._value = name, value

    async def execute(self, input: Any) -> Any:
        if self._value is asyncio:
            await asyncio.Event().wait()
        return self._value


@pytest.mark.parametrize(
    ("value", "expected", "result"),
    [
        ({"rows": [1], "count": 1}, {"rows": [1], "count": 1}, {"rows": [1], "count": 1}),
        ({"result": 5, "formatted": "5"}, {"formatted": "5"}, 5),
        ({"success": True, "result": 5, "formatted": "5"}, {"formatted": "5"}, 5),
        ({"success": True, "current_time": "noon"}, {"current_time": "noon"}, {"current_time": "noon"}),
        ({}, {}, {}),
        ("text", {}, "text"),
    ],
)
def test_the_keys_of_a_dict_stay_at_the_top(run: Run, value: Any, expected: Any, result: Any) -> None:
    hub = compat.ToolHub()
    meta = {"capabilities": ["context"]}
    hub.register_candidate(compat.ToolCandidate("rows", "tools", Answering("rows", value), 0, meta))
    for answer in (run(hub.execute("rows", "x")), run(hub.execute_by_capability("context", "x"))):
        assert (answer["success"], answer["result"]) == (True, result)
        assert {key: answer[key] for key in expected} == expected
        assert answer["_meta"]["source"] == "tools"


def test_a_whole_file_of_an_orchestrator_can_be_replaced(run: Run) -> None:
    names: dict[str, Any] = {}
    exec("from toolhub.compat import *", names)
    tags = names["_extract_capabilities_from_description"]
    assert set(tags("使用搜索引擎搜索网络信息", "search_web")) >= {"search", "web"}
    assert tags(None, "calculate") == ["calculate"]
    hub = names["ToolHub"]()
    for name, value in (("good", "a long answer"), ("empty", ""), ("slow", asyncio)):
        meta = {"capabilities": [" Waiting " if name == "slow" else " Rows "]}
        hub.register_candidate(names["ToolCandidate"](name, "tools", Answering(name, value), 0, meta))
    assert [one.name for one in hub.find_by_capability(" rows ")] == ["good", "empty"]
    assert run(hub.execute_by_capability(" Rows ", "x"))["success"]
    good = run(hub._call_candidate(hub._candidates_by_name["good"][0], "x"))
    assert good["result"] == "a long answer"
    slow = run(hub._call_candidate(hub._candidates_by_name["slow"][0], "x", timeout=0.05))
    assert (slow["success"], slow["error"].startswith("timeout")) == (False, True)
    assert hub._pick_best({0: {"success": True, "result": ""}, 1: dict(slow), 2: dict(good)}, []) == 2


@pytest.mark.parametrize(
    ("name", "capability", "tools", "together"),
    [
        ("calculate", "calculate", 1, False),
        ("calculate", "calculate", 2, True),
        ("search_web", "search", 3, True),
        ("extract_pdf", "extract", 3, True),
        ("calculate", "calculate", 3, False),
        ("get_time", "time", 3, False),
        ("计算器", None, 3, False),
        ("weather", None, 3, True),
    ],
)
def test_whether_answers_are_put_together(name: str, capability: Any, tools: int, together: bool) -> None:
    assert compat.ToolHub()._should_synthesize(name, capability, tools) is together
