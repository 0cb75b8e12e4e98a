"""WebSockets over blocking I/O and over asyncio.

Both kinds have the same coroutine methods, so that everything above exists once. Those of the blocking kind never
suspend: ``run`` drives a coroutine that uses only them.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import time
from collections import deque
from collections.abc import Coroutine, Mapping, Sequence
from typing import Any, Protocol, TypeVar
from urllib.parse import urlsplit

from websockets.client import ClientProtocol
from websockets.exceptions import InvalidStatus
from websockets.frames import Frame, Opcode
from websockets.http11 import Response
from websockets.protocol import State
from websockets.uri import parse_uri

T = TypeVar("T")
MAX_MESSAGE_BYTES = 100 * 1024 * 1024
MAX_WAIT_S = 1e6
"""The operating system has a limit; a timeout can be infinite."""


class SocketClosedError(Exception):
    """The connection is closed, or could not be opened."""

    def __init__(self, code: int | None, reason: str) -> None:
        super().__init__(reason)
        self.code = code


class HandshakeRefusedError(Exception):
    """The server answered the handshake with an HTTP status."""

    def __init__(self, status: int, body: str) -> None:
        super().__init__(f"status {status}: {body[:300]}")
        self.status = status


class Socket(Protocol):
    """An open WebSocket that carries text."""

    headers: Mapping[str, str]
    """The headers of the server's handshake, with lower-case names."""

    @property
    def closed(self) -> SocketClosedError | None: ...
    @property
    def has_message(self) -> bool: ...

    async def send(self, text: str, deadline: float) -> None:
        """Raises SocketClosedError, or TimeoutError at the deadline: the message may still be sent then."""
        ...

    async def receive(self, deadline: float) -> str:
        """Returns the next message. Raises TimeoutError at the deadline, SocketClosedError when there is none."""
        ...

    def abort(self) -> None:
        """Closes at once, also while another thread or task receives."""
        ...

    async def close(self) -> None: ...


class IO(Protocol):
    """What differs between blocking and asyncio clients. A deadline is a value of ``time.monotonic()``."""

    async def connect(self, url: str, headers: Mapping[str, str], deadline: float) -> Socket: ...
    async def sleep(self, seconds: float) -> None: ...
    def start(self, work: Coroutine[Any, Any, T]) -> Any:
        """Starts a coroutine in the background. Returns a job, with ``result()``."""
        ...

    async def first(self, sources: Sequence[Any], deadline: float) -> list[int]:
        """Waits for messages. Returns the indices of sockets with one, of closed sockets, and of jobs that are done."""
        ...

    async def gather(self, work: Sequence[Coroutine[Any, Any, T]]) -> list[T]:
        """Runs coroutines at the same time. They raise nothing."""
        ...

    async def post(self, url: str, headers: Mapping[str, str], body: object, timeout: float) -> tuple[int, Any]:
        """Returns the status and the JSON of the answer. Raises OSError without an answer."""
        ...


def run(coroutine: Coroutine[Any, Any, T]) -> T:
    """Runs a coroutine that never suspends."""
    try:
        coroutine.send(None)
    except StopIteration as stop:
        result: T = stop.value
        return result
    coroutine.close()
    raise RuntimeError("a blocking call was suspended")


class Wire:
    """The WebSocket protocol without I/O: bytes in, messages and bytes out."""

    def __init__(self, url: str, headers: Mapping[str, str]) -> None:
        uri = parse_uri(url)
        self.host, self.port, self.secure = uri.host, uri.port, uri.secure
        self.messages: deque[str] = deque()
        self.response: Response | None = None
        self._parts: list[bytes] = []
        self._lost: str | None = None
        self._protocol = ClientProtocol(uri, max_size=MAX_MESSAGE_BYTES)
        request = self._protocol.connect()
        for name, value in headers.items():
            request.headers[name] = value
        self._protocol.send_request(request)

    def take_output(self) -> bytes:
        return b"".join(self._protocol.data_to_send())

    def feed(self, data: bytes) -> None:
        if data:
            self._protocol.receive_data(data)
        else:
            self._protocol.receive_eof()
        for event in self._protocol.events_received():
            if isinstance(event, Frame):
                self._add(event)
            elif isinstance(event, Response):
                self.response = event

    def _add(self, frame: Frame) -> None:
        if frame.opcode not in (Opcode.TEXT, Opcode.BINARY, Opcode.CONT):
            return
        if frame.fin and not self._parts:
            self.messages.append(bytes(frame.data).decode())
            return
        self._parts.append(bytes(frame.data))
        if frame.fin:
            self.messages.append(b"".join(self._parts).decode())
            self._parts.clear()

    def send(self, text: str) -> bytes:
        if self._protocol.state is not State.OPEN:
            raise self.closed or SocketClosedError(None, "the connection is closed")
        self._protocol.send_text(text.encode())
        return self.take_output()

    def close(self) -> bytes:
        if self._protocol.state is State.OPEN:
            self._protocol.send_close(1000)
        return self.take_output()

    def lose(self, reason: str) -> None:
        """The connection is gone without a close frame."""
        with contextlib.suppress(Exception):
            self._protocol.receive_eof()
        self._lost = reason

    @property
    def closed(self) -> SocketClosedError | None:
        if self._protocol.state in (State.CONNECTING, State.OPEN) and self._lost is None:
            return None
        try:
            code, reason = self._protocol.close_code, self._protocol.close_reason
        except AttributeError:
            code, reason = None, None
        code = None if code == 1006 else code
        return SocketClosedError(code, reason or self._lost or f"the connection was closed (code {code})")

    def check_handshake(self) -> bool:
        """Whether the server has accepted the connection. Raises when it refused it."""
        error = self._protocol.handshake_exc
        if isinstance(error, InvalidStatus):
            raise HandshakeRefusedError(
                error.response.status_code, (error.response.body or b"").decode(errors="replace")
            )
        if error is not None:
            raise SocketClosedError(None, f"the handshake failed: {error}")
        # A server that refuses a session may have closed the connection already, with its reason.
        if self.response is None and self.closed is not None:
            raise self.closed
        return self.response is not None

    @property
    def headers(self) -> Mapping[str, str]:
        raw = self.response.headers.raw_items() if self.response else ()
        return {name.lower(): value for name, value in raw}


def left(deadline: float) -> float:
    left = deadline - time.monotonic()
    if left <= 0:
        raise TimeoutError
    return min(left, MAX_WAIT_S)


def post(url: str, headers: Mapping[str, str], body: object, timeout: float) -> tuple[int, Any]:
    """Sends JSON; ``None`` as body sends a GET request."""
    parts = urlsplit(url)
    kind = http.client.HTTPSConnection if parts.scheme in ("https", "wss") else http.client.HTTPConnection
    connection = kind(parts.hostname or "", parts.port, timeout=min(timeout, MAX_WAIT_S))
    path = parts.path + (f"?{parts.query}" if parts.query else "")
    try:
        if body is None:
            connection.request("GET", path, headers=dict(headers))
        else:
            connection.request("POST", path, json.dumps(body), {**headers, "content-type": "application/json"})
        response = connection.getresponse()
        text = response.read().decode(errors="replace")
    except http.client.HTTPException as error:
        raise OSError(f"invalid HTTP answer: {error!r}") from error
    finally:
        connection.close()
    try:
        return response.status, json.loads(text)
    except ValueError:
        return response.status, {"detail": text[:300]}
