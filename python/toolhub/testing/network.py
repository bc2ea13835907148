"""Refuses real connections of this process, so that a test cannot reach the network by mistake."""

import ipaddress
import socket
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any, cast


class NetworkBlockedError(OSError):
    """A connection was refused because the network is blocked."""


@contextmanager
def block_network(*, allow_loopback: bool = False) -> Generator[None]:
    """Refuse connections of Python's sockets. Unix sockets are allowed; this machine's own addresses if you say so.

    >>> import socket
    >>> with block_network():
    ...     socket.create_connection(("192.0.2.1", 80))
    Traceback (most recent call last):
    toolhub.testing.network.NetworkBlockedError: The network is blocked: a connection to 192.0.2.1:80 was refused.
    """
    before = {name: getattr(socket.socket, name) for name in ("connect", "connect_ex", "sendto")}
    resolve = socket.getaddrinfo

    def guarded(name: str) -> Any:
        def call(self: socket.socket, *args: Any) -> Any:
            # The address comes last, in `sendto` too.
            if self.family != getattr(socket, "AF_UNIX", None):
                _check(args[-1], allow_loopback)
            return before[name](self, *args)

        return call

    def guarded_resolve(host: Any, port: Any, *args: Any, **kwargs: Any) -> Any:
        _check((host, port), allow_loopback)
        return resolve(host, port, *args, **kwargs)

    for name in before:
        setattr(socket.socket, name, guarded(name))
    socket.getaddrinfo = guarded_resolve
    try:
        yield
    finally:
        socket.getaddrinfo = resolve
        for name, function in before.items():
            setattr(socket.socket, name, function)


def _check(address: Any, allow_loopback: bool) -> None:
    parts = cast("tuple[Any, ...]", address) if isinstance(address, tuple) else (address, None)
    host, port = str(parts[0]), parts[1]
    if _is_number(host) and not ipaddress.ip_address(host.partition("%")[0]).is_loopback:
        pass
    elif allow_loopback and (host in ("localhost", "None", "") or _is_number(host)):
        return
    shown = f"{host}:{port}" if port is not None else host
    raise NetworkBlockedError(f"The network is blocked: a connection to {shown} was refused.")


def _is_number(host: str) -> bool:
    try:
        ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return False
    return True
