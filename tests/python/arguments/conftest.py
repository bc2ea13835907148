"""Two ways to a tool with a JSON Schema: a server of MCP, and a Python function with `parameters=`."""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from toolhub import ToolHub
from toolhub.result import ToolResult

SERVER = Path(__file__).parents[2] / "mcp" / "servers" / "mirror.py"

Mirror = Callable[[dict[str, Any]], AbstractAsyncContextManager[Callable[..., Awaitable[ToolResult]]]]


@pytest.fixture(params=["server", "function"])
def mirror(request: pytest.FixtureRequest) -> Mirror:
    """`async with mirror(schema) as call`: a tool of that schema; its result is what reached it, as JSON text."""

    @asynccontextmanager
    async def open_mirror(schema: dict[str, Any]) -> AsyncIterator[Any]:
        async with ToolHub() as hub:
            if request.param == "server":
                env = {"SCHEMA": json.dumps(schema)}
                hub.add_server("m", command=sys.executable, args=[str(SERVER)], env=env)
                assert (await hub.connect()).connected == ["m"]
            else:
                hub.register(lambda **given: json.dumps(given), name="mirror", parameters=schema)

            async def call(args: Any = None, **options: Any) -> ToolResult:
                return await hub.execute("mirror", args, **options)

            yield call

    return open_mirror
