"""`record` and `replay`: context managers around the cassette of the core; and a cassette as a person reads it."""

import atexit
import json
import os
from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Literal, Self, cast

from .. import _core

if TYPE_CHECKING:
    from ..hub import ToolHub


_SHOWN = 5
"""So many misses, and so many unused recordings, are in the text of an error."""

Mode = Literal["strict", "lenient", "timed"]


class CassetteError(ValueError):
    """A cassette cannot be written or read; the text says why, and in which line it is wrong."""


class ReplayError(AssertionError):
    """What a program did differs from its recording."""

    def __init__(self, missed: list[str], unused: list[str]) -> None:
        shown = unused[:_SHOWN]
        more = [f"{len(unused) - _SHOWN} more recorded calls were not made."] if len(unused) > _SHOWN else []
        super().__init__("\n".join([*missed[:_SHOWN], *shown, *more]))
        self.missed = missed
        """A sentence for each call that no recording fitted."""
        self.unused = unused
        """A sentence for each recording that no call used."""


class _Cassette(ABC):
    def __init__(self, path: str | os.PathLike[str], hub: "ToolHub | None") -> None:
        self.path = os.fspath(path)
        """The file of the cassette."""
        self._hub = None if hub is None else hub._core  # pyright: ignore[reportPrivateUsage]

    @abstractmethod
    def _start(self) -> None: ...

    @abstractmethod
    def _end(self, is_failing: bool) -> None: ...

    def __enter__(self) -> Self:
        try:
            self._start()
        except ValueError as error:
            raise CassetteError(str(error)) from None
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        self._end(error is not None)

    async def __aenter__(self) -> Self:
        return self.__enter__()

    async def __aexit__(self, kind: object, error: object, trace: object) -> None:
        self.__exit__(kind, error, trace)


class record(_Cassette):
    """Write the calls of a hub, or of all hubs of this process, to a file; models too. For `with` and `async with`.

    A file that is there is replaced. Secrets are replaced by placeholders. One recording or replay runs at a time in a process.
    """

    def __init__(self, path: str | os.PathLike[str], hub: "ToolHub | None" = None) -> None:
        super().__init__(path, hub)
        self.events = 0
        """How many events were recorded, once it has ended."""

    def _start(self) -> None:
        _core.start_recording(self.path, self._hub)

    def _end(self, is_failing: bool) -> None:
        try:
            self.events, *_ = _core.stop_cassette()
        except ValueError as error:
            if not is_failing:
                raise CassetteError(str(error)) from None


class replay(_Cassette):
    """Answer the calls of a hub, or of all hubs of this process, from a file; models too. For `with` and `async with`.

    A call is found by its key: who calls, which tool, source and server it asks for, its arguments and `meta`. Equal calls are
    answered in the order in which they began. No tool runs, no server is started, nothing is cached or shared, and nothing is
    left for real calls. `mode`: `"strict"` wants each recorded call once; `"lenient"` answers as often as wanted; `"timed"` is
    strict, and answers take as long as they took. A call that was not recorded fails, and the end raises `ReplayError`.
    """

    def __init__(
        self, path: str | os.PathLike[str], mode: Mode = "strict", *, hub: "ToolHub | None" = None
    ) -> None:
        super().__init__(path, hub)
        self.mode: Mode = mode
        self.notices: list[str] = []
        """A sentence for each tool that is defined otherwise than when it was recorded, once the replay has ended."""

    def _start(self) -> None:
        _core.start_replay(self.path, self.mode, self._hub)

    def _end(self, is_failing: bool) -> None:
        _, missed, unused, notices = _core.stop_cassette()
        self.notices = notices
        if not is_failing and (missed or unused):
            raise ReplayError(missed, unused)


_WIDTH = 100


def events_of(path: str) -> list[dict[str, Any]]:
    """The events of a cassette; `CassetteError` if it is wrong."""
    try:
        return [cast("dict[str, Any]", event) for _, event in _core.cassette_events(path)]
    except ValueError as error:
        raise CassetteError(str(error)) from None


def lines_of(path: str) -> Iterator[str]:
    """A line for each event: what was called, with what, how it ended, and how long it took."""
    for event in events_of(path):
        kind = event["type"]
        match kind:
            case "call":
                what = f"{event['tool']} ({event['candidate']}) {_short(event['arguments'])}"
            case "model":
                what = f"{event['model']} {_short(event['arguments'])}"
            case "share":
                what = f"{event['tool']} {_short(event['arguments'])} {event['share']}"
            case "question":
                what = f"{event['server']} {event['method']} {_short(event['arguments'])}"
            case "list":
                names = [str(tool.get("name")) for tool in event["tools"]]
                what = f"{event['server']}: {', '.join(names)}"[:_WIDTH]
            case _:
                what = ""
        answer: Any = event.get("result", event.get("error"))
        value: Any = answer
        if isinstance(answer, dict):
            parts = cast("dict[str, Any]", answer)
            value = parts.get("value", parts.get("message"))
        shown = "" if answer is None else f" -> {_short(value)}"
        yield f"{event.get('ms', 0):9.1f} ms  {kind:8} {event.get('outcome', ''):9} {what}{shown}"


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _WIDTH else f"{text[:_WIDTH]}…"


RECORD = "TOOLHUB_RECORD"
"""The path of the cassette to write."""

REPLAY = "TOOLHUB_REPLAY"
"""A JSON list: the path of the cassette to replay, the mode, and the path for what was missed."""


def use_environment() -> None:
    """Record or replay this process as the environment says, until it exits. Its own children do neither."""
    record_to, replay_from = os.environ.pop(RECORD, ""), os.environ.pop(REPLAY, "")
    if replay_from:
        _replay(*json.loads(replay_from))
    elif record_to:
        cassette = record(record_to).__enter__()
        atexit.register(cassette.__exit__, None, None, None)


def _replay(path: str, mode: str, report: str) -> None:

    cassette = replay(path, mode).__enter__()  # pyright: ignore[reportArgumentType]
    process = os.getpid()

    def end() -> None:
        # A fork has a copy of the cassette, and nothing to report.
        if os.getpid() != process:
            return
        missed: list[str] = []
        unused: list[str] = []
        try:
            cassette.__exit__(None, None, None)
        except ReplayError as error:
            missed, unused = error.missed, error.unused
        with open(report, "w", encoding="utf-8") as file:
            json.dump({"missed": missed, "unused": unused, "notices": cassette.notices}, file)

    atexit.register(end)
