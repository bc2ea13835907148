"""The tools of a hub as a toolset of pydantic-ai. Needs `pydantic-ai-slim`."""

from collections.abc import Iterable
from typing import Any, Unpack

from .._user_functions import in_thread
from ..exceptions import ErrorKind
from ..hub import ToolHub
from ..options import CallOptions
from ..result import ToolResult
from ._calls import declared, imported

__all__ = ["to_pydantic_ai"]

_PACKAGE = ("pydantic-ai-slim", "pydantic-ai")


def to_pydantic_ai(
    hub: ToolHub,
    tools: Iterable[str] | None = None,
    *,
    id: str | None = None,
    max_retries: int = 1,
    **options: Unpack[CallOptions],
) -> Any:
    """A toolset for `Agent(toolsets=[...])`. It has the tools that the hub has when a step of the agent begins.

    `tools` are names or patterns (`"search_*"`, `"!delete_*"`); `options` are those of `hub.execute` and apply to every
    call. Arguments are checked by the hub; wrong ones are a retry for the model (at most `max_retries` times for a tool),
    other failures are reported to it as such. Cancelling the run cancels the call. Progress reports of servers go to
    `progress` of the options.

        agent = Agent(model, toolsets=[to_pydantic_ai(hub)])
    """
    toolsets = imported("pydantic_ai.toolsets.abstract", *_PACKAGE)
    definitions = imported("pydantic_ai.tools", *_PACKAGE)
    errors = imported("pydantic_ai.exceptions", *_PACKAGE)
    messages = imported("pydantic_ai.messages", *_PACKAGE)
    validation = imported("pydantic_core", *_PACKAGE)
    any_mapping = validation.SchemaValidator(validation.core_schema.dict_schema())
    kept: Any = dict(options)
    patterns = tools if tools is None or isinstance(tools, str) else list(tools)

    class HubToolset(toolsets.AbstractToolset):
        @property
        def id(self) -> str | None:
            return id

        async def get_tools(self, ctx: Any) -> dict[str, Any]:
            found = await in_thread(declared, hub, patterns)
            return {
                one.name: toolsets.ToolsetTool(
                    toolset=self,
                    tool_def=definitions.ToolDefinition(
                        name=one.name, description=one.description, parameters_json_schema=one.parameters
                    ),
                    max_retries=max_retries,
                    args_validator=any_mapping,
                )
                for one in found
            }

        async def call_tool(self, name: str, tool_args: dict[str, Any], ctx: Any, tool: Any) -> Any:
            result = await hub.execute(hub.original_name(name), tool_args, **kept)
            if result.success:
                return _value(messages, result)
            # Versions before `ToolFailed` know only retries.
            failed = getattr(errors, "ToolFailed", errors.ModelRetry)
            kind = errors.ModelRetry if result.kind is ErrorKind.INVALID_ARGUMENTS else failed
            raise kind(str(result.error)) from result.exception

    return HubToolset()


def _value(messages: Any, result: ToolResult) -> Any:
    """The value; media of a server as the binary content that a model sees."""
    if not any(block.get("type") in ("image", "audio") for block in result.content):
        return result.result
    from base64 import b64decode

    return [
        messages.BinaryContent(data=b64decode(block["data"]), media_type=str(block.get("mimeType")))
        if block.get("type") in ("image", "audio")
        else block.get("text", block)
        for block in result.content
    ]
