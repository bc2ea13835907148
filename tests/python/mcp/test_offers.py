"""Resources, templates, prompts and completion of real servers, in both eras."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import catalogue
import pytest

from support.warm import warm
from toolhub import InvalidArguments, ToolError, ToolHub, ToolNotFound, ToolTimeout

pytestmark = pytest.mark.anyio

WAYS = [("mcp1", "stdio"), ("mcp2", "stdio"), ("fastmcp", "stdio"), ("mcp1", "http"), ("mcp2", "http")]


@pytest.fixture(scope="module", params=WAYS, ids="-".join)
def reach(request: pytest.FixtureRequest, forked: Callable[..., Any]) -> Iterator[dict[str, Any]]:
    sdk, transport = request.param
    start = forked(sdk, "stdio")
    if transport == "stdio":
        yield start
        return
    port = catalogue.free_port()
    with catalogue.listening(sdk, transport, str(port), port=port, python=warm(sdk)):
        yield {"url": f"http://127.0.0.1:{port}/mcp"}


@pytest.fixture(scope="module")
async def ours(reach: dict[str, Any]) -> AsyncIterator[ToolHub]:
    async with ToolHub() as hub:
        hub.add_server("ours", **reach)
        yield hub


async def test_resources_are_listed_and_read(ours: ToolHub) -> None:
    found = await ours.resources.list()
    assert found.failed == {}
    (hello,) = [one for one in found if one.uri == "note://hello"]
    assert (hello.server, hello.name, hello.description) == ("ours", "hello", "A greeting")
    assert hello.mime_type == "text/plain"
    (content,) = await ours.resources.read("note://hello")
    assert (content.text, content.blob, content.server) == ("Hello", None, "ours")
    (content,) = await ours.resources.read("note://bytes", server="ours")
    assert (content.text, content.blob) == (None, bytes(range(4)))


async def test_a_template_finds_the_server_of_an_address(ours: ToolHub) -> None:
    assert [one.uri_template for one in await ours.resources.templates()] == ["note://{name}/size"]
    (content,) = await ours.resources.read("note://bread/size")
    assert content.text == "bread is 5 long"


async def test_prompts_are_listed_and_filled_in(ours: ToolHub) -> None:
    (prompt,) = await ours.prompts.list(["ours"])
    assert (prompt.name, prompt.description) == ("greet", "Greet a person.")
    assert [one["name"] for one in prompt.arguments] == ["name"]
    text = await ours.prompts.get("greet", {"name": "Ada"})
    assert text.server == "ours"
    assert [message["content"]["text"] for message in text.messages] == ["Say hello to Ada."]


async def test_what_is_wrong_is_refused_before_it_is_sent(ours: ToolHub) -> None:
    with pytest.raises(InvalidArguments, match="The prompt 'greet' needs the argument 'name'"):
        await ours.prompts.get("greet")
    wrong: Any = {"name": 5}
    with pytest.raises(InvalidArguments, match="The argument 'name' of 'greet' must be a text"):
        await ours.prompts.get("greet", wrong)
    with pytest.raises(ToolNotFound, match="No server lists the resource 'note://nothing'"):
        await ours.resources.read("note://nothing")
    with pytest.raises(ToolError, match="nothing"):
        await ours.resources.read("note://nothing", server="ours")


async def test_a_resource_of_two_servers_needs_a_name(ours: ToolHub, reach: dict[str, Any]) -> None:
    async with ToolHub() as hub:
        hub.add_server("a", **reach)
        hub.add_server("b", **reach)
        await hub.resources.list()
        with pytest.raises(
            InvalidArguments, match="Several servers have the resource 'note://hello': 'a', 'b'"
        ):
            await hub.resources.read("note://hello")
        (content,) = await hub.resources.read("note://hello", server="b")
        assert content.server == "b"


async def test_a_server_that_fails_does_not_hide_the_others(reach: dict[str, Any]) -> None:
    async with ToolHub() as hub:
        hub.add_server("good", **reach)
        hub.add_server("bad", command=sys.executable, args=["-c", "import sys; sys.exit('no key')"])
        found = await hub.resources.list()
        assert {one.server for one in found} == {"good"}
        assert "no key" in str(found.failed["bad"])


def test_the_blocking_twins_do_the_same(reach: dict[str, Any]) -> None:
    with ToolHub() as hub:
        hub.add_server("ours", **reach)
        assert "note://hello" in [one.uri for one in hub.resources.list_sync()]
        assert hub.resources.read_sync("note://hello")[0].text == "Hello"
        assert hub.resources.templates_sync()[0].server == "ours"
        assert hub.prompts.list_sync()[0].name == "greet"
        assert hub.prompts.get_sync("greet", {"name": "Ada"}).messages


async def test_the_demonstration_server(hub: ToolHub, installed: Callable[..., Any]) -> None:
    hub.add_server("everything", **installed("everything", "stdio"))
    resources = await hub.resources.list()
    assert resources
    contents = await hub.resources.read(resources[0].uri)
    assert contents[0].text or contents[0].blob
    prompts = {prompt.name: prompt for prompt in await hub.prompts.list()}
    completable = next(prompt for name, prompt in prompts.items() if "complet" in name)
    argument = completable.arguments[0]["name"]
    values = await hub.prompts.complete(argument, "", prompt=completable.name)
    assert len(values) > 1
    assert set(await hub.prompts.complete(argument, values[0][:3], prompt=completable.name)) <= set(values)


# A server whose lists never end: pages without number, entries that are none, texts with terminal codes.
ENDLESS = """
import json, sys
for line in sys.stdin:
    message = json.loads(line)
    method, rid = message.get("method"), message.get("id")
    if rid is None:
        continue
    page = int((message.get("params") or {}).get("cursor") or 0)
    result = {
        "initialize": {"protocolVersion": "2025-06-18", "capabilities": {"resources": {}, "prompts": {}},
                       "serverInfo": {"name": "s", "version": "1"}},
        "resources/list": {"nextCursor": str(page + 1), "resources": [
            {"uri": f"x://{page}/{n}", "name": "a" + chr(27) + "[31mb"} for n in range(100)
        ] + [None, 7, {"uri": 5}, {"name": "x"}]},
        "prompts/list": {"prompts": "none"},
    }.get(method)
    if result is None:
        print(json.dumps({"jsonrpc": "2.0", "id": rid, "error": {"code": -32601, "message": "no"}}), flush=True)
    else:
        print(json.dumps({"jsonrpc": "2.0", "id": rid, "result": result}), flush=True)
"""


async def test_lists_have_limits(hub: ToolHub) -> None:
    hub.add_server("s", command=sys.executable, args=["-c", ENDLESS])
    resources = await hub.resources.list()
    assert len(resources) == 10_000
    assert {one.name for one in resources} == {"ab"}
    assert await hub.resources.templates() == []
    prompts = await hub.prompts.list()
    assert prompts == []
    assert "prompts/list: 'prompts' is not a list" in str(prompts.failed["s"])


# A server that never answers for its resources and prompts.
HANGING = """
import json, sys
answers = {
    "initialize": {"result": {"protocolVersion": "2025-06-18", "capabilities": {"resources": {}, "prompts": {}},
                              "serverInfo": {"name": "s", "version": "1"}}},
    "server/discover": {"error": {"code": -32601, "message": "no"}},
    "tools/list": {"result": {"tools": []}},
}
for line in sys.stdin:
    message = json.loads(line)
    if message.get("method") in answers:
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **answers[message["method"]]}), flush=True)
"""


# The time is divided before a server is asked, whatever it runs on: one of each era and transport is enough.
@pytest.mark.parametrize(
    "reach", [("mcp1", "stdio"), ("mcp2", "http")], ids="-".join, indirect=True, scope="module"
)
async def test_a_server_that_does_not_list_is_named_and_leaves_time_for_the_others(
    hub: ToolHub, reach: dict[str, Any]
) -> None:
    hub.add_server("hangs", command=sys.executable, args=["-c", HANGING])
    hub.add_server("good", **reach)
    assert (await hub.connect()).failed == {}
    (content,) = await hub.resources.read("note://hello", timeout=8)
    assert content.text == "Hello"
    with pytest.raises(ToolTimeout, match="server 'hangs' could not be asked: it did not answer in time"):
        await hub.resources.read("note://nothing", timeout=0.5)
    with pytest.raises(ToolTimeout, match="lists the prompt 'nothing', and server 'hangs'"):
        await hub.prompts.get("nothing", timeout=0.5)
