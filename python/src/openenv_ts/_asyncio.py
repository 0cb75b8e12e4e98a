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

    async def send(self, text: str, deadline: float) -> None:
        self._write(self._wire.send(text))
        if not self._writable.is_set():
            try:
                await asyncio.wait_for(self._writable.wait(), left(deadline))
            except asyncio.TimeoutError:
                raise TimeoutError from None

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

    async def post(self, url: str, headers: Mapping[str, str], body: object, timeout: float) -> tuple[int, Any]:
        return await asyncio.to_thread(post, url, headers, body, timeout)
