"""WebSockets over asyncio."""

from __future__ import annotations

import asyncio
import ssl
import time
from collections.abc import Coroutine, Mapping, Sequence
from typing import Any, TypeVar, cast

from ._http import dial, proxy_of, request
from ._sockets import SocketClosedError, Wire, left

T = TypeVar("T")


class AsyncSocket(asyncio.Protocol):
    def __init__(self, wire: Wire) -> None:
        self._wire = wire
        self._transport: asyncio.Transport | None = None
        self._waiter: asyncio.Future[None] | None = None
        self._writable = asyncio.Event()
        self._writable.set()
        self._paused = False
        self.headers: Mapping[str, str] = {}

    @staticmethod
    async def open(
        url: str, headers: Mapping[str, str], context: ssl.SSLContext | None, deadline: float
    ) -> AsyncSocket:
        wire = Wire(url, headers)
        opened = AsyncSocket(wire)
        where: dict[str, Any] = {"host": wire.host, "port": wire.port}
        if wire.secure:
            where["ssl"] = context or ssl.create_default_context()
        loop = asyncio.get_running_loop()
        try:
            if proxy_of(wire.host, wire.secure) is not None:
                raw = await asyncio.to_thread(dial, wire.host, wire.port, True, deadline)
                raw.setblocking(False)
                where |= {"host": None, "port": None, "sock": raw, "server_hostname": wire.host}
            limit = left(deadline)
            await asyncio.wait_for(loop.create_connection(lambda: opened, **where), limit)
        except (asyncio.TimeoutError, TimeoutError):
            raise TimeoutError from None
        except OSError as error:
            raise SocketClosedError(None, str(error)) from error
        try:
            opened._write(wire.take_output())
            while not wire.check_handshake():
                await opened._wait(deadline)
        except BaseException:
            opened.abort()
            raise
        opened.headers = wire.headers
        return opened

    @property
    def closed(self) -> SocketClosedError | None:
        return self._wire.closed

    @property
    def has_message(self) -> bool:
        return bool(self._wire.messages)

    def push(self, text: str) -> None:
        """Sends without waiting. Raises SocketClosedError."""
        self._write(self._wire.send(text))

    async def send(self, text: str, deadline: float) -> None:
        self.push(text)
        if not self._writable.is_set():
            try:
                limit = left(deadline)
                await asyncio.wait_for(self._writable.wait(), limit)
            except asyncio.TimeoutError:
                raise TimeoutError from None

    async def receive(self, deadline: float) -> bytes:
        wire = self._wire
        while not wire.messages:
            if wire.closed is not None:
                raise wire.closed
            await self._wait(deadline)
        message = wire.take()
        self._pace()
        return message

    async def ready(self) -> None:
        """Waits until a message has arrived, or the socket has closed."""
        while not self._wire.messages and self._wire.closed is None:
            await self._wait(float("inf"))

    def abort(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    async def close(self) -> None:
        if self._wire.closed is None:
            self._write(self._wire.close())
        self._wire.lose("the client closed it")
        if self._transport is not None:
            self._transport.close()
        self._wake()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # The transport of uvloop is not a subclass of this one.
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        self._wire.feed(data)
        self._write(self._wire.take_output())
        self._pace()
        self._wake()

    def connection_lost(self, exc: Exception | None) -> None:
        self._wire.lose(str(exc) if exc else "the connection was closed")
        self._writable.set()
        self._wake()

    def pause_writing(self) -> None:
        self._writable.clear()
        self._pace()

    def resume_writing(self) -> None:
        self._writable.set()
        self._pace()

    def _pace(self) -> None:
        """Reads only what is used: a server may send without end, or send pings and not read their answers."""
        paused = self._wire.full or not self._writable.is_set()
        if paused is self._paused or self._transport is None or self._transport.is_closing():
            return
        self._paused = paused
        (self._transport.pause_reading if paused else self._transport.resume_reading)()

    def _write(self, data: bytes) -> None:
        if data and self._transport is not None:
            self._transport.write(data)

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    async def _wait(self, deadline: float) -> None:
        """Waits until something arrives, the deadline, or the next ping."""
        limit = min(left(deadline), max(0.0, self._wire.beat_at - time.monotonic()))
        loop = asyncio.get_running_loop()
        self._waiter = loop.create_future()
        timer = loop.call_later(limit, self._wake)
        try:
            await self._waiter
        finally:
            timer.cancel()
        self._write(self._wire.beat())


class AsyncIO:
    ssl_context: ssl.SSLContext | None = None

    async def connect(self, url: str, headers: Mapping[str, str], deadline: float) -> AsyncSocket:
        return await AsyncSocket.open(url, headers, self.ssl_context, deadline)

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    def start(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        return asyncio.create_task(work)

    async def first(self, sources: Sequence[Any], deadline: float) -> list[int]:
        limit = left(deadline)
        waiting = [one if isinstance(one, asyncio.Task) else asyncio.create_task(one.ready()) for one in sources]
        try:
            done, _ = await asyncio.wait(waiting, timeout=limit, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task, one in zip(waiting, sources, strict=True):
                if task is not one:
                    task.cancel()
        if not done:
            raise TimeoutError
        return [index for index, task in enumerate(waiting) if task in done]

    async def gather(self, work: Sequence[Coroutine[Any, Any, T]]) -> list[T]:
        return list(await asyncio.gather(*work))

    async def post(
        self, url: str, headers: Mapping[str, str], body: bytes | None, deadline: float
    ) -> tuple[int, bytes]:
        return await asyncio.to_thread(request, url, headers, body, deadline, self.ssl_context)
