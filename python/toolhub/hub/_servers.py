"""MCP servers: configuring, connecting, listing and closing them."""

import inspect
import os
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Unpack, cast

from .. import _core
from .._callbacks import Callbacks
from ..exceptions import ToolError
from ..options import ServerOptions, Transport
from ..servers import ConnectReport, LoadReport, LogOnce, ServerInfo, as_info
from ._base import HubPart

# Longer than any server may take to end.
_CLOSING = 10.0


class Serving(HubPart):
    """`load_mcp`, `add_server`, `remove_server`, `servers`, `connect` and `refresh`."""

    _servers: "_core.Servers | None"
    _callbacks: Callbacks
    _tokens: "str | os.PathLike[str] | None"
    _log_once: LogOnce

    def load_mcp(self, config: str | os.PathLike[str] | Mapping[str, Any]) -> LoadReport:
        """Take in the servers of an `mcpServers` file, or of a mapping like it. Nothing is started yet.

        A file that is loaded again applies the difference: new servers are added, changed ones replaced, missing ones
        removed. One wrong entry is an error that names file, server and key, in the report and once in the log; the others
        still load.

        >>> from toolhub import ToolHub
        >>> hub = ToolHub()
        >>> hub.load_mcp({"mcpServers": {"files": {"command": "files-server"}, "bad": {"args": 5}}}).loaded
        ['files']
        """
        if isinstance(config, Mapping):
            report: Any = self._open_servers().load_value(config)
        else:
            report = self._open_servers().load_file(os.path.expanduser(config))
        return self._log_once.log(LoadReport(**report))

    def add_server(
        self,
        id: str,
        *,
        command: str | None = None,
        args: Iterable[str] | None = None,
        env: Mapping[str, str] | None = None,
        cwd: str | os.PathLike[str] | None = None,
        url: str | None = None,
        headers: Mapping[str, str] | None = None,
        transport: Transport | None = None,
        auth: Any = None,
        disabled: bool = False,
        **options: Unpack[ServerOptions],
    ) -> list[str]:
        """Add one MCP server: a program (`command`, `args`, `env`, `cwd`) or a `url` with `headers`.

        `transport` is `http` or `sse`; without it the hub finds out. `options` are those of the key `toolhub` in a file:
        `timeout`, `startup_timeout`, `retries`, `max_concurrency`, `include`, `exclude`, `prefix`, `capabilities`, `effects`,
        `assume_read_only`, `max_message_bytes`, `idle_timeout`, … `auth` is a bearer token, a function that gives one (sync
        or async, asked for each request), `"oauth"` for a login in the browser, or a mapping with its details. A server with
        the same id is replaced. Gives back what is odd about it.

        >>> from toolhub import ToolHub
        >>> hub = ToolHub()
        >>> hub.add_server("files", command="files-server", args=["--root", "/tmp"], startup_timeout=10)
        []
        >>> [server.state for server in hub.servers()]
        ['disconnected']
        """
        given = {
            "command": command,
            "args": None if args is None else _as_list("args", args),
            "env": None if env is None else _as_dict("env", env),
            "cwd": None if cwd is None else os.fspath(cwd),
            "url": url,
            "headers": None if headers is None else _as_dict("headers", headers),
            "transport": transport,
            "disabled": disabled or None,
            "toolhub": options or None,
        }
        entry = {key: value for key, value in given.items() if value is not None}
        if callable(auth):
            self._callbacks.tokens[id] = auth
        elif auth is not None:
            entry["auth"] = auth
        return self._open_servers().add(id, entry, callable(auth))

    def remove_server(self, id: str) -> bool:
        """Take a server and its tools away; False when there is none of that name."""
        return self._servers is not None and self._servers.remove(id)

    def servers(self) -> list[ServerInfo]:
        """All servers, in the order in which they were added."""
        if self._servers is None:
            return []
        rows = cast("list[Any]", self._servers.list())
        return [as_info(row) for row in rows]

    async def connect(
        self,
        ids: Iterable[str] | None = None,
        *,
        timeout: float | None = None,
        progress: Callable[[str, ToolError | None], Any] | None = None,
    ) -> ConnectReport:
        """Connect servers now, all of them or those named, up to 16 side by side. Failures are reported per server.

        `progress` is called (and awaited, if it is async) with the id of each server as soon as it is connected, or with
        the error if it failed. An exception it raises ends `connect`.
        """
        servers = self._managed(ids)
        if servers is None:
            return ConnectReport()
        if progress is None:
            connected: Any = await servers.connect(_as_ids(ids), timeout)
            return ConnectReport(*connected)
        report = ConnectReport()
        outcomes: Any = servers.connect_each(_as_ids(ids), timeout)
        try:
            async for id, error in outcomes:
                if error is None:
                    report.connected.append(id)
                else:
                    report.failed[id] = error
                shown = progress(id, error)
                if inspect.isawaitable(shown):
                    await shown
        finally:
            outcomes.close()
        return report

    async def refresh(
        self, ids: Iterable[str] | None = None, *, timeout: float | None = None
    ) -> ConnectReport:
        """Ask servers for their tools again, connecting them if need be."""
        servers = self._managed(ids)
        if servers is None:
            return ConnectReport()
        listed: Any = await servers.refresh(_as_ids(ids), timeout)
        return ConnectReport(*listed)

    def pins(self) -> list[dict[str, Any]]:
        """The tools of servers with `pin`: the definition that was accepted, and what the server says now if it has changed.

        The first definition that is seen is accepted; with a store, the first one ever. A tool whose definition has changed
        since (`state` is `changed`) is in no list and no prompt, and calls of it are refused, until `accept_pin`.

        >>> from toolhub import ToolHub
        >>> ToolHub().pins()
        []
        """
        return [] if self._servers is None else cast("list[dict[str, Any]]", self._servers.pins())

    def accept_pin(self, server: str, tool: str | None = None) -> int:
        """Accept the changed definition of one tool, or of all tools of a server; says how many had changed."""
        return 0 if self._servers is None else self._servers.accept_pin(server, tool)

    def _managed(self, ids: Iterable[str] | None) -> "_core.Servers | None":
        """The servers of the hub; None when there are none and none is named."""
        self._check_open()
        return None if self._servers is None and ids is None else self._open_servers()

    def _check_open(self) -> None:
        if self._closed:
            raise RuntimeError("the hub is closed; make a new ToolHub")

    def _open_servers(self) -> "_core.Servers":
        self._check_open()
        if self._servers is None:
            self._callbacks.start()
            tokens = _core.usual_token_file() if self._tokens == "usual" else self._tokens
            callbacks = self._callbacks
            self._servers = _core.Servers(
                self._core,
                callbacks.queue,
                callbacks.known,
                None if tokens is None else os.path.expanduser(tokens),
            )
        return self._servers

    async def _close_servers(self) -> None:
        servers, self._servers = self._servers, None
        if servers is not None:
            await servers.aclose(_CLOSING)
        self._callbacks.stop()

    def _close_servers_now(self) -> None:
        servers, self._servers = self._servers, None
        if servers is not None:
            servers.close(_CLOSING)
        self._callbacks.stop()


def _as_ids(ids: Iterable[str] | None) -> list[str] | None:
    if ids is None:
        return None
    return [ids] if isinstance(ids, str) else list(ids)


def _as_list(what: str, given: Any) -> list[Any]:
    # A text is a series of texts too, of its characters.
    if isinstance(given, str | bytes) or not isinstance(given, Iterable):
        raise TypeError(f"{what} must be a list of texts, got {type(given).__name__}")
    return list(cast("Iterable[Any]", given))


def _as_dict(what: str, given: Any) -> dict[Any, Any]:
    if not isinstance(given, Mapping):
        raise TypeError(f"{what} must be a mapping of texts, got {type(given).__name__}")
    return dict(cast("Mapping[Any, Any]", given))
