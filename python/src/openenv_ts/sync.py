"""The clients for code without asyncio."""

from __future__ import annotations

import threading
from collections.abc import Coroutine, Iterator, Mapping, Sequence
from typing import Any, Generic, Literal, TypeVar

from ._blocking import BlockingIO
from ._connection import JsonObject
from ._sockets import run
from .env import TIMEOUT_S, AsyncEnv
from .results import StepResult, Tool, ToolResult, VectorResult
from .vector import AsyncVectorEnv, ResetOptions

T = TypeVar("T")
C = TypeVar("C", bound="AsyncEnv | AsyncVectorEnv")
S = TypeVar("S", bound="_Blocking[Any]")
E = TypeVar("E", bound="Env")


class _Blocking(Generic[C]):
    """A client whose calls block. Calls of several threads wait for one another."""

    def __init__(self, env: C) -> None:
        self._env = env
        self._lock = threading.Lock()

    def _run(self, call: Coroutine[Any, Any, T]) -> T:
        with self._lock:
            return run(call)

    def get(self, path: str) -> Any:
        """Reads a path of the server, the first of several, such as ``/schema`` or ``/metadata``."""
        return run(self._env.get(path))

    def close(self) -> None:
        """Ends all sessions. Can be called more than once."""
        self._run(self._env.close())

    def __enter__(self: S) -> S:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Env(_Blocking[AsyncEnv]):
    """One session, for code without asyncio. See AsyncEnv; calls of several threads wait for one another."""

    @classmethod
    def connect(
        cls: type[E],
        url: str,
        *,
        token: str | None = None,
        headers: Mapping[str, str] | None = None,
        timeout: float = TIMEOUT_S,
        connect_timeout: float = 10.0,
        resume: bool | None = None,
        digest: bool = False,
    ) -> E:
        """Returns a client for one session of the environment at ``url``. See ``AsyncEnv.connect``."""
        return cls(AsyncEnv.connect(url, token=token, headers=headers, timeout=timeout, connect_timeout=connect_timeout,
                                    resume=resume, digest=digest, _io=BlockingIO()))  # fmt: skip

    @property
    def url(self) -> str:
        return self._env.url

    def reset(self, *, timeout: float | None = None, **options: Any) -> StepResult[JsonObject]:
        """Starts an episode; after a loss, in a new session. See ``AsyncEnv.reset``."""
        return self._run(self._env.reset(timeout=timeout, **options))

    def step(self, action: Mapping[str, Any], *, timeout: float | None = None) -> StepResult[JsonObject]:
        """Takes one action, which ``GET /schema`` of the server describes."""
        return self._run(self._env.step(action, timeout=timeout))

    def state(self, *, timeout: float | None = None) -> JsonObject:
        """Returns the state, with ``episode_id`` and ``step_count``."""
        return self._run(self._env.state(timeout=timeout))

    def list_tools(self, *, timeout: float | None = None) -> list[Tool]:
        """Lists the tools of the environment. This is not a step."""
        return self._run(self._env.list_tools(timeout=timeout))

    def call_tool(
        self, name: str, arguments: Mapping[str, Any] | None = None, *, timeout: float | None = None
    ) -> ToolResult:
        """Calls a tool, which is a step."""
        return self._run(self._env.call_tool(name, arguments, timeout=timeout))

    def fork(self: E, count: int, *, event: int | None = None, rng: str = "same") -> list[E]:
        """Opens copies of the session, all or none: each continues from here, or from after an earlier ``event``."""
        return [type(self)(copy) for copy in self._run(self._env.fork(count, event=event, rng=rng))]

    def post(self, path: str, body: Mapping[str, Any]) -> Any:
        """Sends JSON to a path of the server."""
        return run(self._env.post(path, body))


connect = Env.connect


class VectorEnv(_Blocking[AsyncVectorEnv]):
    """Many sessions that are called together, for code without asyncio. The arguments, methods and results are those of
    AsyncVectorEnv."""

    def __init__(self, url_or_urls: str | Sequence[str], n: int, **options: Any) -> None:
        super().__init__(AsyncVectorEnv(url_or_urls, n, _io=BlockingIO(), **options))

    @property
    def size(self) -> int:
        return self._env.size

    @property
    def urls(self) -> list[str]:
        return self._env.urls

    def places(self) -> list[str | None]:
        """The URL of the server of each session; None for a session that is not open."""
        return self._env.places()

    def recoveries(self) -> dict[str, int]:
        """How many lost connections were replaced, and how many sessions continued on them in all."""
        return self._env.recoveries()

    def reset(
        self, options: ResetOptions | Sequence[ResetOptions | None] | None = None, *, timeout: float | None = None
    ) -> list[VectorResult | None]:
        """Starts an episode in every session, with the same options or a list of options; None skips a session."""
        return self._run(self._env.reset(options, timeout=timeout))

    def reset_groups(self, starts: Sequence[ResetOptions], **options: Any) -> list[VectorResult]:
        """Starts groups of episodes that begin alike. See ``AsyncVectorEnv.reset_groups``."""
        return self._run(self._env.reset_groups(starts, **options))

    def step(
        self, actions: Sequence[Mapping[str, Any] | None], *, timeout: float | None = None
    ) -> list[VectorResult | None]:
        """Steps each session with its action; None skips a session."""
        return self._run(self._env.step(actions, timeout=timeout))

    def call_tools(
        self, calls: Sequence[Mapping[str, Any] | None], *, timeout: float | None = None
    ) -> list[VectorResult | None]:
        """Calls a tool in each session, which is a step. See ``AsyncVectorEnv.call_tools``."""
        return self._run(self._env.call_tools(calls, timeout=timeout))

    def state(self, *, timeout: float | None = None) -> list[JsonObject | VectorResult]:
        """The state of each session, or the failure."""
        return self._run(self._env.state(timeout=timeout))

    def as_completed(
        self, actions: Sequence[Mapping[str, Any] | None], *, count: int | None = None, timeout: float | None = None
    ) -> Iterator[VectorResult]:
        """Steps, and yields results as they arrive. See ``AsyncVectorEnv.as_completed``."""
        results = self._env.as_completed(actions, count=count, timeout=timeout)
        while True:
            try:
                yield self._run(results.__anext__())  # type: ignore[arg-type]
            except StopAsyncIteration:
                return

    def fork(
        self, parents: Sequence[int | None], *, rng: Literal["same", "split"] = "same", timeout: float | None = None
    ) -> list[VectorResult | None]:
        """Replaces sessions by copies of others. See ``AsyncVectorEnv.fork``."""
        return self._run(self._env.fork(parents, rng=rng, timeout=timeout))
