"""The tools of a hub for the OpenAI Agents SDK. Needs `openai-agents`."""

from collections.abc import Iterable
from typing import Any, Unpack

from ..hub import ToolHub
from ..options import CallOptions
from ..parsing import parse
from ..result import ToolResult
from ._calls import declared, imported

__all__ = ["to_openai_agents"]


def to_openai_agents(
    hub: ToolHub, tools: Iterable[str] | None = None, **options: Unpack[CallOptions]
) -> list[Any]:
    """The tools of a hub as function tools, for `Agent(tools=...)`.

    `tools` are names or patterns (`"search_*"`, `"!delete_*"`); `options` are those of `hub.execute` and apply to every
    call. The hub reads and checks the arguments. A failure is a sentence that the model gets as the tool's output.
    Cancelling the run cancels the call. Progress reports of servers go to `progress` of the options.

        agent = Agent(name="Assistant", tools=to_openai_agents(hub))
    """
    agents = imported("agents", "openai-agents", "openai-agents")
    kept: Any = dict(options)

    def function_tool(name: str, description: str, parameters: dict[str, Any]) -> Any:
        async def invoke(context: Any, arguments: str) -> Any:
            [call] = parse({"tool_calls": [{"function": {"name": name, "arguments": arguments}}]}).calls
            if call.error is not None:
                return call.error
            return _output(agents, await hub.execute(hub.original_name(name), call.arguments, **kept))

        return agents.FunctionTool(
            name=name,
            description=description,
            params_json_schema=parameters,
            on_invoke_tool=invoke,
            strict_json_schema=False,
        )

    return [function_tool(*one) for one in declared(hub, tools)]


def _output(agents: Any, result: ToolResult) -> Any:
    """What the model gets: a text, or with images a list of outputs."""
    if not result.success or not any(block.get("type") == "image" for block in result.content):
        return result.text
    return [
        agents.ToolOutputImage(image_url=f"data:{block.get('mimeType')};base64,{block['data']}")
        if block.get("type") == "image"
        else agents.ToolOutputText(text=ToolResult(success=True, result=block.get("text", block)).text)
        for block in result.content
    ]
