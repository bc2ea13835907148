"""Tells the clients of a server when the tools of a hub that it offers have changed."""

import asyncio
import contextlib
import weakref
from collections.abc import Awaitable, Callable
from typing import Any

from ._calls import OfferedTools

# Changes come in groups, such as the tools of a server; clients hear of a group once.
_SETTLING = 0.05


class ListChanges:
    """Sends `notifications/tools/list_changed` to the sessions that have used the server, and calls `publish` for servers that
    have a place for such events. Watching begins with the first request on an event loop, and ends with the loop.
    """

    def __init__(self, offered: OfferedTools, publish: Callable[[], Awaitable[Any]] | None = None) -> None:
        self._offered = offered
        self._publish = publish
        # A server may be run in several event loops. A session belongs to the one in which it was seen.
        self._sessions: weakref.WeakKeyDictionary[Any, asyncio.AbstractEventLoop] = (
            weakref.WeakKeyDictionary()
        )
        self._watching: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Task[None]] = (
            weakref.WeakKeyDictionary()
        )

    def request_of(self, find_session: Callable[[], Any]) -> None:
        """A request is running. `find_session` returns its session, or raises outside of one."""
        loop = asyncio.get_running_loop()
        with contextlib.suppress(Exception):  # each framework has an error of its own
            session = find_session()
            # In SDK 2.x each request has a session object of its own; the connection behind it stays.
            self._sessions[getattr(session, "_connection", session)] = loop
        task = self._watching.get(loop)
        if task is None or task.done():
            self._watching[loop] = loop.create_task(self._watch(loop))

    async def _watch(self, loop: asyncio.AbstractEventLoop) -> None:
        version, seen = self._offered.version(), self._offered.fingerprint()
        while True:
            version = await self._offered.changed_after(version)
            await asyncio.sleep(_SETTLING)
            version, now = self._offered.version(), self._offered.fingerprint()
            if now == seen:
                continue
            seen = now
            for session, its_loop in list(self._sessions.items()):
                if its_loop is loop:
                    # One client that is gone must not keep the others from hearing of it.
                    with contextlib.suppress(Exception):
                        await session.send_tool_list_changed()
            if self._publish is not None:
                await self._publish()
