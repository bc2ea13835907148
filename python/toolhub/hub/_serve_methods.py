"""The methods of `ToolHub` that serve it as one MCP server. The core serves; this opens and ends it."""

import contextlib
import logging
import signal
import threading
from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Unpack, cast

from .. import _background, _lifecycle
from .._checks import check_callable, check_seconds, check_text, check_whole, if_given
from .._core import Gateway, Hub
from .._unknown_options import refuse_unknown
from ..options import ServeOptions
from ._reloading import ConfiguredOptions, Reloader
from ._serve_options import asking, gateway_options
from ._servers import ServerManager
from ._state import HubState

if TYPE_CHECKING:
    from ..serving import AsgiApp, Serving
    from . import ToolHub

_log = logging.getLogger("toolhub.serving")

Transport = Literal["stdio", "http"]
_HIGHEST_PORT = 65535
_OWN: dict[str, Any] = {"host": "127.0.0.1", "port": 8000, "path": "/mcp", "grace": 10.0}
"""The options of `serve` itself, with their defaults."""


class ServeMethods:
    """`serve`, `aserve` and `asgi`."""

    _core: Hub
    _state: HubState
    _gateways: set[Gateway]
    _servers: ServerManager

    def serve(
        self,
        transport: Transport = "stdio",
        *,
        host: str = "127.0.0.1",
        port: int = 8000,
        path: str = "/mcp",
        ready: "Callable[[Serving], Any] | None" = None,
        grace: float = 10.0,
        **options: Unpack[ServeOptions],
    ) -> None:
        """Offer all tools of the hub as one MCP server, until the client leaves, Ctrl-C or SIGTERM.

        `"stdio"` serves the program that started this one; what tools print goes to stderr. `"http"` serves
        `http://host:port/path`; with `port=0` the system chooses a free port. `ready` is called once, with a `Serving` that
        has the address (`url`, `host`, `port`) and can `stop`. Clients of both eras of the protocol are served. For clients
        that know only HTTP+SSE, the transport before March 2025, `sse_path="/sse"` serves that too.

        SIGTERM, Ctrl-C and `stop` drain: new requests get 503, calls that run may end, and serving ends within `grace` seconds;
        two seconds before that (in a grace below 5, two fifths of it), what still runs is cancelled, and a tool that ignores
        that is left behind. A second Ctrl-C ends serving at once. Each time `serve` returns as usual.

        A configuration file that changes is loaded again while the hub is served, without breaking a call; one with an error
        changes nothing and is logged. SIGHUP loads all files and folders again and opens the audit log again. `toolhub serve`
        applies tokens, views, `jwt` and limits of the section `serve` too; a warning names what needs a restart.

        `name` and `instructions` describe the server to clients. Web pages of `allowed_origins` may use the server (CORS);
        those of other sites are refused. `allowed_hosts` are the names under which clients reach it, beside `localhost` and
        addresses. Messages above `max_body` bytes are refused. A result above `max_result` bytes (10 MB on stdio) is kept, and
        the client gets an error that says how to read it in parts.

        `token` is the bearer token that callers must have, or several, by the name of who has each. `views` are parts of the
        hub at `path/<name>`: `{"reader": {"tools": ["search_*"], "effects": "harmless", "token": …}}`; a caller with the
        token of a view sees only that one. With `search_mode` on (`"auto"`: above 100 tools) only `search_tools`,
        `describe_tool`, `call_tool` and the tools named in `core` are listed. `audit` is a file that gets a line for each call,
        search, read and refusal. `/metrics` shows each caller its own requests; the operator sees all with `metrics_token`.

        `jwt` accepts signed tokens of an issuer: `{"jwks": file or URL, "issuer": …, "audience": …}`, and perhaps
        `algorithms`, `scopes`, `principal_claim` (`"sub"`) and `view_claim`. `authenticate` is your own function
        `(token, headers) -> name`, sync or async, which may also return a mapping with `name`, `view`, `claims` and
        `upstream_token`; None, an exception and anything else refuse the request. It has `authenticate_timeout` seconds.
        The token of a caller is never sent to an upstream server; `upstream_token` is what `{principal.token}` in the headers
        of a server stands for. With `jwt`, refused clients are sent to the metadata of this server (RFC 9728), or to
        `resource_metadata` if that is elsewhere.

        Limits: `max_connections`; `max_in_flight` requests and `max_streams` standing streams of one caller; `max_headers`
        bytes; `max_buffered` bytes of bodies and unread answers, half of them for one caller; `header_timeout`,
        `body_timeout` and `write_timeout` seconds for slow clients. Sessions of older clients live `session_lifetime`
        seconds. Replicas share `session_keys`: the first one signs, all are accepted.

        >>> from toolhub import ToolHub
        >>> hub = ToolHub()
        >>> _ = hub.register(len, name="length")
        >>> hub.serve("http", port=0, ready=lambda serving: serving.stop())
        """
        place = _checked_place(transport, ready, host, port, path, grace)
        self._serve_blocking(place, self._gateway(path, options))

    def _serve_configured(
        self,
        transport: Transport,
        read: Callable[[], dict[str, Any]],
        ready: "Callable[[Serving], Any] | None" = None,
    ) -> None:
        """`serve` with the options that `read` returns; they are read and applied again with each reload."""

        def checked_options() -> dict[str, Any]:
            given = read()
            refuse_unknown(self, type(self).serve, given)
            return {**_OWN, **given}

        options = checked_options()
        place = _checked_place(transport, ready, **{key: options[key] for key in _OWN})
        gateway = self._gateway(place.path, cast("ServeOptions", options))
        self._serve_blocking(place, gateway, ConfiguredOptions(gateway, checked_options, options).apply)

    async def aserve(
        self,
        transport: Transport = "stdio",
        *,
        host: str = "127.0.0.1",
        port: int = 8000,
        path: str = "/mcp",
        ready: "Callable[[Serving], Any] | None" = None,
        grace: float = 10.0,
        **options: Unpack[ServeOptions],
    ) -> None:
        """`serve`, for async code: returns when serving has ended; cancelling it ends serving and all its calls at once.

        Async tools run on the event loop of this call, so what they share with the rest of the program stays on one loop.
        """
        place = _checked_place(transport, ready, host, port, path, grace)
        gateway = self._gateway(path, options)
        with self._reloader(gateway) as reloader, self._open(gateway):
            gateway.enter()
            if transport == "http":
                opened: Any = gateway.bind(place.host, place.port)
                _announce(gateway, reloader, await opened, place)
            served: Any = gateway.serve(place.grace)
            await served

    def asgi(self, *, path: str = "/mcp", **options: Unpack[ServeOptions]) -> "AsgiApp":
        """The hub as an ASGI application, to be run by a server such as uvicorn or mounted in FastAPI or Starlette.

        It answers at `path` below the place where it is mounted: `app.mount("/mcp", hub.asgi(path="/"))`, or
        `app.mount("/", hub.asgi())` as the last route. Async tools run on the event loop of the application. A client
        that disconnects cancels its call. The options are those of `serve`.

        >>> from toolhub import ToolHub
        >>> app = ToolHub().asgi()
        """
        from ..serving import AsgiApp

        gateway = self._gateway(path, options)
        self._gateways.add(gateway)
        return AsgiApp(gateway)

    def _serve_blocking(
        self, place: "_Place", gateway: Gateway, apply_options: Callable[[], None] | None = None
    ) -> None:
        """Serve without an event loop until Python has something to run: asyncio is slow to import, and servers need none."""
        with (
            self._reloader(gateway, apply_options) as reloader,
            _signals(gateway, reloader, place.grace),
            self._open(gateway),
            _background.lent_loop() as open_loop,
        ):
            if place.transport == "http":
                _announce(gateway, reloader, gateway.bind_blocking(place.host, place.port), place)
            gateway.serve_blocking(place.grace, open_loop)

    @contextlib.contextmanager
    def _open(self, gateway: Gateway) -> Generator[None]:
        self._gateways.add(gateway)
        try:
            yield
        finally:
            self._gateways.discard(gateway)
            gateway.stop()
            gateway.leave()

    def _reloader(self, gateway: Gateway, apply_options: Callable[[], None] | None = None) -> Reloader:
        return Reloader(gateway, self._servers, cast("ToolHub", self).reload, apply_options)

    def _gateway(self, path: str, options: ServeOptions) -> Gateway:
        self._state.require_open()
        given = gateway_options(path, options)
        function = options.get("authenticate")
        servers = self._servers.made()
        return Gateway(self._core, servers, given, None if function is None else asking(function))


class _Place(NamedTuple):
    """Where a hub is served, and how that ends."""

    transport: Transport
    ready: "Callable[[Serving], Any] | None"
    host: str
    port: int
    path: str
    grace: float


def _checked_place(transport: Any, ready: Any, host: Any, port: Any, path: Any, grace: Any) -> _Place:
    if transport not in ("stdio", "http"):
        raise ValueError(f"transport must be 'stdio' or 'http', got {transport!r}")
    if_given(check_callable, "ready", ready)
    if transport == "http":
        host, port = check_text("host", host), check_whole("port", port, 0)
        if port > _HIGHEST_PORT:
            raise ValueError(f"port must be at most {_HIGHEST_PORT}, got {port}")
    return _Place(transport, ready, host, port, path, check_seconds("grace", grace))


def _announce(gateway: Gateway, reloader: Reloader, address: tuple[str, int], place: _Place) -> None:
    """The socket is open."""
    from ..serving import Serving

    serving = Serving(*address, place.path, gateway, reloader.request)
    warning = gateway.exposure(*address)
    if warning:
        _log.warning("%s", warning)
    if few := gateway.few_descriptors():
        _log.info("%s", few)
    if place.ready is not None:
        place.ready(serving)


@contextlib.contextmanager
def _signals(gateway: Gateway, reloader: Reloader, grace: float) -> Generator[None]:
    """SIGTERM and Ctrl-C drain, SIGHUP reloads. Only the main thread may handle signals."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    interrupts, is_ending = 0, False

    def drain() -> None:
        nonlocal is_ending
        if not is_ending:
            is_ending = True
            _lifecycle.end_within(grace)
        gateway.drain()

    def interrupt() -> None:
        nonlocal interrupts
        interrupts += 1
        if interrupts > 1:
            raise KeyboardInterrupt
        reloader.say("ending after the calls that run; Ctrl-C again ends them")
        drain()

    _lifecycle.end_within(None)
    handlers: dict[int, Callable[[], None]] = {signal.SIGTERM: drain}
    # A handler of the program stays.
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        handlers[signal.SIGINT] = interrupt
    if hasattr(signal, "SIGHUP"):  # not on Windows
        handlers[signal.SIGHUP] = reloader.request
    before = {number: signal.signal(number, lambda got, _: handlers[got]()) for number in handlers}
    try:
        yield
    except KeyboardInterrupt:
        if interrupts < 2:  # it is not ours
            raise
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
