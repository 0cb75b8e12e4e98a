"""One session of an environment."""

from __future__ import annotations

import os
import ssl
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypedDict, TypeVar
from urllib.parse import urlsplit

from ._asyncio import AsyncIO
from ._connection import Connection, JsonObject, Target
from ._process import Turn
from ._sockets import IO
from .errors import (
    ConnectionLostError,
    OpenEnvError,
    RemoteError,
    Secret,
    client_closed,
    no_episode,
    protocol_error,
    reading,
    to_error,
)
from .results import StepResult, Tool, ToolResult, call_action, read_result, read_tool_result, read_tools

if TYPE_CHECKING:
    from typing_extensions import Unpack

TIMEOUT_S = 60.0
T = TypeVar("T")
E = TypeVar("E", bound="AsyncEnv")


class ServerOptions(TypedDict, total=False):
    """How a client connects."""

    token: str | None
    """The client token of the server, by default from ``OPENENV_TOKEN``, which is sent only to the hosts in
    ``OPENENV_TOKEN_HOST`` (separated by commas) if that is set."""
    headers: Mapping[str, str] | None
    connect_timeout: float
    """The time limit of one attempt to connect, seconds: 10."""
    resume: bool | None
    """Whether a lost connection is replaced and the session continues; by default if the server can do it."""
    digest: bool
    """Whether results have the digest of the state."""
    ssl_context: ssl.SSLContext | None


class ConnectOptions(ServerOptions, total=False):
    timeout: float
    """The time limit of each call, with all attempts to connect again, seconds: 60."""


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
            self._lost = self._lost or no_episode()
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

    async def _observe(self, message: JsonObject, timeout: float | None) -> StepResult[JsonObject]:
        return await self._ask(
            message,
            "observation",
            timeout,
            lambda answer, connection: read_result(StepResult, answer, connection.extensions, connection.recovered),
        )

    async def __aenter__(self: E) -> E:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


def make_targets(
    io: IO,
    urls: str | Sequence[str],
    *,
    token: str | None = None,
    headers: Mapping[str, str] | None = None,
    connect_timeout: float = 10.0,
    resume: bool | None = None,
    digest: bool = False,
    ssl_context: ssl.SSLContext | None = None,
) -> list[Target]:
    io.ssl_context = ssl_context
    targets = []
    for url in urls if isinstance(urls, (list, tuple)) else [urls]:
        base, host = read_url(url)
        used = token if token is not None else _token_for(host)
        sent = {name: Secret(value) for name, value in (headers or {}).items()}
        if used:
            sent["authorization"] = Secret(f"Bearer {used.strip()}")
        if any(not (name + value).isprintable() for name, value in sent.items()):
            raise OpenEnvError("INVALID_CONFIG", "A header or the token has a line break or another control character.")
        targets.append(Target(io, base, sent, resume, connect_timeout, digest))
    return targets


def read_url(url: object) -> tuple[str, str]:
    """The base URL of a server, and its host."""
    try:
        parts = urlsplit(url if isinstance(url, str) else "")
        host, has_port = parts.hostname, parts.port != 0
    except ValueError:
        host, has_port = None, False
    if not isinstance(url, str) or parts.scheme not in ("http", "https", "ws", "wss") or not host or not has_port:
        raise OpenEnvError("INVALID_CONFIG", f"{url!r} is not the URL of a server: write http://localhost:8000.")
    if parts.username is not None:
        raise OpenEnvError("INVALID_CONFIG", "A URL must not contain a user name or password: pass headers or token.")
    return url.rstrip("/"), host


def _token_for(host: str) -> str | None:
    hosts = os.environ.get("OPENENV_TOKEN_HOST", "")
    is_meant = hosts == "" or host in [one.strip().lower() for one in hosts.split(",")]
    return os.environ.get("OPENENV_TOKEN") if is_meant else None


connect_async = AsyncEnv.connect
