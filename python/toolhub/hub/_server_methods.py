"""The methods of `ToolHub` for MCP servers. Each hands over to the part that does the work."""

import os
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Unpack

from .._twins import blocking
from ..exceptions import ToolError
from ..options import HeaderFunction, ServerOptions, Transport
from ..servers import ConnectReport, LoadReport, ServerInfo
from ._servers import ServerManager


class ServerMethods:
    """`load_mcp`, `add_server`, `servers`, `connect`, `refresh` and their like."""

    _servers: ServerManager

    def load_mcp(self, config: str | os.PathLike[str] | Mapping[str, Any]) -> LoadReport:
        """Add the servers of an `mcpServers` file, or of a mapping like it. No server is started yet.

        Loading a file again applies the difference: new servers are added, changed ones replaced, missing ones removed. A
        wrong entry is an error that names file, server and key, in the report and once in the log; the others still load.

        >>> from toolhub import ToolHub
        >>> hub = ToolHub()
        >>> hub.load_mcp({"mcpServers": {"files": {"command": "files-server"}, "bad": {"args": 5}}}).loaded
        ['files']
        """
        return self._servers.load(config)

    def add_server(
        self,
        id: str,
        *,
        command: str | None = None,
        args: Iterable[str] | None = None,
        env: Mapping[str, str] | None = None,
        cwd: str | os.PathLike[str] | None = None,
        url: str | None = None,
        headers: Mapping[str, str] | HeaderFunction | None = None,
        transport: Transport | None = None,
        auth: Any = None,
        disabled: bool = False,
        **options: Unpack[ServerOptions],
    ) -> list[str]:
        """Add one MCP server: a program (`command`, `args`, `env`, `cwd`) or a `url` with `headers`.

        `transport` is `http` or `sse`; without it the hub detects the transport. `options` are those of the key `toolhub` in
        a file, see `toolhub.options.ServerOptions`. `auth` is a bearer token, a function that returns one (sync or async,
        called for each request), `"oauth"` for a login in the browser, or a mapping with its details. A server with the same
        id is replaced. Returns warnings about the configuration.

        `headers` may differ by caller of a served hub: with placeholders such as `{principal.token}`, or as a function of the
        `toolhub.Principal`, sync or async, which is called for each request and returns the headers. It gets None where
        there is no caller: for lists of tools, and for calls outside of a served hub. A caller for whom it raises or returns
        None is refused, and so is a header with the caller's own token. It has 10 s.

        >>> from toolhub import ToolHub
        >>> hub = ToolHub()
        >>> hub.add_server("files", command="files-server", args=["--root", "/tmp"], startup_timeout=10)
        []
        >>> [server.state for server in hub.servers()]
        ['disconnected']
        """
        entry = {
            "command": command,
            "args": args,
            "env": env,
            "cwd": cwd,
            "url": url,
            "headers": headers,
            "transport": transport,
            "disabled": disabled or None,
        }
        return self._servers.add(id, entry, auth, options)

    def add_fastmcp(self, mcp: Any, id: str | None = None, **options: Unpack[ServerOptions]) -> list[str]:
        """Add the tools of a FastMCP server, or of an `MCPServer` of the MCP SDK, that is an object of this process.

        The hub is a client of the server, without a socket or a child process, so everything works as with other servers:
        effects, errors, progress, cancellation, resources, prompts. Its tools are known at once, and so are changes. `id`
        is the server's name by default, `options` are those of `add_server`, which also tells what is returned.

        The server runs on the running event loop, otherwise on a thread of its own. A blocking call such as `hub.call(...)`
        stops the loop of its thread, so the server goes on in a thread of its own from the first one on. Its calls that are
        under way then fail.

            mcp = FastMCP("Notes")
            hub.add_fastmcp(mcp)
        """
        from ._hosted import check_server

        check_server(mcp)
        return self._servers.host(str(mcp.name) if id is None else id, mcp, options)

    def remove_server(self, id: str) -> bool:
        """Remove a server and its tools; False, and a warning in the log, if there is none with that id."""
        return self._servers.remove(id)

    def servers(self) -> list[ServerInfo]:
        """All servers, in the order in which they were added."""
        return self._servers.infos()

    async def connect(
        self,
        ids: Iterable[str] | None = None,
        *,
        timeout: float | None = None,
        progress: Callable[[str, ToolError | None], Any] | None = None,
    ) -> ConnectReport:
        """Connect servers now, all of them or those named, up to 16 concurrently. Failures are reported per server.

        `progress` is called (and awaited, if it is async) with the id of each server as soon as it is connected, or with
        the error if it failed. An exception it raises ends `connect`.
        """
        return await self._servers.connect(ids, timeout, progress)

    connect_sync = blocking(connect)
    """`connect`, blocking. `progress` is called on a thread of the hub."""

    async def refresh(
        self, ids: Iterable[str] | None = None, *, timeout: float | None = None
    ) -> ConnectReport:
        """List the tools of servers again, connecting them if needed."""
        return await self._servers.refresh(ids, timeout)

    refresh_sync = blocking(refresh)
    """`refresh`, blocking."""
