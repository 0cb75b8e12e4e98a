"""WebSockets over blocking I/O."""

from __future__ import annotations

import contextlib
import functools
import os
import selectors
import socket
import ssl
import threading
import time
import weakref
from collections.abc import Coroutine, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

from ._http import dial, request, secured, send_all
from ._sockets import MAX_WAIT_S, SocketClosedError, Wire, left, run

T = TypeVar("T")
MAX_THREADS = 32
"""How many sockets of a blocking vector environment are read at the same time."""
KEEP_ALIVE_S = 5.0
"""How often idle blocking sockets answer the pings of their servers, seconds."""
JOB_POLL_S = 0.05
MAX_READS = 4
"""How often an idle socket is read at a time: its server may send without end."""


class BlockingSocket:
    def __init__(self, wire: Wire, raw: socket.socket) -> None:
        self._wire = wire
        self._raw = raw
        self._lock = threading.Lock()
        self.headers: Mapping[str, str] = {}

    @staticmethod
    def open(url: str, headers: Mapping[str, str], context: ssl.SSLContext | None, deadline: float) -> BlockingSocket:
        wire = Wire(url, headers)
        try:
            raw = dial(wire.host, wire.port, wire.secure, deadline)
            if wire.secure:
                raw = secured(raw, wire.host, context or ssl.create_default_context(), deadline)
        except TimeoutError:
            raise
        except OSError as error:
            raise SocketClosedError(None, str(error)) from error
        opened = BlockingSocket(wire, raw)
        try:
            opened._write(wire.take_output(), deadline)
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

    @property
    def has_message(self) -> bool:
        return bool(self._wire.messages)

    async def send(self, text: str, deadline: float) -> None:
        with self._lock:
            self._write(self._wire.send(text), deadline)

    async def receive(self, deadline: float) -> bytes:
        wire = self._wire
        with self._lock:
            while not wire.messages:
                if wire.closed is not None:
                    raise wire.closed
                self._read(deadline)
            return wire.take()

    def abort(self) -> None:
        with contextlib.suppress(OSError):
            self._raw.shutdown(socket.SHUT_RDWR)

    async def close(self) -> None:
        if self._lock.locked():
            # A thread that receives would hold the lock until its deadline.
            self.abort()
        with self._lock, contextlib.suppress(OSError):
            if self._wire.closed is None:
                self._raw.settimeout(1)
                self._raw.sendall(self._wire.close())
        self._wire.lose("the client closed it")
        self._raw.close()

    @property
    def beat_at(self) -> float:
        return self._wire.beat_at

    def fileno(self) -> int:
        return self._raw.fileno()

    def done(self) -> bool:
        return self.has_message or self._wire.closed is not None

    def poll(self) -> None:
        """Reads what has arrived, unless a call is reading, and so answers pings."""
        if not self._lock.acquire(blocking=False):
            return
        try:
            for _ in range(MAX_READS):
                if self._wire.closed is not None or self._wire.full:
                    break
                self._raw.settimeout(0)
                self._receive(0)
        except (BlockingIOError, ssl.SSLWantReadError):
            pass
        finally:
            self._lock.release()

    def beat(self) -> None:
        """Sends a ping to a server that has been silent, unless a call is reading and does it."""
        if self._lock.acquire(blocking=False):
            try:
                self._write(self._wire.beat(), 0)
            finally:
                self._lock.release()

    def _read(self, deadline: float) -> None:
        """Reads once, until the deadline or the next ping. What has arrived is read even after the deadline."""
        late = time.monotonic() >= deadline
        self._raw.settimeout(min(max(0.0, min(deadline, self._wire.beat_at) - time.monotonic()), MAX_WAIT_S))
        try:
            self._receive(deadline)
        except (TimeoutError, BlockingIOError, ssl.SSLWantReadError):
            self._write(self._wire.beat(), deadline)
        if late and not self.done():
            raise TimeoutError

    def _receive(self, deadline: float) -> None:
        try:
            data = self._raw.recv(65_536)
        except (TimeoutError, BlockingIOError, ssl.SSLWantReadError):
            raise
        except OSError as error:
            self._wire.lose(str(error))
            return
        self._wire.feed(data)
        self._write(self._wire.take_output(), deadline)

    def _write(self, data: bytes, deadline: float) -> None:
        if not data:
            return
        try:
            send_all(self._raw, data, deadline)
        except OSError as error:
            self._wire.lose(str(error))
            raise SocketClosedError(None, str(error)) from error


_sockets: weakref.WeakSet[BlockingSocket] = weakref.WeakSet()
_sockets_lock = threading.Lock()


def _begin_child() -> None:
    """A forked process has no keep-alive thread yet, and leaves what arrives at inherited sockets to its parent."""
    global _sockets, _sockets_lock
    _sockets, _sockets_lock = weakref.WeakSet(), threading.Lock()
    _start_keep_alive.cache_clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_child)


@functools.cache
def _start_keep_alive() -> None:
    """Starts the one thread that lets idle blocking sockets answer pings."""
    # Python 3.12 starts no thread while a program ends; what is opened then only ends sessions.
    with contextlib.suppress(RuntimeError):
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
    def __init__(self, ssl_context: ssl.SSLContext | None = None) -> None:
        self.ssl_context = ssl_context
        self._pool = ThreadPoolExecutor(MAX_THREADS, "openenv-ts")

    async def connect(self, url: str, headers: Mapping[str, str], deadline: float) -> BlockingSocket:
        return BlockingSocket.open(url, headers, self.ssl_context, deadline)

    async def sleep(self, seconds: float) -> None:
        time.sleep(seconds)

    def start(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        return self._pool.submit(run, work)

    async def first(self, sources: Sequence[Any], deadline: float) -> list[int]:
        sockets = [one for one in sources if isinstance(one, BlockingSocket)]
        with selectors.DefaultSelector() as selector:
            for one in sockets:
                if not one.done():
                    selector.register(one, selectors.EVENT_READ)
            while True:
                ready = [index for index, one in enumerate(sources) if one.done()]
                if ready:
                    return ready
                limit = min([left(deadline), *([] if len(sockets) == len(sources) else [JOB_POLL_S])])
                beat_at = min((one.beat_at for one in sockets), default=deadline)
                for key, _ in selector.select(max(0.0, min(limit, beat_at - time.monotonic()))):
                    # What has arrived can be a ping.
                    key.fileobj.poll()  # type: ignore[union-attr]
                for one in sockets if time.monotonic() >= beat_at else ():
                    with contextlib.suppress(SocketClosedError):
                        one.beat()

    async def gather(self, work: Sequence[Coroutine[Any, Any, T]]) -> list[T]:
        if len(work) == 1:
            return [await work[0]]
        futures = [self._pool.submit(run, one) for one in work]
        try:
            return [future.result() for future in futures]
        except BaseException:
            for future, one in zip(futures, work, strict=True):
                # Otherwise Python warns that a coroutine was never awaited.
                if future.cancel():
                    one.close()
            raise

    async def post(
        self, url: str, headers: Mapping[str, str], body: bytes | None, deadline: float
    ) -> tuple[int, bytes]:
        return request(url, headers, body, deadline, self.ssl_context)
