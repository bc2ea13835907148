"""Refuses real connections of this process, so that a test cannot reach the network by mistake.

Python tells an audit hook of every connection and every datagram before it is made, whichever class or module makes it
(`socket`, `_socket`, asyncio). A hook cannot be removed, so one is added at the first use and looks at what is blocked now.
"""

import ipaddress
import socket
import sys
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any, cast

from .._checks import check_switch


class NetworkBlockedError(OSError):
    """A connection was refused because the network is blocked."""


_TO_ADDRESS = ("socket.connect", "socket.sendto", "socket.sendmsg")
"""Events with a socket and an address, which is None where the socket is connected."""
_BY_NAME = ("socket.getaddrinfo", "socket.gethostbyname", "socket.gethostbyaddr")
"""Events of a name that is looked up."""

_blocks: list[bool] = []
"""What is blocked now; of each block, whether this machine is allowed."""
_hook_is_there = False


@contextmanager
def block_network(*, allow_loopback: bool = False) -> Generator[None]:
    """Refuse connections of Python's sockets. Unix sockets are allowed; this machine's own addresses if you say so.

    >>> import socket
    >>> with block_network():
    ...     socket.create_connection(("192.0.2.1", 80))
    Traceback (most recent call last):
    toolhub.testing.network.NetworkBlockedError: The network is blocked: a connection to 192.0.2.1:80 was refused.
    """
    global _hook_is_there
    check_switch("allow_loopback", allow_loopback)
    if not _hook_is_there:
        _hook_is_there = True
        sys.addaudithook(_audit)
    _blocks.append(allow_loopback)
    try:
        yield
    finally:
        _blocks.remove(allow_loopback)


def _audit(event: str, args: tuple[Any, ...]) -> None:
    if not _blocks or not event.startswith("socket."):
        return
    if event in _TO_ADDRESS:
        if args[1] is not None and args[0].family != getattr(socket, "AF_UNIX", None):
            _check(args[1])
    elif event in _BY_NAME:
        _check((args[0], args[1] if len(args) > 1 else None))


def _check(address: Any) -> None:
    parts = cast("tuple[Any, ...]", address) if isinstance(address, tuple) else (address, None)
    host, port = _text(parts[0]), parts[1]
    if all(_blocks) and (host in ("localhost", "None", "") or _is_loopback(host)):
        return
    shown = f"{host}:{port}" if port is not None else host
    raise NetworkBlockedError(f"The network is blocked: a connection to {shown} was refused.")


def _text(host: Any) -> str:
    return host.decode("ascii", "replace") if isinstance(host, bytes | bytearray) else str(host)


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host.partition("%")[0]).is_loopback
    except ValueError:
        return False
