"""WebSockets over blocking I/O and over asyncio.

Both kinds have the same coroutine methods, so that everything above exists once. Those of the blocking kind never
suspend: ``run`` drives a coroutine that uses only them.
"""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import json
import selectors
import socket
import ssl
import threading
import time
import weakref
from collections import deque
from collections.abc import Coroutine, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
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
MAX_THREADS = 32
"""How many sockets of a blocking vector environment are read at the same time."""
KEEP_ALIVE_S = 5.0
"""How often idle blocking sockets answer the pings of their servers, seconds."""


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
    async def send(self, text: str) -> None: ...
    async def receive(self, deadline: float) -> str:
        """Returns the next message. Raises TimeoutError at the deadline, SocketClosedError when there is none."""
        ...

    async def close(self) -> None: ...


class IO(Protocol):
    """What differs between blocking and asyncio clients. A deadline is a value of ``time.monotonic()``."""

    async def connect(self, url: str, headers: Mapping[str, str], deadline: float) -> Socket: ...
    async def sleep(self, seconds: float) -> None: ...
    async def first(self, sockets: Sequence[Any], deadline: float) -> list[int]:
        """Waits until messages have arrived. Returns the indices of these sockets, or of closed ones."""
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


class _Wire:
    """The WebSocket protocol without I/O: bytes in, messages and bytes out."""

    def __init__(self, url: str, headers: Mapping[str, str]) -> None:
        uri = parse_uri(url)
        self.host, self.port, self.secure = uri.host, uri.port, uri.secure
        self.messages: deque[str] = deque()
        self.response: Response | None = None
        self._parts: list[bytes] = []
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

    _lost: str | None = None

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
        """Whether the connection is open. Raises when the server refused it."""
        error = self._protocol.handshake_exc
        if isinstance(error, InvalidStatus):
            raise HandshakeRefusedError(
                error.response.status_code, (error.response.body or b"").decode(errors="replace")
            )
        if error is not None:
            raise SocketClosedError(None, f"the handshake failed: {error}")
        if self.closed is not None:
            raise self.closed
        return self._protocol.state is State.OPEN

    @property
    def headers(self) -> Mapping[str, str]:
        raw = self.response.headers.raw_items() if self.response else ()
        return {name.lower(): value for name, value in raw}


def _left(deadline: float) -> float:
    left = deadline - time.monotonic()
    if left <= 0:
        raise TimeoutError
    return left


class BlockingSocket:
    def __init__(self, wire: _Wire, raw: socket.socket) -> None:
        self._wire = wire
        self._raw = raw
        self._lock = threading.Lock()
        self.headers: Mapping[str, str] = {}

    @staticmethod
    def open(url: str, headers: Mapping[str, str], deadline: float) -> BlockingSocket:
        wire = _Wire(url, headers)
        try:
            raw = socket.create_connection((wire.host, wire.port), _left(deadline))
            raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if wire.secure:
                raw = ssl.create_default_context().wrap_socket(raw, server_hostname=wire.host)
        except OSError as error:
            if isinstance(error, TimeoutError):
                raise
            raise SocketClosedError(None, str(error)) from error
        opened = BlockingSocket(wire, raw)
        try:
            opened._write(wire.take_output())
            while not wire.check_handshake():
                opened._read(deadline)
        except BaseException:
            raw.close()
            raise
        opened.headers = wire.headers
        _keep_alive.add(opened)
        return opened

    @property
    def closed(self) -> SocketClosedError | None:
        return self._wire.closed

    async def send(self, text: str) -> None:
        with self._lock:
            self._write(self._wire.send(text))

    async def receive(self, deadline: float) -> str:
        wire = self._wire
        with self._lock:
            while not wire.messages:
                if wire.closed is not None:
                    raise wire.closed
                self._read(deadline)
            return wire.messages.popleft()

    async def close(self) -> None:
        with self._lock, contextlib.suppress(OSError):
            if self._wire.closed is None:
                self._raw.settimeout(1)
                self._raw.sendall(self._wire.close())
        self._wire.lose("the client closed it")
        self._raw.close()

    def fileno(self) -> int:
        return self._raw.fileno()

    @property
    def readable(self) -> bool:
        return bool(self._wire.messages) or self._wire.closed is not None

    def poll(self) -> None:
        """Reads what has arrived, unless a call is reading, and so answers pings."""
        if not self._lock.acquire(blocking=False):
            return
        try:
            while self._wire.closed is None:
                self._raw.settimeout(0)
                self._receive()
        except (BlockingIOError, ssl.SSLWantReadError):
            pass
        finally:
            self._lock.release()

    def _read(self, deadline: float) -> None:
        # What has arrived is read even after the deadline.
        self._raw.settimeout(max(0.0, deadline - time.monotonic()))
        try:
            self._receive()
        except (BlockingIOError, ssl.SSLWantReadError):
            raise TimeoutError from None

    def _receive(self) -> None:
        try:
            data = self._raw.recv(65_536)
        except (TimeoutError, BlockingIOError, ssl.SSLWantReadError):
            raise
        except OSError as error:
            self._wire.lose(str(error))
            return
        self._wire.feed(data)
        self._write(self._wire.take_output())

    def _write(self, data: bytes) -> None:
        if not data:
            return
        try:
            # A peer that reads nothing for so long is not going to answer.
            self._raw.settimeout(60)
            self._raw.sendall(data)
        except OSError as error:
            self._wire.lose(str(error))
            raise SocketClosedError(None, str(error)) from error


class _KeepAlive:
    """One thread that lets idle blocking sockets answer pings."""

    def __init__(self) -> None:
        self._sockets: weakref.WeakSet[BlockingSocket] = weakref.WeakSet()
        self._lock = threading.Lock()
        self._started = False

    def add(self, opened: BlockingSocket) -> None:
        with self._lock:
            self._sockets.add(opened)
            if not self._started:
                self._started = True
                threading.Thread(target=self._work, name="openenv-ts keep-alive", daemon=True).start()

    def _work(self) -> None:
        while True:
            time.sleep(KEEP_ALIVE_S)
            with self._lock:
                sockets = list(self._sockets)
            for one in sockets:
                with contextlib.suppress(Exception):
                    one.poll()
            del sockets


_keep_alive = _KeepAlive()


class BlockingIO:
    def __init__(self) -> None:
        self._pool: ThreadPoolExecutor | None = None

    async def connect(self, url: str, headers: Mapping[str, str], deadline: float) -> BlockingSocket:
        return BlockingSocket.open(url, headers, deadline)

    async def sleep(self, seconds: float) -> None:
        time.sleep(seconds)

    async def first(self, sockets: Sequence[Any], deadline: float) -> list[int]:
        ready = [index for index, one in enumerate(sockets) if one.readable]
        if ready:
            return ready
        with selectors.DefaultSelector() as selector:
            for index, one in enumerate(sockets):
                selector.register(one, selectors.EVENT_READ, index)
            found = [key.data for key, _ in selector.select(_left(deadline))]
        if not found:
            raise TimeoutError
        return found

    async def gather(self, work: Sequence[Coroutine[Any, Any, T]]) -> list[T]:
        if len(work) == 1:
            return [await work[0]]
        self._pool = self._pool or ThreadPoolExecutor(MAX_THREADS, "openenv-ts")
        return list(self._pool.map(run, work))

    async def post(self, url: str, headers: Mapping[str, str], body: object, timeout: float) -> tuple[int, Any]:
        return post(url, headers, body, timeout)


class AsyncSocket(asyncio.Protocol):
    def __init__(self, wire: _Wire) -> None:
        self._wire = wire
        self._transport: asyncio.Transport | None = None
        self._waiter: asyncio.Future[None] | None = None
        self._writable = asyncio.Event()
        self._writable.set()
        self.headers: Mapping[str, str] = {}

    @staticmethod
    async def open(url: str, headers: Mapping[str, str], deadline: float) -> AsyncSocket:
        wire = _Wire(url, headers)
        opened = AsyncSocket(wire)
        context = ssl.create_default_context() if wire.secure else None
        loop = asyncio.get_running_loop()
        try:
            connecting = loop.create_connection(lambda: opened, wire.host, wire.port, ssl=context)
            await asyncio.wait_for(connecting, _left(deadline))
        except asyncio.TimeoutError:
            raise TimeoutError from None
        except OSError as error:
            raise SocketClosedError(None, str(error)) from error
        try:
            opened._write(wire.take_output())
            while not wire.check_handshake():
                await opened._wait(deadline)
        except BaseException:
            opened._abort()
            raise
        opened.headers = wire.headers
        return opened

    @property
    def closed(self) -> SocketClosedError | None:
        return self._wire.closed

    async def send(self, text: str) -> None:
        self._write(self._wire.send(text))
        if not self._writable.is_set():
            await self._writable.wait()

    async def receive(self, deadline: float) -> str:
        wire = self._wire
        while not wire.messages:
            if wire.closed is not None:
                raise wire.closed
            await self._wait(deadline)
        return wire.messages.popleft()

    async def ready(self) -> None:
        """Waits until a message has arrived, or the socket has closed."""
        while not self._wire.messages and self._wire.closed is None:
            await self._wait(float("inf"))

    async def close(self) -> None:
        if self._wire.closed is None:
            self._write(self._wire.close())
        self._wire.lose("the client closed it")
        if self._transport is not None:
            self._transport.close()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._wire.feed(data)
        self._write(self._wire.take_output())
        self._wake()

    def connection_lost(self, exc: Exception | None) -> None:
        self._wire.lose(str(exc) if exc else "the connection was closed")
        self._writable.set()
        self._wake()

    def pause_writing(self) -> None:
        self._writable.clear()

    def resume_writing(self) -> None:
        self._writable.set()

    def _write(self, data: bytes) -> None:
        if data and self._transport is not None:
            self._transport.write(data)

    def _abort(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    async def _wait(self, deadline: float) -> None:
        self._waiter = asyncio.get_running_loop().create_future()
        if deadline == float("inf"):
            await self._waiter
            return
        loop = asyncio.get_running_loop()
        waiter = self._waiter
        timer = loop.call_later(_left(deadline), _expire, waiter)
        try:
            await waiter
        finally:
            timer.cancel()


def _expire(waiter: asyncio.Future[None]) -> None:
    if not waiter.done():
        waiter.set_exception(TimeoutError())


class AsyncIO:
    async def connect(self, url: str, headers: Mapping[str, str], deadline: float) -> AsyncSocket:
        return await AsyncSocket.open(url, headers, deadline)

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    async def first(self, sockets: Sequence[Any], deadline: float) -> list[int]:
        waiting = [asyncio.ensure_future(one.ready()) for one in sockets]
        try:
            done, _ = await asyncio.wait(waiting, timeout=_left(deadline), return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in waiting:
                task.cancel()
        if not done:
            raise TimeoutError
        return [index for index, task in enumerate(waiting) if task in done]

    async def gather(self, work: Sequence[Coroutine[Any, Any, T]]) -> list[T]:
        return list(await asyncio.gather(*work))

    async def post(self, url: str, headers: Mapping[str, str], body: object, timeout: float) -> tuple[int, Any]:
        return await asyncio.to_thread(post, url, headers, body, timeout)


def post(url: str, headers: Mapping[str, str], body: object, timeout: float) -> tuple[int, Any]:
    """Sends JSON; ``None`` as body sends a GET request."""
    parts = urlsplit(url)
    kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    connection = kind(parts.hostname or "", parts.port, timeout=timeout)
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
