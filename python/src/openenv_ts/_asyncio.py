"""WebSockets over asyncio."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Coroutine, Mapping, Sequence
from typing import Any, TypeVar, cast

from ._sockets import SocketClosedError, Wire, left, post

T = TypeVar("T")


class AsyncSocket(asyncio.Protocol):
    def __init__(self, wire: Wire) -> None:
        self._wire = wire
        self._transport: asyncio.Transport | None = None
        self._waiter: asyncio.Future[None] | None = None
        self._writable = asyncio.Event()
        self._writable.set()
        self.headers: Mapping[str, str] = {}

    @staticmethod
    async def open(url: str, headers: Mapping[str, str], deadline: float) -> AsyncSocket:
        wire = Wire(url, headers)
        opened = AsyncSocket(wire)
        context = ssl.create_default_context() if wire.secure else None
        loop = asyncio.get_running_loop()
        limit = left(deadline)
        try:
            connecting = loop.create_connection(lambda: opened, wire.host, wire.port, ssl=context)
            await asyncio.wait_for(connecting, limit)
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
        # The transport of uvloop is not a subclass of this one.
        self._transport = cast("asyncio.Transport", transport)

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
        timer = loop.call_later(left(deadline), _expire, waiter)
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
            done, _ = await asyncio.wait(waiting, timeout=left(deadline), return_when=asyncio.FIRST_COMPLETED)
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
