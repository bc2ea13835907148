"""`search_tools` of a view that shows some of the tools: the others change no result."""

from __future__ import annotations

import pytest

from support.gateway import call, served
from toolhub import ToolHub

pytestmark = pytest.mark.anyio
VISIBLE = {
    "sekret_lookup": "Looks up a thing in the catalogue",
    "send_bill": "Send a bill to the customer by mail",
    "mail_out": "mail a customer letter",
}
QUERIES = ("secret", "mail bill", "door", "custommer")


def nothing() -> None:
    """Do nothing."""


async def found(hidden: dict[str, str]) -> list[list[str]]:
    hub = ToolHub()
    for name, description in {**VISIBLE, **hidden}.items():
        hub.register(nothing, name=name, description=description)
    view = {"tools": list(VISIBLE), "search_mode": "on"}
    async with served(hub, views={"part": view}) as at:
        results = [(await call(f"{at.url}/part", "search_tools", query=query)).result for query in QUERIES]
    return [[tool["name"] for tool in result["structuredContent"]["tools"]] for result in results]


async def test_hidden_tools_change_no_result_of_a_view() -> None:
    plain = await found({})
    assert plain[1]
    assert await found({"secret_door": "Opens the secret door"}) == plain
    assert await found({f"bill_{number}": "bill bill" for number in range(30)}) == plain
