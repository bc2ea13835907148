"""`hub.add_fastmcp(mcp)`: a server of FastMCP or of the SDK in this process, as a source of tools."""

from __future__ import annotations

import asyncio
import threading

import cases
from mcp_servers import Context, Server

from toolhub import ErrorKind, ToolHub


def notes() -> Server:
    mcp = Server("notes")

    @mcp.tool()
    def add(a: int, b: int) -> int:
        """Add two numbers."""
        return a + b

    @mcp.tool(annotations={"readOnlyHint": True} if Server.__module__.startswith("fastmcp.") else None)
    def person() -> dict[str, str]:
        return {"name": "Ada"}

    @mcp.tool()
    async def count(n: int, ctx: Context) -> str:
        for step in range(n):
            await ctx.report_progress(step + 1, n, f"step {step + 1}")
        return "counted"

    @mcp.tool()
    def broken() -> str:
        raise ValueError("the shelf is empty")

    return mcp


async def test_the_tools_are_there_at_once_and_answer() -> None:
    async with ToolHub() as hub:
        assert hub.add_fastmcp(notes()) == []
        assert [tool.name for tool in hub.tools()] == ["add", "person", "count", "broken"]
        tool = hub.get("add")
        assert tool is not None
        assert tool.description == "Add two numbers."
        assert tool.parameters["required"] == ["a", "b"]
        assert tool.sources == ["mcps"]
        result = await hub.execute("add", {"a": 2, "b": 3})
        assert result.result == 5, result
        assert (await hub.execute("person")).result == {"name": "Ada"}
        [server] = hub.servers()
        assert (server.id, server.state, server.transport, server.pid) == (
            "notes",
            "connected",
            "in_process",
            None,
        )


async def test_the_hub_checks_the_arguments_before_the_server_sees_them() -> None:
    seen: list[object] = []
    mcp = Server("strict")

    @mcp.tool()
    def double(number: int) -> int:
        seen.append(number)
        return 2 * number

    async with ToolHub() as hub:
        hub.add_fastmcp(mcp)
        refused = await hub.execute("double", {"number": "many"})
        assert refused.kind is ErrorKind.INVALID_ARGUMENTS, refused
        assert not seen


async def test_an_error_of_a_tool_is_one() -> None:
    async with ToolHub() as hub:
        hub.add_fastmcp(notes())
        result = await hub.execute("broken")
        assert (result.success, result.kind) == (False, ErrorKind.TOOL_ERROR)
        assert "broken" in str(result.error)
        assert (await hub.execute("add", {"a": 1, "b": 1})).result == 2, "the session goes on"


async def test_progress_arrives() -> None:
    async with ToolHub() as hub:
        hub.add_fastmcp(notes())
        reports: list[dict[str, object]] = []
        assert (await hub.execute("count", {"n": 3}, progress=reports.append)).result == "counted"
        assert [report["message"] for report in reports] == ["step 1", "step 2", "step 3"]


async def test_a_cancelled_call_is_cancelled_in_the_server() -> None:
    mcp, started, ended = Server("slow"), asyncio.Event(), asyncio.Event()

    @mcp.tool()
    async def wait() -> str:
        started.set()
        try:
            await asyncio.sleep(60)
        finally:
            ended.set()
        return "late"

    async with ToolHub() as hub:
        hub.add_fastmcp(mcp)
        call = asyncio.ensure_future(hub.execute("wait"))
        await started.wait()
        call.cancel()
        await ended.wait()
        ended.clear()
        late = await hub.execute("wait", timeout=0.2)
        assert late.kind is ErrorKind.TIMEOUT
        await ended.wait()


async def test_changes_of_the_tools_are_known_at_once() -> None:
    mcp = notes()
    async with ToolHub() as hub:
        hub.add_fastmcp(mcp)

        @mcp.tool()
        def before(x: int) -> int:
            return x + 1

        assert "before" in hub, "not connected yet"
        assert (await hub.execute("before", {"x": 1})).result == 2

        @mcp.tool()
        def after(x: int) -> int:
            return x + 2

        assert "after" in hub, "connected"
        assert (await hub.execute("after", {"x": 1})).result == 3
        assert (await hub.execute("before", {"x": 2})).result == 3
        remove = mcp.remove_tool if hasattr(mcp, "remove_tool") else mcp.local_provider.remove_tool
        remove("after")
        assert "after" not in hub
        assert (await hub.execute("after", {"x": 1})).kind is ErrorKind.NOT_FOUND


def test_blocking_calls_work_without_a_loop() -> None:
    with ToolHub() as hub:
        hub.add_fastmcp(notes(), id="mine", prefix="notes_")
        assert hub.call("notes_add", {"a": 20, "b": 22}).result == 42
        assert [server.id for server in hub.servers()] == ["mine"]
        assert hub.remove_server("mine")
        assert "notes_add" not in hub
    for thread in threading.enumerate():
        if thread.name == "toolhub-server":
            thread.join()  # the limit of the run is for a thread that never ends


async def test_blocking_calls_work_on_the_loop_of_the_server() -> None:
    """As in a cell of a notebook: the call stops the loop on which the server was added."""
    mcp, threads = notes(), list[str]()

    @mcp.tool()
    async def where() -> str:
        threads.append(threading.current_thread().name)
        return "here"

    with ToolHub(timeout=10) as hub:
        hub.add_fastmcp(mcp)
        assert hub.call("add", {"a": 1, "b": 2}).result == 3, "not connected yet"
        assert (await hub.execute("add", {"a": 3, "b": 4})).result == 7
        other = notes()
        hub.add_fastmcp(other, id="other", prefix="other_")
        assert (await hub.execute("other_add", {"a": 5, "b": 6})).result == 11
        assert hub.call("other_add", {"a": 7, "b": 8}).result == 15, "connected"
        assert hub.call("where").result == "here"
        assert threads == ["toolhub-server"]


def test_a_hub_outlives_the_loop_on_which_the_server_was_added() -> None:
    hub, mcp = ToolHub(), notes()

    async def first() -> None:
        hub.add_fastmcp(mcp)
        assert (await hub.execute("add", {"a": 1, "b": 2})).result == 3

    asyncio.run(first())
    assert hub.call("add", {"a": 3, "b": 4}).result == 7
    hub.close()


async def test_two_hubs_share_a_server_and_many_calls_run_at_once() -> None:
    mcp = notes()
    async with ToolHub() as one, ToolHub() as other:
        one.add_fastmcp(mcp)
        other.add_fastmcp(mcp)
        results = await asyncio.gather(
            *(hub.execute("add", {"a": n, "b": n}) for n in range(50) for hub in (one, other))
        )
        assert [result.result for result in results] == [2 * n for n in range(50) for _ in range(2)]


async def test_a_lifespan_that_fails_is_a_clear_error() -> None:
    from contextlib import asynccontextmanager

    @asynccontextmanager
    async def lifespan(_: object):
        raise RuntimeError("the database is away")
        yield {}

    mcp = Server("ill", lifespan=lifespan)

    @mcp.tool()
    def read() -> str:
        return "text"

    async with ToolHub() as hub:
        hub.add_fastmcp(mcp)
        result = await hub.execute("read", timeout=20)
        assert result.success is False
        assert "the database is away" in str(result.error), result.error


def test_other_objects_are_refused() -> None:
    with ToolHub() as hub:
        for wrong in (object(), len, "notes"):
            assert "FastMCP" in cases.refused(lambda wrong=wrong: hub.add_fastmcp(wrong))
        assert hub.servers() == []


cases.run(globals())
