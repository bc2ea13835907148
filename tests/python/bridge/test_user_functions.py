"""A function of the user that hangs holds up neither `asyncio.run`, nor the end of the program, nor its other threads."""

import asyncio
import json
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from bridge.kit import SCRIPTS, finish, quick, script
from toolhub import ToolHub
from toolhub.hub import _search


@pytest.mark.parametrize("function", ["approve", "llm", "embed", "token", "elicitation", "sampling"])
def test_a_hung_function_holds_up_nothing(function: str) -> None:
    """The script starts a function that never returns, gives up, leaves `asyncio.run` and ends."""
    ended = finish(script("hung_function", function), 40)
    assert ended.status == 0, ended.err
    assert ended.out == "given up\nleft the loop\n"


class _Refusing(ThreadPoolExecutor):
    """The application's executor: nothing of ours may run there."""

    def submit(self, *args: Any, **kwargs: Any) -> Any:
        raise AssertionError("the executor of the application was used")


@pytest.mark.parametrize("is_async", [True, False])
def test_functions_of_the_user_do_not_use_the_executor_of_the_application(is_async: bool) -> None:
    threads: list[str] = []

    def approve(approval: Any) -> bool:
        threads.append(threading.current_thread().name)
        return True

    async def approve_async(approval: Any) -> bool:
        return approve(approval)

    def llm(prompt: str) -> str:
        threads.append(threading.current_thread().name)
        return "one answer"

    async def main() -> None:
        asyncio.get_running_loop().set_default_executor(_Refusing())
        hub = ToolHub(llm=llm)
        for server in "ab":
            hub.register(quick, name="search_web", source="mcps", server=server, read_only=True)
        hub.register(quick, name="send_mail", effects=True)
        text = '<tool_call>{"tool_name": "send_mail", "arguments": {}}</tool_call>'
        outcome = await hub.run(text, approve=approve_async if is_async else approve)
        assert outcome.results[0].success
        assert (await hub.execute("search_web", strategy="all")).success
        await hub.aclose()

    asyncio.run(main())
    assert threads[0] == ("MainThread" if is_async else "toolhub-callback")


def test_questions_of_servers_do_not_use_the_executor_of_the_application() -> None:
    threads: list[str] = []

    def ask(server: str, request: Any) -> dict[str, Any]:
        threads.append(threading.current_thread().name)
        return {"action": "decline"}

    async def main() -> None:
        asyncio.get_running_loop().set_default_executor(_Refusing())
        async with ToolHub(elicitation=ask) as hub:
            hub.add_server("asking", command=sys.executable, args=[str(SCRIPTS / "asking_server.py")])
            result = await hub.execute("ask", server="asking")
            assert json.loads(result.unwrap()) == {"action": "decline"}

    asyncio.run(main())
    assert threads == ["toolhub-callback"]


class Eats:
    """An async callback that swallows its cancellation and answers."""

    def __init__(self) -> None:
        self.began = asyncio.Event()

    async def __call__(self, asked: Any) -> Any:
        self.began.set()
        try:
            await asyncio.get_running_loop().create_future()
        except asyncio.CancelledError:
            return True


def _approval(hub: ToolHub, callback: Any) -> Any:
    hub.register(quick, name="send_mail", effects=True)
    text = '<tool_call>{"tool_name": "send_mail", "arguments": {}}</tool_call>'
    return hub.run(text, approve=callback)


def _synthesis(hub: ToolHub, callback: Any) -> Any:
    for number in range(2):

        async def answers(number: int = number) -> str:
            return f"answer {number}"

        hub.register(answers, name="search_web", source="mcps", server=str(number), read_only=True)
    return hub.execute("search_web", strategy="all", llm=callback)


@pytest.mark.parametrize("ask", [_approval, _synthesis])
def test_a_callback_that_swallows_the_callers_cancellation(ask: Callable[..., Any]) -> None:
    async def main() -> None:
        hub, callback = ToolHub(), Eats()
        task = asyncio.create_task(ask(hub, callback))
        await callback.began.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())


def test_a_hung_embedding_leaves_search_to_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_search, "_PATIENCE", 0.05)
    go = threading.Event()
    calls: list[int] = []

    def hangs(texts: list[str]) -> list[Any]:
        calls.append(len(texts))
        go.wait(30)
        return [[1.0, 0.0]] * len(texts)

    hub = ToolHub(embed=hangs)
    hub.register(quick, name="send_mail", description="Send a mail.")
    for _ in range(3):
        assert [hit.name for hit in hub.search("mail")] == ["send_mail"]
    assert len(calls) == 1, "while one call hangs, no other is started"
    go.set()
