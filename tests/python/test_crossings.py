"""How often a call enters the core: the numbers of docs/concepts/architecture.md."""

import sys
from collections import Counter
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from toolhub import ToolHub, _core

pytestmark = pytest.mark.anyio

SERVER = Path(__file__).parent / "routing" / "server.py"
CALL = '<tool_call>{"name": "get_it", "arguments": {"x": 1}}</tool_call>'
CORE_TYPES = tuple(one for one in vars(_core).values() if isinstance(one, type))


async def get_it(x: int) -> int:
    return x


class Crossings:
    """Counts the calls of functions and methods of the core."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()

    def __enter__(self) -> Counter[str]:
        sys.setprofile(self._count)
        return self.counts

    def __exit__(self, *_: object) -> None:
        sys.setprofile(None)

    def _count(self, _: object, event: str, function: Any) -> None:
        if event == "c_call":
            owner = getattr(function, "__self__", None)
            if function.__module__ == "toolhub._core" or owner is _core or isinstance(owner, CORE_TYPES):
                self.counts[function.__name__] += 1


async def crossings(call: Callable[[], Awaitable[object]]) -> Counter[str]:
    await call()  # what is made once is made
    with Crossings() as counts:
        await call()
    return counts


def add_server(hub: ToolHub, folder: Path) -> None:
    (folder / "a.tools").write_text("get_far")
    hub.add_server("a", command=sys.executable, args=[str(SERVER), "a", str(folder), "read_only"])


async def test_a_native_call_enters_the_core_once() -> None:
    hub = ToolHub()
    hub.register(get_it)
    assert await crossings(lambda: hub.execute("get_it", {"x": 1})) == {"execute": 1}


async def test_a_call_of_a_server_enters_the_core_once(tmp_path: Path) -> None:
    async with ToolHub() as hub:
        add_server(hub, tmp_path)
        await hub.connect()
        assert await crossings(lambda: hub.execute("get_far", {"text": "x"})) == {"execute": 1}


@pytest.mark.parametrize("options", [{}, {"allowed": ["get_*"], "approve": lambda _: True}])
async def test_a_run_enters_the_core_to_plan_to_call_and_to_write(options: dict[str, Any]) -> None:
    hub = ToolHub()
    hub.register(get_it)
    expected = {"plan_run": 1, "dispatch": 1, "write_answers": 1}
    assert await crossings(lambda: hub.run(CALL, **options)) == expected


async def test_a_cold_start_lists_the_tools_of_a_server_without_starting_it(tmp_path: Path) -> None:
    async with ToolHub(store=tmp_path / "hub.db") as hub:
        add_server(hub, tmp_path)
        await hub.connect()
    with Crossings() as counts:
        hub = ToolHub(store=tmp_path / "hub.db")
        add_server(hub, tmp_path)
        tools = hub.tools()
    async with hub:
        assert ([tool.name for tool in tools], hub.servers()[0].state) == (["get_far"], "disconnected")
        assert counts.total() <= 10, counts
