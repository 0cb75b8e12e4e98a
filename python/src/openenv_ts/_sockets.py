"""WebSockets over blocking I/O and over asyncio.

Both kinds have the same coroutine methods, so that everything above exists once. Those of the blocking kind never
suspend: ``run`` drives a coroutine that uses only them.
"""

from __future__ import annotations

import contextlib
import logging
import ssl
import time
from collections import deque
from collections.abc import Coroutine, Mapping, Sequence
from typing import Any, Protocol, TypeVar

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
MAX_UNREAD = 8
MAX_UNREAD_BYTES = 1024 * 1024
"""With so many unread messages, or bytes in them, nothing more is read: a server may send what was not requested."""
PING_S = 15.0
"""A call that waits sends a ping after so many seconds of silence; after as many without an answer the connection is
lost."""
_SILENT = logging.Logger("openenv_ts.websockets", logging.CRITICAL + 1)
"""The logger of ``websockets`` prints headers and frames, which have tokens, with the level DEBUG."""


class SocketClosedError(Exception):
    """The connection is closed, or could not be opened."""

    def __init__(self, code: int | None, reason: str) -> None:
        super().__init__(code, reason)
        self.code = code

    def __str__(self) -> str:
        return str(self.args[1])


class HandshakeRefusedError(Exception):
    """The server answered the handshake with an HTTP status."""

    def __init__(self, status: int, body: str) -> None:
        super().__init__(status, body[:300])
        self.status = status

    def __str__(self) -> str:
        return f"status {self.status}: {self.args[1]}"


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

    async def receive(self, deadline: float) -> bytes:
        """Returns the next message. Raises TimeoutError at the deadline, SocketClosedError when there is none."""
        ...

    def abort(self) -> None:
        """Closes at once, also while another thread or task receives."""
        ...

    async def close(self) -> None: ...


class IO(Protocol):
    """What differs between blocking and asyncio clients. A deadline is a value of ``time.monotonic()``."""

    ssl_context: ssl.SSLContext | None

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

    async def post(
        self, url: str, headers: Mapping[str, str], body: bytes | None, deadline: float
    ) -> tuple[int, bytes]:
        """Sends JSON, or without a body a GET request. Returns the status and the body. Raises OSError without an
        answer, ValueError for one that is not HTTP."""
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
        self.messages: deque[bytes] = deque()
        self.response: Response | None = None
        self.beat_at = float("inf")
        """When ``beat`` has something to do."""
        self._unread = 0
        self._pinged = False
        self._part = bytearray()
        self._lost: str | None = None
        self._protocol = ClientProtocol(uri, max_size=MAX_MESSAGE_BYTES, logger=_SILENT)
        request = self._protocol.connect()
        for name, value in headers.items():
            request.headers[name] = value
        self._protocol.send_request(request)

    def take_output(self) -> bytes:
        return b"".join(self._protocol.data_to_send())

    def feed(self, data: bytes) -> None:
        if self._lost is not None:
            return
        if data:
            self._expect()
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
        if frame.fin and not self._part:
            self.messages.append(bytes(frame.data))
            self._unread += len(frame.data)
            return
        self._part += frame.data
        if frame.fin:
            self.messages.append(bytes(self._part))
            self._unread += len(self._part)
            self._part = bytearray()

    def take(self) -> bytes:
        message = self.messages.popleft()
        self._unread -= len(message)
        return message

    @property
    def full(self) -> bool:
        return len(self.messages) >= MAX_UNREAD or self._unread >= MAX_UNREAD_BYTES

    def send(self, text: str) -> bytes:
        if self._protocol.state is not State.OPEN:
            raise self.closed or SocketClosedError(None, "the connection is closed")
        self._expect()
        self._protocol.send_text(text.encode())
        return self.take_output()

    def _expect(self) -> None:
        self._pinged, self.beat_at = False, time.monotonic() + PING_S

    def beat(self) -> bytes:
        """Returns a ping for a server that has been silent. The connection is lost when there is no answer to one."""
        now = time.monotonic()
        if now < self.beat_at or self.closed is not None:
            return b""
        if self._pinged:
            self.lose(f"the server has not answered a ping within {PING_S:.0f} s")
            return b""
        self._pinged, self.beat_at = True, now + PING_S
        if self._protocol.state is State.OPEN:
            self._protocol.send_ping(b"")
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
