"""The task of a call of a Python tool that a client of the served hub makes."""

from inspect import isawaitable
from types import CoroutineType
from typing import Any

from . import _core


async def run(call: "_core.ServedCall") -> None:
    """Call the tool, and answer the client. The tool's errors are answers too."""
    try:
        value: Any = call.begin()
        if isinstance(value, _core.BridgeFuture):
            value = await value
            is_awaited = isinstance(value, CoroutineType)
        else:
            is_awaited = isawaitable(value)
        if is_awaited:
            value = await value
    except BaseException as error:
        if call.raised(error):
            raise
    else:
        call.returned(value)
