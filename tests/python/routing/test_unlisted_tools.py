"""A call that names a server: for a model its list decides, a program may call what a server has not listed."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from toolhub import ErrorKind, ToolHub, ToolResult

from .conftest import Lab

Call = Callable[..., Awaitable[ToolResult]]


async def by_execute(hub: ToolHub, name: str, **options: float) -> ToolResult:
    return await hub.execute(name, {"text": "x"}, server="a", **options)


async def by_dispatch(hub: ToolHub, name: str, **options: float) -> ToolResult:
    return await hub.dispatch(
        {"id": "c", "tool_name": name, "arguments": {"text": "x"}, "source": "a"}, **options
    )


pytestmark = pytest.mark.anyio

both = pytest.mark.parametrize("call", [by_execute, by_dispatch])


async def connected(hub: ToolHub) -> None:
    """Connects without waiting for the list."""
    connecting = asyncio.ensure_future(hub.connect())
    async with asyncio.timeout(60):
        while hub.servers()[0].state != "connected":
            await asyncio.sleep(0.01)
    connecting.cancel()


def check_not_found(result: ToolResult, lab: Lab) -> None:
    assert result.kind is ErrorKind.NOT_FOUND
    assert str(result.error).startswith("There is no tool named 'hidden'.")
    assert result.meta["error"]["outcome"] == "not_sent"
    assert lab.asked("a", "tools/call") == 0


@pytest.mark.parametrize(
    ("call", "options"), [(by_dispatch, {}), (by_dispatch, {"pin": True}), (by_execute, {"pin": True})]
)
async def test_a_tool_that_is_not_in_the_list_is_not_sent(
    lab: Lab, call: Call, options: dict[str, Any]
) -> None:
    lab.add("a", "far", **options)
    await lab.hub.connect()
    check_not_found(await call(lab.hub, "hidden"), lab)


async def test_a_program_may_call_what_a_server_has_not_listed(lab: Lab) -> None:
    lab.add("a", "far")
    await lab.hub.connect()
    await by_execute(lab.hub, "hidden")
    assert lab.asked("a", "tools/call") == 1


@both
async def test_a_pinned_server_lists_its_tools_before_its_first_call(lab: Lab, call: Call) -> None:
    lab.add("a", "far", pin=True)
    assert (await call(lab.hub, "far")).unwrap() == "a x"
    assert lab.asked("a", "tools/list") == 1


async def test_a_server_lists_its_tools_before_the_first_call_of_a_model(lab: Lab) -> None:
    lab.add("a", "far")
    check_not_found(await by_dispatch(lab.hub, "hidden"), lab)
    assert (await by_dispatch(lab.hub, "far")).unwrap() == "a x"
    assert lab.asked("a", "tools/list") == 1


@both
async def test_a_stale_list_is_read_again(lab: Lab, call: Call) -> None:
    lab.add("a", "far", mode="short")
    await lab.hub.connect()
    lab.offer("a", "far", "new")
    async with asyncio.timeout(20):
        while not (result := await call(lab.hub, "new")).success:
            assert result.kind is ErrorKind.NOT_FOUND
            await asyncio.sleep(0.05)
    assert result.result == "a x"


async def test_the_error_names_the_nearest_tool(lab: Lab) -> None:
    lab.add("a", "far", "find_files")
    await lab.hub.connect()
    result = await by_dispatch(lab.hub, "find_file")
    assert result.error == "There is no tool named 'find_file'. Did you mean 'find_files'?"
    assert lab.asked("a", "tools/call") == 0


async def test_a_server_that_never_lists_its_tools_is_called(lab: Lab) -> None:
    lab.add("a", mode="no_list")
    await connected(lab.hub)
    assert (await by_execute(lab.hub, "far", timeout=20)).unwrap() == "a x"


async def test_the_name_that_is_sent_has_no_prefix(lab: Lab) -> None:
    lab.add("a", mode="no_list", prefix="a_")
    await connected(lab.hub)
    assert (await by_execute(lab.hub, "a_far", timeout=20)).unwrap() == "a x"


@both
@pytest.mark.parametrize("options", [{"pin": True}, {"exclude": ["far"]}, {"include": ["near"]}])
async def test_what_a_configuration_withholds_is_not_sent_without_a_list(
    lab: Lab, call: Call, options: dict[str, Any]
) -> None:
    lab.add("a", mode="no_list", **options)
    await connected(lab.hub)
    result = await call(lab.hub, "far", timeout=0.2)
    assert not result.success
    assert result.meta["error"]["outcome"] == "not_sent"
    assert lab.asked("a", "tools/call") == 0


async def test_a_deadline_that_the_look_up_has_used_up_sends_nothing(lab: Lab) -> None:
    lab.add("a", mode="no_list")
    await connected(lab.hub)
    result = await by_dispatch(lab.hub, "far", deadline=0.2)
    assert result.kind is ErrorKind.TIMEOUT
    assert lab.asked("a", "tools/call") == 0


@both
async def test_both_report_the_same_details_of_a_server_that_cannot_be_reached(lab: Lab, call: Call) -> None:
    lab.hub.add_server("a", command="no-such-program-anywhere")
    error = (await call(lab.hub, "far")).meta["error"]
    details = {key: error[key] for key in ("kind", "code", "status", "retryable", "outcome")}
    assert details == {
        "kind": "connect",
        "code": None,
        "status": None,
        "retryable": True,
        "outcome": "not_sent",
    }
