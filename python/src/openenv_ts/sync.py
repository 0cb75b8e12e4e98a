"""The clients for code without asyncio."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, TypeVar

from ._blocking import BlockingIO
from ._sockets import run
from .env import AsyncEnv
from .options import ConnectOptions, VectorOptions
from .results import VectorResult
from .vector import AsyncVectorEnv

if TYPE_CHECKING:
    from typing_extensions import Unpack

T = TypeVar("T")
P = ParamSpec("P")
C = TypeVar("C", bound="AsyncEnv | AsyncVectorEnv")
S = TypeVar("S", bound="_Blocking[Any]")
E = TypeVar("E", bound="Env")


class _Blocking(Generic[C]):
    """A client whose calls block. Calls of several threads wait for one another."""

    def __init__(self, env: C) -> None:
        self._env = env
        self._lock = threading.Lock()

    def _run(self, call: Coroutine[Any, Any, T]) -> T:
        try:
            # Another thread may have held the lock when this process was forked.
            self._env._lock.check()
        except BaseException:
            call.close()
            raise
        with self._lock:
            return run(call)

    def get(self, path: str) -> Any:
        """Reads a path of the server, the first of several, such as ``/schema`` or ``/metadata``."""
        return run(self._env.get(path))

    def close(self) -> None:
        """Ends all sessions. Can be called more than once."""
        if not self._env._lock.inherited:
            self._run(self._env.close())

    def __repr__(self) -> str:
        return repr(self._env).replace("<Async", "<", 1)

    def __enter__(self: S) -> S:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _blocking(
    method: Callable[Concatenate[C, P], Coroutine[Any, Any, T]],
) -> Callable[Concatenate[_Blocking[C], P], T]:
    """The method of the asyncio client as one that blocks."""

    @functools.wraps(method)
    def call(self: _Blocking[C], /, *args: P.args, **options: P.kwargs) -> T:
        return self._run(method(self._env, *args, **options))

    return call


class Env(_Blocking[AsyncEnv]):
    """One session, for code without asyncio. See AsyncEnv; calls of several threads wait for one another."""

    @classmethod
    def connect(cls: type[E], url: str, **options: Unpack[ConnectOptions]) -> E:
        """Returns a client for one session of the environment at ``url``. See ``AsyncEnv.connect``."""
        return cls(AsyncEnv.connect(url, _io=BlockingIO(), **options))

    @property
    def url(self) -> str:
        return self._env.url

    reset = _blocking(AsyncEnv.reset)
    step = _blocking(AsyncEnv.step)
    state = _blocking(AsyncEnv.state)
    list_tools = _blocking(AsyncEnv.list_tools)
    call_tool = _blocking(AsyncEnv.call_tool)

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

    def __init__(self, url_or_urls: str | Sequence[str], n: int, **options: Unpack[VectorOptions]) -> None:
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

    reset = _blocking(AsyncVectorEnv.reset)
    reset_groups = _blocking(AsyncVectorEnv.reset_groups)
    step = _blocking(AsyncVectorEnv.step)
    call_tools = _blocking(AsyncVectorEnv.call_tools)
    state = _blocking(AsyncVectorEnv.state)
    fork = _blocking(AsyncVectorEnv.fork)

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
