"""WebSockets over blocking I/O."""

from __future__ import annotations

import contextlib
import functools
import selectors
import socket
import ssl
import threading
import time
import weakref
from collections.abc import Coroutine, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from ._sockets import SocketClosedError, Wire, left, post, run

T = TypeVar("T")
MAX_THREADS = 32
"""How many sockets of a blocking vector environment are read at the same time."""
KEEP_ALIVE_S = 5.0
"""How often idle blocking sockets answer the pings of their servers, seconds."""


class BlockingSocket:
    def __init__(self, wire: Wire, raw: socket.socket) -> None:
        self._wire = wire
        self._raw = raw
        self._lock = threading.Lock()
        self.headers: Mapping[str, str] = {}

    @staticmethod
    def open(url: str, headers: Mapping[str, str], deadline: float) -> BlockingSocket:
        wire = Wire(url, headers)
        try:
            raw = socket.create_connection((wire.host, wire.port), left(deadline))
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
        with _sockets_lock:
            _sockets.add(opened)
            _start_keep_alive()
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


_sockets: weakref.WeakSet[BlockingSocket] = weakref.WeakSet()
_sockets_lock = threading.Lock()


@functools.cache
def _start_keep_alive() -> None:
    """Starts the one thread that lets idle blocking sockets answer pings."""
    threading.Thread(target=_keep_alive, name="openenv-ts keep-alive", daemon=True).start()


def _keep_alive() -> None:
    while True:
        time.sleep(KEEP_ALIVE_S)
        with _sockets_lock:
            sockets = list(_sockets)
        for one in sockets:
            with contextlib.suppress(Exception):
                one.poll()
        del sockets


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
            found = [key.data for key, _ in selector.select(left(deadline))]
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
