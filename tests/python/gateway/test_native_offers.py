"""Resources, prompts and questions of a hub without servers: with real clients of both generations, and by hand."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from typing import Any

import pytest

from support.warm import warm
from toolhub import ToolError, ToolHub, current_call
from toolhub.questions import Form, Roots, Sampling

from .test_offers import NAMES, SUITE, ask, served, upstream
from .test_serving import HERE

pytestmark = pytest.mark.anyio
NAME_FORM = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}


async def run(client: str, environment: str, url: str) -> Any:
    command = [*warm(environment), str(HERE / client), url]
    done = await asyncio.to_thread(subprocess.run, command, capture_output=True, text=True, timeout=50)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def questions() -> dict[str, Any]:
    return {
        "user_name": Form("What is your name?", NAME_FORM),
        "greeting": Sampling("Generate a greeting", max_tokens=50),
        "client_roots": Roots(),
    }


def summary(answers: dict[str, Any]) -> dict[str, Any]:
    greeting = answers["greeting"]
    return {
        "name": dict(answers["user_name"].content),
        "text": greeting.text,
        "model": greeting.model,
        "roots": [[root.uri, root.name] for root in answers["client_roots"]],
    }


def asking_hub() -> ToolHub:
    hub = ToolHub()

    @hub.tool
    async def everything() -> dict[str, Any]:
        """Ask for everything at once."""
        return summary(await current_call().ask_all(questions()))

    @hub.tool
    def everything_in_thread() -> dict[str, Any]:
        """The same, one question after the other, in a thread."""
        call = current_call()
        assert all(call.supports(what) for what in ("elicitation", "sampling", "roots"))
        answers = {
            "user_name": call.ask_sync("What is your name?", NAME_FORM),
            "greeting": call.sample_sync(["Hello", "Generate a greeting"], system_prompt="Be kind."),
            "client_roots": call.roots_sync(),
        }
        return summary(answers)

    @hub.tool
    async def with_tools() -> str:
        """Sample with tools, which the client does not support."""
        call = current_call()
        if call.supports("sampling.tools"):
            return "supported"
        try:
            await call.sample("Hello", tools=[{"name": "add", "inputSchema": {"type": "object"}}])
        except ToolError as error:
            return f"{error.kind}: {error}"
        return "asked"

    @hub.resources.add("app://clock")
    def clock() -> str:
        """The time."""
        return "noon"

    @hub.tool
    def touch() -> str:
        """Tell that the clock has changed."""
        hub.resources.updated("app://clock")
        return "touched"

    return hub


@pytest.mark.parametrize("environment", ["mcp1", "mcp2"])
async def test_clients_of_both_generations_see_what_the_hub_itself_offers(environment: str) -> None:
    sys.path.insert(0, str(SUITE))
    try:
        import native
    finally:
        sys.path.remove(str(SUITE))
    with ToolHub() as hub:
        native.add_all(hub)
        async with served(hub) as url:
            seen = await run("offer_client.py", environment, url)
    assert seen == {
        "missing": "Resource not found",
        "resources": ["test://static-binary", "test://static-text", "test://watched-resource"],
        "templates": "test://template/{id}/data",
        "prompts": [
            "test_input_required_result_prompt",
            "test_prompt_with_arguments",
            "test_prompt_with_embedded_resource",
            "test_prompt_with_image",
            "test_simple_prompt",
        ],
        "text": "This is the content of the static text resource.",
        "from template": '{"id":"7","templateTest":true,"data":"Data for ID: 7"}',
        "prompt": "Prompt with arguments: arg1='one', arg2='two'",
        "completion": ["paris", "park", "party"],
    }


@pytest.mark.parametrize("environment", ["mcp1", "mcp2"])
async def test_a_client_of_each_sdk_answers_questions_and_hears_of_changes(environment: str) -> None:
    asked = {
        "name": {"name": "Astrid"},
        "text": "re: Generate a greeting",
        "model": "parrot-7",
        "roots": [["file:///home/astrid", "home"]],
    }
    with asking_hub() as hub:
        async with served(hub) as url:
            seen = await run("asking_client.py", environment, url)
    assert seen == {
        "everything": asked,
        "everything_in_thread": asked,
        "with_tools": "refused",
        "updated": "app://clock",
    }


async def test_questions_have_the_keys_of_the_program_and_can_be_answered_at_once() -> None:
    capabilities = {"elicitation": {}, "sampling": {}, "roots": {}}
    everything = {"name": "everything", "_meta": {"io.modelcontextprotocol/clientCapabilities": capabilities}}
    with asking_hub() as hub:
        async with served(hub) as url:
            asked = (await ask(url, "tools/call", everything))["result"]
            assert asked["resultType"] == "input_required"
            assert {key: one["method"] for key, one in asked["inputRequests"].items()} == {
                "user_name": "elicitation/create",
                "greeting": "sampling/createMessage",
                "client_roots": "roots/list",
            }
            answers = {
                "user_name": {"action": "accept", "content": {"name": "Astrid"}},
                "greeting": {"role": "assistant", "content": {"type": "text", "text": "Hi"}, "model": "m"},
                "client_roots": {"roots": []},
            }
            again = {**everything, "inputResponses": answers, "requestState": asked["requestState"]}
            done = (await ask(url, "tools/call", again))["result"]
            assert done["structuredContent"]["text"] == "Hi"
            early = {**everything, "inputResponses": answers}
            assert (await ask(url, "tools/call", early))["result"]["structuredContent"] == {
                "name": {"name": "Astrid"},
                "text": "Hi",
                "model": "m",
                "roots": [],
            }


async def test_a_client_without_the_capability_gets_the_error_of_the_protocol() -> None:
    with asking_hub() as hub:
        async with served(hub) as url:
            refused = (await ask(url, "tools/call", {"name": "everything"}))["error"]
            assert (refused["code"], refused["data"]) == (
                -32021,
                {"requiredCapabilities": {"elicitation": {}}, "toolhub/outcome": "unknown"},
            )
            told = (await ask(url, "tools/call", {"name": "with_tools"}))["result"]["content"][0]["text"]
            assert told == "not_allowed: The client of this call does not support 'sampling/createMessage'."


async def test_errors_and_types_of_resources_and_prompts() -> None:
    with ToolHub() as hub:

        @hub.resources.add("app://{kind}")
        async def thing(kind: str) -> Any:
            """Things of several kinds."""
            if kind == "gone":
                raise ToolError("It is gone.", kind="not_found")
            if kind == "broken":
                raise ValueError("no paper")
            await asyncio.sleep(0)
            return [{"text": "a"}, b"\x00\x01", {"type": "image", "data": b"\x02", "mimeType": "image/gif"}]

        @hub.prompts.add
        def count(to: int) -> str:
            """Count."""
            return f"Count to {to + 1}."

        async with served(hub) as url:
            read = await ask(url, "resources/read", {"uri": "app://things"})
            assert read["result"]["contents"] == [
                {"uri": "app://things", "mimeType": "text/plain", "text": "a"},
                {"uri": "app://things", "mimeType": "application/octet-stream", "blob": "AAE="},
                {"uri": "app://things", "mimeType": "image/gif", "blob": "Ag=="},
            ]
            for uri in ("app://gone", "app://a/b", "app://..", "app://%2e%2e"):
                missing = (await ask(url, "resources/read", {"uri": uri}))["error"]
                assert (missing["code"], missing["data"]) == (-32602, {"uri": uri})
            broken = (await ask(url, "resources/read", {"uri": "app://broken"}))["error"]
            assert broken["message"] == "Resource 'app://{kind}' raised ValueError: no paper"
            filled = await ask(url, "prompts/get", {"name": "count", "arguments": {"to": "2"}})
            assert filled["result"]["messages"][0]["content"]["text"] == "Count to 3."
            assert filled["result"]["description"] == "Count."
            for arguments in ({}, {"to": 2}, {"to": "two"}, []):
                wrong = await ask(url, "prompts/get", {"name": "count", "arguments": arguments})
                assert wrong["error"]["code"] == -32602, arguments


async def test_what_a_server_has_too_is_told_apart_and_views_name_the_hub() -> None:
    views: Any = {
        "closed": {"tools": ["test_*"]},
        "open": {"tools": ["test_*"], "resources": ["native"], "prompts": []},
    }
    with ToolHub() as hub:
        hub.add_server("other", **upstream("legacy"))
        hub.resources.add("test://static-text", "mine")
        hub.prompts.add(lambda: "mine", name=NAMES[0])
        await hub.connect()
        async with served(hub, views=views) as url:
            listed = (await ask(url, "resources/list"))["result"]["resources"]
            uris = [one["uri"] for one in listed if one["uri"].endswith("static-text")]
            assert uris == ["test://static-text", "toolhub://other/test://static-text"]
            for uri, text in [
                (uris[0], "mine"),
                (uris[1], "This is the content of the static text resource."),
            ]:
                (content,) = (await ask(url, "resources/read", {"uri": uri}))["result"]["contents"]
                assert (content["uri"], content["text"]) == (uri, text)
            got = (await ask(url, "prompts/get", {"name": NAMES[0]}))["result"]["messages"]
            assert got[0]["content"]["text"] == "mine"
            opened = (await ask(f"{url}/open", "resources/list"))["result"]["resources"]
            assert [one["uri"] for one in opened] == ["test://static-text"]
            assert (await ask(f"{url}/closed", "resources/list"))["error"]["code"] == -32601
            assert (await ask(f"{url}/open", "prompts/list"))["error"]["code"] == -32601
        assert [one.server for one in await hub.resources.list()][:2] == ["native", "other"]
        assert (await hub.resources.read("test://static-text"))[0].text == "mine"
        (theirs,) = await hub.resources.read("test://static-text", server="other")
        assert theirs.text == "This is the content of the static text resource."
