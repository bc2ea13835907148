"""A client of the SDK that reads resources and prompts: `python offer_client.py URL`, in an environment of its own.

It prints one line of JSON. No part of toolhub is used here.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
from typing import Any

from clients import connected


def dumped(value: Any) -> Any:
    return value.model_dump(mode="json", by_alias=True, exclude_none=True)


async def use(session: Any, uri: Any) -> dict[str, Any]:
    """What the client sees, in JSON of the protocol."""
    seen: dict[str, Any] = {
        "resources": [one["uri"] for one in dumped(await session.list_resources())["resources"]],
        "templates": dumped(await session.list_resource_templates())["resourceTemplates"][0]["uriTemplate"],
        "prompts": [one["name"] for one in dumped(await session.list_prompts())["prompts"]],
        "text": dumped(await session.read_resource(uri("test://static-text")))["contents"][0]["text"],
        "from template": dumped(await session.read_resource(uri("test://template/7/data")))["contents"][0][
            "text"
        ],
        "prompt": dumped(
            await session.get_prompt("test_prompt_with_arguments", {"arg1": "one", "arg2": "two"})
        )["messages"][0]["content"]["text"],
    }
    from mcp.types import PromptReference

    reference = PromptReference(type="ref/prompt", name="test_prompt_with_arguments")
    completed = await session.complete(reference, {"name": "arg1", "value": "par"})
    seen["completion"] = dumped(completed)["completion"]["values"]
    try:
        await session.read_resource(uri("test://nowhere"))
    except Exception as error:
        seen["missing"] = str(error)
    return seen


async def main() -> None:
    """Prefers the newer client, which speaks the modern protocol."""
    with contextlib.suppress(ImportError):
        from mcp import Client

        async with Client(sys.argv[1]) as client:
            sys.stdout.write(json.dumps(await use(client, str)))
        return
    from pydantic import AnyUrl

    async with connected(sys.argv[1:]) as session:
        sys.stdout.write(json.dumps(await use(session, AnyUrl)))


asyncio.run(main())
