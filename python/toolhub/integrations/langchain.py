"""LangChain tools from a hub (`to_langchain`), and LangChain tools for a hub (`from_langchain`). Needs `langchain-core`."""

from collections.abc import Iterable
from typing import Any, Unpack

from .._decorator import tool
from ..exceptions import ErrorKind, ToolError
from ..hub import ToolHub
from ..options import CallOptions
from ..result import ToolResult
from ._calls import declared, imported, in_this_context

__all__ = ["from_langchain", "to_langchain"]


def to_langchain(
    hub: ToolHub, tools: Iterable[str] | None = None, **options: Unpack[CallOptions]
) -> list[Any]:
    """The tools of a hub as LangChain tools, for `create_agent`, `bind_tools` and the like.

    `tools` are names or patterns (`"search_*"`, `"!delete_*"`); `options` are those of `hub.execute` and apply to every
    call. A tool has a name that model APIs accept, see `hub.original_name`. The artifact of a tool message is the
    `ToolResult`. A failure is a tool message with `status="error"`, so that an agent goes on. Progress reports of servers
    are custom events with the name `progress`, unless `options` have a `progress` function. Cancelling a tool cancels
    the call.

        agent = create_agent(model, tools=to_langchain(hub))
    """
    core = imported("langchain_core.tools", "langchain-core", "langchain")
    events = imported("langchain_core.callbacks", "langchain-core", "langchain")
    kept: Any = dict(options)

    class HubTool(core.BaseTool):
        # The model's arguments are the keywords, whatever their names.
        def _run(self, /, **arguments: Any) -> tuple[Any, ToolResult]:
            return _answer(core, hub.call(hub.original_name(self.name), arguments, **kept))

        async def _arun(self, /, **arguments: Any) -> tuple[Any, ToolResult]:
            async def send(report: dict[str, Any]) -> None:
                await events.adispatch_custom_event("progress", report)

            given: Any = {"progress": in_this_context(send), **kept}
            return _answer(core, await hub.execute(hub.original_name(self.name), arguments, **given))

    return [
        HubTool(
            name=one.name,
            description=one.description,
            args_schema=one.parameters,
            response_format="content_and_artifact",
            handle_tool_error=True,
        )
        for one in declared(hub, tools)
    ]


def _answer(core: Any, result: ToolResult) -> tuple[Any, ToolResult]:
    if not result.success:
        raise core.ToolException(str(result.error)) from result.exception
    if any(block.get("type") in ("image", "audio") for block in result.content):
        return [_block(block) for block in result.content], result
    return result.text, result


def _block(block: dict[str, Any]) -> dict[str, Any]:
    """A content block as LangChain writes it; other kinds than text and media stay as they are, as text."""
    match block:
        case {"type": "image" | "audio" as kind, "data": data, **rest}:
            return {"type": kind, "base64": data, "mime_type": rest.get("mimeType")}
        case {"type": "text", "text": text}:
            return {"type": "text", "text": text}
        case _:
            return {"type": "text", "text": ToolResult(success=True, result=block).text}


def from_langchain(tools: Iterable[Any]) -> list[Any]:
    """Functions for `hub.register`, one for each LangChain tool, with its name, description and schema.

    The hub checks the arguments. A tool that raises fails, also one with `handle_tool_error`: the hub reports the error,
    and other candidates of the name may answer.

        for function in from_langchain([tavily_search, wikipedia]):
            hub.register(function)
    """
    core = imported("langchain_core.tools", "langchain-core", "langchain")
    return [_function(core, one) for one in tools]


def _function(core: Any, one: Any) -> Any:
    if not isinstance(one, core.BaseTool):
        raise TypeError(f"from_langchain takes LangChain tools, got {type(one).__name__}")
    # The errors are for the hub, not texts for a model.
    strict: Any = one.model_copy(update={"handle_tool_error": False, "handle_validation_error": False})
    schema: Any = strict.tool_call_schema
    parameters: Any = schema.model_json_schema() if hasattr(schema, "model_json_schema") else schema

    @tool(name=strict.name, description=strict.description, parameters=parameters)
    async def call(**arguments: Any) -> Any:
        try:
            return await strict.ainvoke(arguments)
        except core.ToolException as error:
            raise ToolError(str(error) or type(error).__name__, ErrorKind.TOOL_ERROR) from error

    call.__name__ = call.__qualname__ = strict.name
    return call
