"""The tools, resources and prompts that the conformance suite uses by name, as Python functions of a hub."""

from __future__ import annotations

import asyncio
import base64
from typing import Any

import common

from toolhub import CurrentCall, ToolError, ToolHub, current_call
from toolhub.questions import Form, Question, Roots, Sampling


def add_all(hub: ToolHub) -> None:
    """Give the hub everything that the suite asks for."""
    for name in common.PLAIN_TOOLS:
        hub.register(_plain(name), name=name)
    for name, (message, form) in common.FORMS.items():
        hub.register(_asking(message, form), name=name)
    for tool in (
        test_tool_with_logging,
        test_tool_with_progress,
        test_error_handling,
        test_elicitation,
        test_logging_tool,
        test_sampling,
        test_missing_capability,
    ):
        hub.register(tool)
    for name in common.ASKING_TOOLS:
        hub.register(_asking_for(name), name=name)
    _add_offers(hub)
    _add_triggers(hub)


def _add_offers(hub: ToolHub) -> None:
    """Resources and prompts."""
    for uri, (mime_type, text) in common.RESOURCES.items():
        content = base64.b64decode(common.PICTURE) if text is None else text
        hub.resources.add(uri, content, mime_type=mime_type)

    @hub.resources.add(common.TEMPLATE, mime_type="application/json")
    def template(id: str) -> dict[str, Any]:
        """Data by id."""
        return {"id": id, "templateTest": True, "data": f"Data for ID: {id}"}

    @hub.prompts.add
    def test_simple_prompt() -> Any:
        """A prompt without arguments."""
        return common.messages("test_simple_prompt", {})

    @hub.prompts.add
    def test_prompt_with_image() -> Any:
        """A prompt with an image in it."""
        return common.messages("test_prompt_with_image", {})

    @hub.prompts.add("test_prompt_with_arguments", completions={"arg1": ["paris", "park", "party"]})
    def with_arguments(arg1: str, arg2: str) -> Any:
        """A prompt with two arguments."""
        return common.messages("test_prompt_with_arguments", {"arg1": arg1, "arg2": arg2})

    @hub.prompts.add("test_prompt_with_embedded_resource")
    def with_resource(resourceUri: str) -> Any:
        """A prompt with a resource in it."""
        return common.messages("test_prompt_with_embedded_resource", {"resourceUri": resourceUri})

    @hub.prompts.add(common.ASKING_PROMPT)
    async def asking() -> str:
        """A prompt that asks before it answers."""
        await _ask(common.ASKING_PROMPT)
        return "Thank you for the context."


def _add_triggers(hub: ToolHub) -> None:
    """Tools that change the lists."""
    added = 0

    def test_trigger_tool_change() -> str:
        """Add a tool."""
        nonlocal added
        added += 1
        hub.register(_plain("test_simple_text"), name=f"added_{added}")
        return "added"

    def test_trigger_prompt_change() -> str:
        """Add a prompt."""
        nonlocal added
        added += 1
        hub.prompts.add(lambda: "Added.", name=f"added_{added}", description="Added while it is served.")
        return "added"

    hub.register(test_trigger_tool_change)
    hub.register(test_trigger_prompt_change)


def _plain(name: str) -> Any:
    def plain() -> Any:
        return common.contents(name)

    plain.__doc__ = f"Answer as {name} does."
    return plain


def _asking(message: str, form: dict[str, Any]) -> Any:
    async def asking() -> str:
        """Ask the user."""
        answer = await current_call().ask(message, form)
        return f"Elicitation completed: action={answer.action}, content={dict(answer.content)}"

    return asking


def _asking_for(name: str) -> Any:
    async def asking() -> str:
        """Ask the client, round by round."""
        await _ask(name)
        return "state-ok"

    return asking


async def _ask(name: str) -> None:
    call = current_call()
    for one in common.rounds(name, _capabilities(call)) or []:
        await call.ask_all({key: _question(**question) for key, question in one.items()})


def _capabilities(call: CurrentCall) -> dict[str, Any]:
    names = ("elicitation", "sampling", "roots")
    return {name: {} for name in names if call.supports(name)}


def _question(method: str, params: dict[str, Any]) -> Question:
    match method:
        case "elicitation/create":
            return Form(params["message"], params["requestedSchema"])
        case "sampling/createMessage":
            return Sampling(params["messages"], max_tokens=params["maxTokens"])
        case _:
            return Roots()


async def test_tool_with_logging() -> str:
    """Write three lines to the log."""
    for line in common.LOG:
        current_call().log("info", line)
        await asyncio.sleep(0.05)
    return "Tool with logging executed successfully"


async def test_logging_tool() -> str:
    """Write a line to the log."""
    current_call().log("info", "working")
    return "logged"


async def test_tool_with_progress() -> str:
    """Report progress three times."""
    for done in (0, 50, 100):
        current_call().report_progress(done, 100, f"Completed step {done} of 100")
        await asyncio.sleep(0.05)
    return "Tool with progress executed successfully"


def test_error_handling() -> str:
    """Fail."""
    raise ToolError(common.FAILURE)


async def test_elicitation(message: str) -> str:
    """Ask the user."""
    answer = await current_call().ask(message, common.form(response={"type": "string"}))
    return f"User response: action={answer.action}, content={dict(answer.content)}"


async def test_sampling(prompt: str) -> str:
    """Ask the model of the client."""
    return f"LLM response: {(await current_call().sample(prompt, max_tokens=100)).text}"


async def test_missing_capability() -> str:
    """Need the model of the client."""
    return (await current_call().sample("Hello")).text
