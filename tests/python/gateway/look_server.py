"""A provider of the tool `look`, for `mcp` 1.x: `python look_server.py NAME [HEADER]`.

With HEADER, calls have to repeat the region in that header. A call with the region `nowhere` ends the process, after it has
printed what only its operator may read.
"""

from __future__ import annotations

import os
import sys
from typing import Annotated

from mcp.server.fastmcp import FastMCP
from pydantic import Field

NAME, HEADER = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else ""
EXTRA = {"x-mcp-header": HEADER} if HEADER else {}
server = FastMCP(NAME)


def end() -> None:
    """End as a program that has failed."""
    print(
        "RuntimeError: could not settle the invoice of bob, db=/srv/tenants/bob.sqlite",
        file=sys.stderr,
        flush=True,
    )
    os._exit(3)


@server.tool(description=f"Looks around, by {NAME}.", annotations={"readOnlyHint": True})
def look(region: Annotated[str, Field(json_schema_extra=EXTRA)]) -> str:
    if region == "nowhere":
        end()
    return f"{NAME} looked at {region}"


@server.resource("note://end")
def note() -> str:
    end()
    return ""


@server.prompt(name="end")
def prompt() -> str:
    end()
    return ""


server.run()
