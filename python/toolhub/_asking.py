"""Questions that servers ask through the core: input from the user, a completion, a token, a page to open.

One thread waits for them; each is answered in a thread of its own, so that a user who thinks about one holds up no other.
The waiting loop is Python on purpose, as in `_pool`.
"""

import asyncio
import inspect
import logging
import threading
import weakref
from collections.abc import Callable, Mapping
from typing import Any

from . import _background, _core

# The levels of syslog, which the protocol uses, in those of Python.
_LEVELS = {
    "debug": logging.DEBUG,
    "info": logging.INFO,
    "notice": logging.INFO,
    "warning": logging.WARNING,
    "error": logging.ERROR,
    "critical": logging.CRITICAL,
    "alert": logging.CRITICAL,
    "emergency": logging.CRITICAL,
}

Answer = Callable[[str, Any], Any]


class Asking:
    """Answers the questions of one hub with the functions that its owner has given."""

    def __init__(self, functions: Mapping[str, Answer]) -> None:
        self.desk = _core.QuestionDesk()
        self.tokens: dict[str, Callable[[], Any]] = {}
        """For servers whose token is what a function says."""
        self._functions: dict[str, Answer] = {**functions, "token": self._token, "log": _log}
        self._thread: threading.Thread | None = None

    def _token(self, server: str, _: Any) -> Any:
        return self.tokens[server]()

    @property
    def known(self) -> list[str]:
        """What can be asked."""
        return list(self._functions)

    def start(self) -> None:
        """Begin to listen; once is enough."""
        if self._thread is None:
            # The thread must not keep the hub, and goes with it.
            weakref.finalize(self, self.desk.close).atexit = False
            asked = (self.desk, weakref.ref(self))
            self._thread = threading.Thread(target=_listen, args=asked, name="toolhub-asks", daemon=True)
            self._thread.start()

    def stop(self) -> None:
        """No more questions; those that wait are refused."""
        self.desk.close()

    def take(self, question: Any) -> None:
        """Answer a question, at once or in a thread of its own."""
        if question.what in ("log", "event"):
            self._answer(question)
            return
        threading.Thread(target=self._answer, args=(question,), name="toolhub-answer", daemon=True).start()

    def _answer(self, question: Any) -> None:
        try:
            answer = self._functions[question.what](question.server, question.params)
            if inspect.isawaitable(answer):
                answer = _background.run(_awaited(answer))
            question.answer(answer)
        except (Exception, asyncio.CancelledError) as error:
            question.refuse(f"{type(error).__name__}: {error}")


def _listen(desk: "_core.QuestionDesk", owner: "weakref.ref[Asking]") -> None:
    while (question := desk.next()) is not None:
        asking = owner()
        if asking is None:
            question.refuse("nobody is there to answer")
        else:
            asking.take(question)
        del asking, question


def _log(server: str, said: dict[str, str]) -> None:
    """What a server says, at the level it says it; its error stream is for debugging."""
    level = _LEVELS.get(said["level"], logging.INFO)
    logging.getLogger("toolhub.mcp").log(level, "%s: %s", server, said["text"])


async def _awaited(awaitable: Any) -> Any:
    return await awaitable
