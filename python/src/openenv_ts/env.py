"""One session of an environment."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from ._asyncio import AsyncIO
from ._connection import Connection
from ._frames import JsonObject, is_refusal, must_move, page_of
from ._process import Turn
from ._server import Target
from ._sockets import IO
from ._tracing import span
from .errors import (
    ConnectionLostError,
    OpenEnvError,
    RemoteError,
    client_closed,
    no_episode,
    protocol_error,
    reading,
    to_error,
)
from .options import TIMEOUT_S, ServerOptions, make_targets
from .results import StepResult, Tool, ToolResult, call_action, read_result, read_tool_result, read_tools

if TYPE_CHECKING:
    from typing_extensions import Unpack

T = TypeVar("T")
E = TypeVar("E", bound="AsyncEnv")


class AsyncEnv:
    """One session, for asyncio. The session is opened by the first call; calls are made one after the other.

    A call raises RemoteError when the server answered with an error (the session continues), and ConnectionLostError
    when there was no answer: the episode is lost, and the next ``reset`` opens a new session.
    """

    def __init__(self, target: Target, timeout: float = TIMEOUT_S, connection: Connection | None = None) -> None:
        self.url = target.url
        self.timeout = timeout
        self._target = target
        self._connection = connection
        self._lost: OpenEnvError | None = None
        """Why there is no episode, until a reset succeeds."""
        self._lock = Turn()

    @classmethod
    def connect(
        cls: type[E], url: str, *, timeout: float = TIMEOUT_S, _io: IO | None = None, **options: Unpack[ServerOptions]
    ) -> E:
        """Returns a client for one session of the environment at ``url``; the first call opens it.

        ``timeout`` limits each call, with all attempts to connect again, seconds. The options are those of
        ``ServerOptions``.
        """
        [target] = make_targets(_io or AsyncIO(), url, **options)
        return cls(target, timeout)

    def __repr__(self) -> str:
        is_open = self._connection is not None and self._connection.up
        return f"<{type(self).__name__} {self.url} {'open' if is_open else 'not open'}>"

    async def reset(self, /, *, timeout: float | None = None, **options: Any) -> StepResult[JsonObject]:
        """Starts an episode; after a loss, in a new session. ``options`` are ``seed``, ``episode_id``, ``split`` and
        ``index`` of a task, and those of the environment."""
        return await self._observe({"type": "reset", "data": options}, timeout)

    async def step(self, action: Mapping[str, Any], *, timeout: float | None = None) -> StepResult[JsonObject]:
        """Takes one action, which ``GET /schema`` of the server describes."""
        return await self._observe({"type": "step", "data": dict(action)}, timeout)

    async def state(self, *, timeout: float | None = None) -> JsonObject:
        """Returns the state, with ``episode_id`` and ``step_count``."""
        return await self._ask({"type": "state"}, "state", timeout, lambda answer, _: answer["data"])

    async def list_tools(self, *, timeout: float | None = None) -> list[Tool]:
        """Lists the tools of the environment. This is not a step."""
        request = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
        data = await self._ask({"type": "mcp", "data": request}, "mcp", timeout, lambda answer, _: answer["data"])
        if isinstance(data.get("error"), dict):
            raise RemoteError("REQUEST_FAILED", str(data["error"].get("message")))
        return read_tools(data)

    async def call_tool(
        self, name: str, arguments: Mapping[str, Any] | None = None, *, timeout: float | None = None
    ) -> ToolResult:
        """Calls a tool, which is a step."""
        message = {"type": "step", "data": call_action(name, dict(arguments or {}))}
        return read_tool_result(name, await self._observe(message, timeout))

    async def fork(self: E, count: int, *, event: int | None = None, rng: str = "same") -> list[E]:
        """Opens copies of the session, all or none: each continues from here, or from after an earlier ``event``."""
        request = {"count": count, "rng": rng, **({} if event is None else {"event": event})}
        deadline = time.monotonic() + self.timeout
        async with self._lock:
            connection = await self._open(deadline)
            keys = await connection.fork(request, deadline)
        copies = [Connection(self._target, key=key) for key in keys]
        try:
            for copy in copies:
                await copy.open(deadline)
        except BaseException:
            await self._target.io.gather([copy.close() for copy in copies])
            raise
        return [type(self)(self._target, self.timeout, copy) for copy in copies]

    async def get(self, path: str) -> Any:
        """Reads a path of the server, such as ``/schema`` or ``/metadata``."""
        return await self._target.fetch(path, None, time.monotonic() + self.timeout)

    async def post(self, path: str, body: Mapping[str, Any]) -> Any:
        """Sends JSON to a path of the server."""
        return await self._target.fetch(path, body, time.monotonic() + self.timeout)

    async def close(self) -> None:
        """Ends the session; a running call fails. Can be called more than once."""
        if self._lock.inherited:
            return
        if self._connection is not None:
            await self._connection.close()
        # A call that was opening the session has opened it now.
        async with self._lock:
            self._lost = client_closed()
            if self._connection is not None:
                await self._connection.close()

    async def _begin_close(self) -> None:
        if self._connection is not None:
            await self._connection.begin_close()

    async def _open(self, deadline: float, is_reset: bool = False) -> Connection:
        if self._connection is not None and not self._connection.up:
            self._lost = self._lost or self._connection.ended or no_episode()
        if self._lost is not None and not is_reset:
            raise self._lost
        if self._connection is not None and not self._connection.up:
            await self._connection.close()
            self._connection = None
        if self._connection is None:
            connection = Connection(self._target)
            await connection.open(deadline)
            self._connection = connection
        return self._connection

    async def _ask(
        self, message: JsonObject, expected: str, timeout: float | None, read: Callable[[JsonObject, Connection], T]
    ) -> T:
        is_reset = message["type"] == "reset"
        async with self._lock:
            deadline = time.monotonic() + (self.timeout if timeout is None else timeout)
            connection = await self._open(deadline, is_reset)
            try:
                try:
                    answer = await connection.request(message, deadline)
                except ConnectionLostError as error:
                    if not is_reset or error.code != "SESSION_LOST":
                        raise
                    # The session was lost before this call.
                    connection = await self._open(deadline, is_reset)
                    answer = await connection.request(message, deadline)
                if is_reset and must_move(answer):
                    connection, answer = await self._move(connection, message, deadline)
                with reading:
                    if answer["type"] == "error":
                        raise to_error(answer["data"])
                    if answer["type"] != expected:
                        raise protocol_error(f'an answer is not of type "{expected}"')
                    result = read(answer, connection)
            except ConnectionLostError as error:
                self._lost = error if error.code == "SESSION_LOST" else no_episode()
                await connection.fail(error)
                raise
            if is_reset:
                self._lost = None
            return result

    async def _move(
        self, connection: Connection, message: JsonObject, deadline: float
    ) -> tuple[Connection, JsonObject]:
        """Makes a reset on another server; on that of the session where no other takes it."""
        other = Connection(self._target)
        try:
            await other.open(deadline, moving=True)
            answer = await other.request(message, deadline)
            if not is_refusal(answer):
                self._connection = other
                await connection.close()
                return other, answer
        except OpenEnvError:
            pass
        except BaseException:
            other.interrupt()
            raise
        await other.close()
        return connection, await connection.request(message, deadline)

    async def _observe(self, message: JsonObject, timeout: float | None) -> StepResult[JsonObject]:
        with span(message["type"], message["data"]):
            return await self._ask(message, "observation", timeout, _read_step)

    async def __aenter__(self: E) -> E:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


def _read_step(answer: JsonObject, connection: Connection) -> StepResult[JsonObject]:
    result: StepResult[JsonObject] = read_result(StepResult, answer, connection.extensions, connection.recovered)
    result.url = page_of(connection.target.url, connection.handle)
    return result


connect_async = AsyncEnv.connect
