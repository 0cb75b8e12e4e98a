"""Connections and HTTP requests, each with one deadline."""

from __future__ import annotations

import base64
import http.client
import io
import socket
import ssl
import time
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, unquote, urlsplit
from urllib.request import getproxies, proxy_bypass

from ._sockets import MAX_WAIT_S, left

MAX_BODY_BYTES = 32 * 1024 * 1024
GRACE_S = 1.0
"""What is partly sent ends the connection, so the rest gets at least this time, seconds."""


def proxy_of(host: str, secure: bool) -> str | None:
    """The URL in ``HTTPS_PROXY``, unless ``NO_PROXY`` excludes the host."""
    return getproxies().get("https") if secure and not proxy_bypass(host) else None


def dial(host: str, port: int, secure: bool, deadline: float) -> socket.socket:
    """A TCP connection to a server, through the proxy if there is one."""
    proxy = proxy_of(host, secure)
    if proxy is None:
        return _dial(host, port, deadline)
    parts = urlsplit(proxy if "://" in proxy else f"http://{proxy}")
    if parts.scheme != "http" or parts.hostname is None:
        raise OSError("HTTPS_PROXY is not supported: write http://host:port")
    raw = _dial(parts.hostname, parts.port or 80, deadline)
    try:
        target = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        lines = [f"CONNECT {target} HTTP/1.1", f"Host: {target}"]
        if parts.username is not None:
            pair = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
            lines.append(f"Proxy-Authorization: Basic {base64.b64encode(pair.encode()).decode()}")
        send_all(raw, "\r\n".join([*lines, "", ""]).encode(), deadline)
        answer = http.client.HTTPResponse(_Answer(raw, deadline), method="CONNECT")  # type: ignore[arg-type]
        answer.begin()
        if answer.status != 200:
            raise OSError(f"the proxy {parts.hostname} answered {answer.status} {answer.reason}")
    except (http.client.HTTPException, ValueError) as error:
        raw.close()
        raise OSError(f"the proxy {parts.hostname} did not answer with HTTP: {error!r}") from error
    except BaseException:
        raw.close()
        raise
    return raw


def _dial(host: str, port: int, deadline: float) -> socket.socket:
    failed: OSError = OSError(f"{host} has no address")
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except UnicodeError as error:
        raise OSError(f"{host!r} is not the name of a host") from error
    for family, kind, number, _, address in found:
        raw = socket.socket(family, kind, number)
        try:
            raw.settimeout(left(deadline))
            raw.connect(address)
            raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            return raw
        except OSError as error:
            raw.close()
            failed = error
    raise failed


def secured(raw: socket.socket, host: str, context: ssl.SSLContext, deadline: float) -> ssl.SSLSocket:
    try:
        raw.settimeout(left(deadline))
        return context.wrap_socket(raw, server_hostname=host)
    except BaseException:
        raw.close()
        raise


def send_all(raw: socket.socket, data: bytes, deadline: float) -> None:
    """Like ``sendall``, with one deadline also over TLS."""
    view = memoryview(data)
    limit = max(deadline, time.monotonic() + GRACE_S)
    while view:
        raw.settimeout(min(max(0.0, limit - time.monotonic()), MAX_WAIT_S))
        view = view[raw.send(view[:262_144]) :]


class _Answer(io.RawIOBase):
    """What ``http.client`` reads an answer from, until the deadline and a number of bytes."""

    def __init__(self, raw: socket.socket, deadline: float) -> None:
        self._raw, self._deadline, self._room = raw, deadline, MAX_BODY_BYTES

    def makefile(self, _mode: str) -> io.BufferedReader:
        return io.BufferedReader(self)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        self._raw.settimeout(left(self._deadline))
        count = self._raw.recv_into(buffer)
        self._room -= count
        if self._room < 0:
            raise ValueError(f"an answer is larger than {MAX_BODY_BYTES} bytes")
        return count


def request(
    url: str, headers: Mapping[str, str], body: bytes | None, deadline: float, context: ssl.SSLContext | None
) -> tuple[int, bytes]:
    """See ``IO.post``."""
    parts = urlsplit(url)
    secure = parts.scheme in ("https", "wss")
    host = parts.hostname or ""
    raw = dial(host, parts.port or (443 if secure else 80), secure, deadline)
    if secure:
        raw = secured(raw, host, context or ssl.create_default_context(), deadline)
    with raw:
        lines = {"host": parts.netloc, "accept-encoding": "identity", "connection": "close", **headers}
        if body is not None:
            lines |= {"content-type": "application/json", "content-length": str(len(body))}
        path = quote(parts.path + (f"?{parts.query}" if parts.query else ""), safe="%/:;,?&=@+$!*'()~")
        head = [f"{'GET' if body is None else 'POST'} {path} HTTP/1.1", *(f"{key}: {lines[key]}" for key in lines)]
        send_all(raw, "\r\n".join([*head, "", ""]).encode() + (body or b""), deadline)
        response = http.client.HTTPResponse(_Answer(raw, deadline))  # type: ignore[arg-type]
        try:
            response.begin()
            read = bytearray()
            while part := response.read(65_536):
                read += part
            if response.length:
                raise http.client.IncompleteRead(b"", response.length)
        except (http.client.IncompleteRead, http.client.RemoteDisconnected) as error:
            raise OSError("the connection was closed before the end of the answer") from error
        except http.client.HTTPException as error:
            raise ValueError(f"an answer is not HTTP: {error!r}") from error
    return response.status, bytes(read)
