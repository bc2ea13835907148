"""The parameters of requests are read once and strictly: nothing that two readers could understand differently is taken, and
nothing that the protocol forbids reaches a server."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.gateway import MODERN, LegacyClient, ask, call, python_of, send, served, serving
from toolhub import ToolHub
from toolhub.serving import Serving

from .test_serving import HERE
from .test_upstream_credentials import upstream

META = json.dumps(
    {
        "io.modelcontextprotocol/protocolVersion": MODERN,
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    }
)
ANN, BOB = "a" * 20, "b" * 20


@pytest.fixture(scope="module")
def ran() -> list[str]:
    return []


@pytest.fixture(scope="module")
def files(ran: list[str]) -> Iterator[Serving]:
    hub = ToolHub()

    @hub.tool
    def read_file(path: str = "") -> str:
        ran.append(f"read_file {path}")
        return "read"

    @hub.tool
    def delete_all(path: str = "") -> str:
        ran.append(f"delete_all {path}")
        return "deleted"

    with serving(hub) as own:
        yield own


def post_text(url: str, name: str, params: str) -> Any:
    """A modern `tools/call` whose headers name this tool, with these parameters as they stand."""
    headers = {
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
        "MCP-Protocol-Version": MODERN,
        "Mcp-Method": "tools/call",
        "Mcp-Name": name,
    }
    body = f'{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{params}}}'
    return send(url, "POST", body, headers)


@pytest.mark.parametrize(
    "members",
    [
        '"name":"read_file","name":"delete_all","arguments":{}',
        '"name":"read_file","n\\u0061me":"delete_all","arguments":{}',
        '"name":"delete_all","name":"read_file","arguments":{}',
        '"name":"read_file","arguments":{},"arguments":{"path":"/"}',
        '"name":"read_file","arguments":{"path":"a","path":"b"}',
    ],
)
def test_a_member_that_occurs_twice_is_refused(files: Serving, ran: list[str], members: str) -> None:
    ran.clear()
    reply = post_text(files.url, "read_file", f'{{{members},"_meta":{META}}}')
    assert (reply.status, reply.message["error"]["code"]) == (400, -32602), reply.text
    assert "occurs twice" in reply.message["error"]["message"]
    assert ran == []


MEMBER = st.one_of(
    st.tuples(st.just("name"), st.sampled_from(['"read_file"', '"delete_all"', "7", "null"])),
    st.tuples(st.just("arguments"), st.sampled_from(["{}", '{"path":"a"}', '{"path":"a","path":"b"}', "[]"])),
    st.tuples(st.just("_meta"), st.sampled_from([META, "{}", "5"])),
)


@given(
    members=st.lists(MEMBER, max_size=4),
    at=st.integers(0, 4),
    name=st.sampled_from(["read_file", "delete_all"]),
)
@settings(deadline=None, max_examples=150)
def test_headers_and_body_never_mean_different_calls(
    files: Serving, ran: list[str], members: list[tuple[str, str]], at: int, name: str
) -> None:
    ran.clear()
    members = [*members[:at], ("_meta", META), *members[at:]]
    reply = post_text(files.url, name, "{" + ",".join(f'"{key}":{value}' for key, value in members) + "}")
    keys = [key for key, _ in members]
    if ran:
        assert (reply.status, len(set(keys))) == (200, len(keys)), members
        assert [one.split()[0] for one in ran] == [name], members
    else:
        assert reply.status == 400, (members, reply.text)


@pytest.mark.anyio
async def test_a_session_refuses_them_too(files: Serving, ran: list[str]) -> None:
    ran.clear()
    client = LegacyClient(files.url)
    await client.start()
    headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    headers |= {"Mcp-Session-Id": client.session, "MCP-Protocol-Version": "2025-11-25"}
    params = '{"name":"read_file","name":"delete_all"}'
    body = f'{{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{params}}}'
    reply = await asyncio.to_thread(send, files.url, "POST", body, headers)
    assert reply.message["error"]["code"] == -32602
    assert ran == []


# What a server of an early SDK does not survive, by method.
MALFORMED: list[tuple[str, dict[str, Any]]] = [
    ("prompts/get", {"name": "greet", "arguments": {"name": 5}}),
    ("prompts/get", {"name": "greet", "arguments": ["Ann"]}),
    ("prompts/get", {"name": "greet", "arguments": "Ann"}),
    ("prompts/get", {"name": "greet", "arguments": {}}),
    ("prompts/get", {"name": ["greet"]}),
    ("resources/read", {"uri": "nonsense"}),
    ("resources/read", {"uri": "toolhub://shared/ no uri"}),
    ("resources/read", {"uri": 5}),
]


@pytest.mark.anyio
async def test_malformed_requests_do_not_reach_the_server_of_others() -> None:
    with ToolHub() as hub:
        hub.add_server("shared", command=python_of("mcp16"), args=[str(HERE / "old_sdk_server.py")])
        await hub.connect()
        pid = hub.servers()[0].pid
        async with served(hub, token={"ann": ANN, "bob": BOB}) as own:

            async def calls() -> list[str]:
                arguments = {"a": 1, "b": 2}
                return [(await call(own.url, "add", BOB, **arguments)).content for _ in range(16)]

            async def attack() -> list[int]:
                codes: list[int] = []
                for method, params in MALFORMED:
                    name = next(iter(params.values()))
                    headers = {"Mcp-Name": name if isinstance(name, str) else "greet"}
                    reply = await ask(own.url, method, params, ANN, **headers)
                    codes.append(reply.message["error"]["code"])
                return codes

            answers, codes = await asyncio.gather(calls(), attack())
            # What the protocol allows is asked as before.
            read = await ask(own.url, "resources/read", {"uri": "note://one"}, ANN)
            prompt = {"name": "greet", "arguments": {"name": "Ann"}}
            greeted = await ask(own.url, "prompts/get", prompt, ANN)
        assert answers == ["3"] * 16
        assert codes == [-32602] * len(MALFORMED)
        assert hub.servers()[0].pid == pid
    assert read.result["contents"][0]["text"] == "one"
    assert greeted.result["messages"][0]["content"]["text"] == "Hello Ann"


COMPLETE = {"ref": {"type": "ref/prompt", "name": "greeting"}, "argument": {"name": "name", "value": "A"}}


@pytest.mark.anyio
@pytest.mark.parametrize("environment", ["mcp1", "mcp2"])
async def test_malformed_completions_do_not_either(environment: str) -> None:
    messages: dict[str, dict[str, Any]] = {
        "'argument.name' must be a string": {"argument": None},
        "'argument' must be an object": {"argument": 5},
        "'argument.value' must be a string": {"argument": {"name": "name", "value": 5}},
        "'name' must be a string": {"ref": {"type": "ref/prompt"}},
        "the type of 'ref' must be 'ref/prompt' or 'ref/resource'": {"ref": {"type": "ref/tool"}},
        "'arguments.other' must be a string": {"context": {"arguments": {"other": 5}}},
        "'context' must be an object": {"context": []},
    }
    with upstream(environment) as up, ToolHub() as hub:
        hub.add_server("up", url=up.url)
        await hub.connect()
        async with served(hub) as own:
            whole = await ask(own.url, "completion/complete", COMPLETE)
            said = [await ask(own.url, "completion/complete", COMPLETE | odd) for odd in messages.values()]
        sent = [one for one in up.requests() if "completion/complete" in one["body"]]
    assert whole.result["completion"]["values"] == ["Ann"]
    assert [reply.message["error"]["code"] for reply in said] == [-32602] * len(messages)
    assert [reply.message["error"]["message"] for reply in said] == [
        f"Invalid params: {one}" for one in messages
    ]
    assert len(sent) == 1
