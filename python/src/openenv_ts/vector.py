"""Many sessions of one environment in one process."""

from __future__ import annotations

import contextlib
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, get_args, overload

from ._asyncio import AsyncIO
from ._frames import JsonObject
from ._group import MAX_BATCH, Slot, by_group, can_retry, families, obstacle_of, read_answer, read_forked, waves
from ._placement import Placement
from ._process import Turn
from ._sockets import IO
from ._tracing import span
from .errors import OpenEnvError, RemoteError, is_asked_to_move, no_episode
from .options import TIMEOUT_S, Autoreset, ResetOptions, ServerOptions, SomeValues, Values, make_targets
from .results import VectorResult, call_action, in_group, read_tool_result, to_failed_result

if TYPE_CHECKING:
    from typing_extensions import Unpack


class AsyncVectorEnv:
    """Many sessions that are called together, for asyncio. Results are in the order of the sessions, None for a session
    that was skipped. A failed session does not raise: its result has ``outcome`` ``env_error`` (the server answered
    with an error) or ``lost`` (the episode is lost); mask both. The next reset of a lost session opens another one, on
    any server that has room. The options are those of ``VectorOptions``.
    """

    def __init__(
        self,
        url_or_urls: str | Sequence[str],
        n: int,
        *,
        autoreset: Autoreset = "disabled",
        reset_with: Callable[[int], ResetOptions] | None = None,
        own_sockets: bool = False,
        concurrency: int = MAX_BATCH,
        timeout: float = TIMEOUT_S,
        _io: IO | None = None,
        **options: Unpack[ServerOptions],
    ) -> None:
        if n < 1 or concurrency < 1:
            raise ValueError("n and concurrency must be positive integers")
        if autoreset not in get_args(Autoreset):
            raise ValueError(f"autoreset must be one of {', '.join(get_args(Autoreset))}, not {autoreset!r}")
        self.size = n
        self.timeout = timeout
        self._io: IO = _io or AsyncIO()
        self._targets = make_targets(self._io, url_or_urls, **options)
        if not self._targets:
            raise ValueError("there must be at least one URL")
        self.urls = [target.url for target in self._targets]
        self._autoreset = autoreset
        self._reset_with = reset_with or (lambda _index: {})
        self._own_sockets = own_sockets
        self._concurrency = concurrency
        for target in self._targets:
            target.has_batch = not own_sockets
        self._slots = [Slot(index) for index in range(n)]
        self._placement = Placement(self._io, self._targets, concurrency)
        self._pending: dict[int, Slot] = {}
        """The sessions whose results ``as_completed`` waits for."""
        self._jobs: dict[int, Any] = {}
        """Those of them whose lost connection is being replaced."""
        self._waiting: deque[tuple[Slot, JsonObject]] = deque()
        """The actions that it has not sent yet."""
        self._completed: list[VectorResult] = []
        """The results that it has not yielded yet."""
        self._lock = Turn()

    async def get(self, path: str) -> Any:
        """Reads a path of the first server, such as ``/schema`` or ``/metadata``."""
        return await self._targets[0].fetch(path, None, self._deadline(None))

    def __repr__(self) -> str:
        count = sum(1 for slot in self._slots if slot.open)
        return f"<{type(self).__name__} {', '.join(self.urls)} {count} of {self.size} open>"

    def places(self) -> list[str | None]:
        """The URL of the server of each session; None for a session that is not open."""
        return [slot.group.target.url if slot.group is not None and slot.open else None for slot in self._slots]

    def recoveries(self) -> dict[str, int]:
        """How many lost connections were replaced, and how many sessions continued on them in all."""
        connections = sum(target.connections_recovered for target in self._targets)
        return {"connections": connections, "sessions": sum(target.sessions_recovered for target in self._targets)}

    @overload
    async def reset(
        self, options: ResetOptions | Values | None = None, *, timeout: float | None = None
    ) -> list[VectorResult]: ...
    @overload
    async def reset(self, options: SomeValues, *, timeout: float | None = None) -> list[VectorResult | None]: ...
    async def reset(
        self, options: ResetOptions | SomeValues | None = None, *, timeout: float | None = None
    ) -> Sequence[VectorResult | None]:
        """Starts an episode in every session, with the same options or a list of options; None skips a session."""
        single = options is None or isinstance(options, Mapping)
        values = [options or {}] * self.size if single else options
        with span("reset"):
            async with self._lock:
                begun = await self._begin(self._by_slot(values), self._deadline(timeout))  # type: ignore[arg-type]
        return [begun.get(index) for index in range(self.size)]

    async def reset_groups(
        self,
        starts: Sequence[ResetOptions],
        *,
        fork: bool = False,
        rng: Literal["same", "split"] = "split",
        timeout: float | None = None,
    ) -> list[VectorResult]:
        """Divides the sessions in order into groups of the same size, and starts episodes that begin alike within one:
        with the options of the group in ``starts``, which should name a seed or a task, or with ``fork`` as copies of
        the first session. ``group_id`` of the results is the number of the group."""
        count, rest = divmod(self.size, max(1, len(starts)))
        if not starts or rest:
            raise ValueError(f"{self.size} sessions cannot be divided into {len(starts)} groups of the same size")
        firsts = [index - index % count for index in range(self.size)]
        options = [None if fork and index != first else starts[first // count] for index, first in enumerate(firsts)]
        begun = await self.reset(options, timeout=timeout)
        copies = await self.fork(firsts, rng=rng, timeout=timeout) if fork and count > 1 else begun
        results = []
        for index, first in enumerate(firsts):
            result = begun[index] or copies[index] or replace(begun[first], index=index)  # type: ignore[type-var]
            results.append(in_group(result, first // count))  # type: ignore[arg-type]
            self._slots[index].group_id = first // count
        # Otherwise these sessions would continue their old episodes, in the new groups.
        failed = [result.index for result in results if result.error is not None]
        async with self._lock:
            await self._placement.end((self._slots[index] for index in failed), self._deadline(timeout))
        for index in failed:
            results[index].done = True
        return results

    @overload
    async def step(self, actions: Values, *, timeout: float | None = None) -> list[VectorResult]: ...
    @overload
    async def step(self, actions: SomeValues, *, timeout: float | None = None) -> list[VectorResult | None]: ...
    async def step(self, actions: SomeValues, *, timeout: float | None = None) -> Sequence[VectorResult | None]:
        """Steps each session with its action; None skips a session."""
        with span("step"):
            async with self._lock:
                stepped = await self._advance(self._by_slot(actions), self._deadline(timeout))
        return [stepped.get(index) for index in range(self.size)]

    @overload
    async def call_tools(self, calls: Values, *, timeout: float | None = None) -> list[VectorResult]: ...
    @overload
    async def call_tools(self, calls: SomeValues, *, timeout: float | None = None) -> list[VectorResult | None]: ...
    async def call_tools(self, calls: SomeValues, *, timeout: float | None = None) -> Sequence[VectorResult | None]:
        """Calls a tool in each session, given by its ``name`` and ``arguments``, which is a step; None skips a session.
        ``tool`` of a result is what the tool returned; None where autoreset began an episode instead."""
        actions = [call and call_action(call["name"], dict(call.get("arguments") or {})) for call in calls]
        results = await self.step(actions, timeout=timeout)
        for call, result in zip(calls, results, strict=True):
            if call and result and not result.error and not result.began:
                result.tool = read_tool_result(call["name"], result)
        return results

    async def state(self, *, timeout: float | None = None) -> list[JsonObject | VectorResult]:
        """The state of each session, or the failure."""
        async with self._lock:
            answers = await self._ask("state", self._by_slot([{}] * self.size), self._deadline(timeout))
        replies = [(slot.index, answers[slot.index]) for slot in self._slots]
        return [to_failed_result(i, one) if isinstance(one, OpenEnvError) else one["data"] for i, one in replies]

    async def as_completed(
        self, actions: SomeValues, *, count: int | None = None, timeout: float | None = None
    ) -> AsyncIterator[VectorResult]:
        """Steps, and yields ``count`` results as they arrive, by default all that are pending. The next call yields the
        others; until then their sessions accept no other action. Requires ``own_sockets``."""
        if not self._own_sockets:
            raise ValueError("as_completed() needs a socket for each session: pass own_sockets=True")
        async with self._lock:
            deadline = self._deadline(timeout)
            values = self._by_slot(actions)
            begun = await self._begin_next(values, deadline)
            self._completed += begun.values()
            self._waiting += ((slot, dict(action)) for slot, action in values.items() if slot.index not in begun)
            await self._send_waiting(deadline)
            available = len(self._completed) + len(self._pending) + len(self._waiting)
        for _ in range(available if count is None else min(count, available)):
            async with self._lock:
                while not self._completed:
                    if not self._pending and not self._waiting:
                        return
                    self._completed += await self._next_completed(deadline)
                    await self._send_waiting(deadline)
                result = self._completed.pop(0)
            yield result

    async def _send_waiting(self, deadline: float) -> None:
        while self._waiting and len(self._pending) < self._concurrency and time.monotonic() < deadline:
            slot, action = self._waiting.popleft()
            group, item = slot.group, (slot.session, action)
            obstacle = obstacle_of(slot) or await group.submit("step", [item], deadline)  # type: ignore[union-attr]
            if obstacle is None:
                self._pending[slot.index] = slot
            else:
                self._completed.append(read_answer(slot, "step", obstacle))

    async def _next_completed(self, deadline: float) -> list[VectorResult]:
        slots = list(self._pending.values())
        sources: list[Any] = [
            self._jobs.get(slot.index) or slot.group.connection.socket  # type: ignore[union-attr]
            for slot in slots
        ]
        replies: dict[Slot, JsonObject | OpenEnvError] = {}
        try:
            for nth in await self._io.first(sources, deadline):
                slot, socket = slots[nth], sources[nth]
                if slot.index in self._jobs:
                    [replies[slot]] = self._jobs[slot.index].result()
                elif socket.has_message:
                    [replies[slot]] = await slot.group.collect("step", 1, deadline)  # type: ignore[union-attr]
                else:
                    # Others can answer while the connection is replaced.
                    job = slot.group.collect("step", 1, deadline)  # type: ignore[union-attr]
                    self._jobs[slot.index] = self._io.start(job)
        except TimeoutError:
            # What is waiting is not sent any more.
            late = [*slots, *(slot for slot, _ in self._waiting)]
            self._waiting.clear()
            expired = await self._io.gather([self._expire(slot, deadline) for slot in late])
            replies = dict(zip(late, expired, strict=True))
        results = []
        for slot, reply in replies.items():
            self._pending.pop(slot.index, None)
            self._jobs.pop(slot.index, None)
            results.append(read_answer(slot, "step", reply))
        await self._finish(results, deadline)
        return results

    async def _expire(self, slot: Slot, deadline: float) -> JsonObject | OpenEnvError:
        group = slot.group
        socket = group and slot.index not in self._jobs and group.connection.socket
        if group and socket and socket.has_message:
            [reply] = await group.collect("step", 1, deadline)
            return reply
        return obstacle_of(slot) or await group.connection.expire()  # type: ignore[union-attr]

    async def fork(
        self, parents: Sequence[int | None], *, rng: Literal["same", "split"] = "same", timeout: float | None = None
    ) -> list[VectorResult | None]:
        """Replaces sessions by copies of others: ``parents[i]`` is the index of the session that session ``i``
        becomes a copy of, None or ``i`` to leave it. Returns None for each session that is what it should be, and the
        failure of each other: its next reset opens another one."""
        if self._own_sockets:
            raise ValueError("fork() copies sessions that share a socket: leave out own_sockets")
        failures: list[VectorResult | None] = [None] * self.size
        async with self._lock:
            deadline = self._deadline(timeout)
            for parent, family in families(self._by_slot(parents), self.size).items():
                forked = await self._fork(self._slots[parent], family, rng, deadline)
                for slot, failure in zip(family, forked, strict=True):
                    failures[slot.index] = None if failure is None else to_failed_result(slot.index, failure)
        return failures

    async def _fork(self, parent: Slot, family: list[Slot], rng: str, deadline: float) -> list[OpenEnvError | None]:
        group = parent.group
        obstacle = obstacle_of(parent)
        if obstacle is None and group is not None:
            obstacle = group.obstacle_to(sum(1 for slot in family if slot.group is not group))
        if obstacle is not None or group is None:
            return [obstacle] * len(family)
        await self._placement.end(family, deadline)
        item = {"session": parent.session, "count": len(family), "rng": rng}
        [reply] = await group.tell("fork_many", [item], deadline)
        sessions = read_forked(reply, len(family))
        if isinstance(sessions, OpenEnvError):
            return [sessions] * len(family)
        for slot, session in zip(family, sessions, strict=True):
            slot.place(group, session, "playing")
            slot.has_played, slot.group_id = True, parent.group_id
        return [None] * len(family)

    async def close(self) -> None:
        """Ends all sessions; a running call fails. Can be called more than once."""
        if self._lock.inherited:
            return
        await self._placement.close()
        # A call that was opening sessions has opened them now.
        async with self._lock:
            await self._placement.close()

    def _deadline(self, timeout: float | None) -> float:
        return time.monotonic() + (self.timeout if timeout is None else timeout)

    def _by_slot(self, values: Sequence[Any]) -> dict[Slot, Any]:
        if len(values) != self.size:
            raise ValueError(f"there must be one value for each of {self.size} sessions, not {len(values)}")
        given = {slot: value for slot, value in zip(self._slots, values, strict=True) if value is not None}
        unread = {slot.index for slot, _ in self._waiting} | {result.index for result in self._completed}
        for slot in given:
            if slot.index in self._pending or slot.index in unread:
                raise ValueError(f"session {slot.index} has a pending result: take it from as_completed() first")
        return given

    async def _advance(self, actions: Mapping[Slot, Any], deadline: float) -> dict[int, VectorResult]:
        results = await self._begin_next(actions, deadline)
        played = {slot: action for slot, action in actions.items() if slot.index not in results}
        answers = await self._ask("step", {slot: dict(action) for slot, action in played.items()}, deadline)
        stepped = [read_answer(slot, "step", answers[slot.index]) for slot in played]
        await self._finish(stepped, deadline)
        results.update((result.index, result) for result in stepped)
        return results

    async def _finish(self, results: Sequence[VectorResult], deadline: float) -> None:
        """Starts the next episodes of ``same-step``."""
        if self._autoreset != "same-step":
            return
        options: dict[Slot, ResetOptions] = {}
        for slot in self._ended(self._slots[result.index] for result in results):
            # The next call raises the same error, before it sends anything: the results of this one are kept.
            with contextlib.suppress(Exception):
                options[slot] = self._reset_with(slot.index)
        begun = await self._begin(options, deadline)
        for result in results:
            following = begun.get(result.index)
            if following is not None:
                result.next, result.reopened = following, following.reopened

    async def _begin_next(self, slots: Iterable[Slot], deadline: float) -> dict[int, VectorResult]:
        """Starts the next episodes where one has ended, unless autoreset is ``disabled``."""
        return await self._begin({slot: self._reset_with(slot.index) for slot in self._ended(slots)}, deadline)

    def _ended(self, slots: Iterable[Slot]) -> list[Slot]:
        return [slot for slot in slots if self._autoreset != "disabled" and slot.needs_reset]

    async def _begin(self, options: Mapping[Slot, ResetOptions], deadline: float) -> dict[int, VectorResult]:
        """Resets, opens missing sessions, and tries other servers for those that cannot be opened."""
        results: dict[int, VectorResult] = {}
        tried: dict[int, set[int]] = {slot.index: set() for slot in options}
        left = list(options)
        while left:
            await self._placement.open([slot for slot in left if not slot.open], tried, deadline)
            await self._placement.even([slot for slot in left if slot.open], deadline)
            opened = {slot: dict(options[slot]) for slot in left if slot.open}
            answers = await self._ask("reset", opened, deadline)
            asked = {slot: data for slot, data in opened.items() if is_asked_to_move(answers[slot.index])}
            if asked:
                await self._placement.leave(list(asked), deadline)
                answers.update(await self._ask("reset", asked, deadline))
            again = []
            for slot in left:
                answer = answers.get(slot.index, slot.error or no_episode())
                results[slot.index] = read_answer(slot, "reset", answer)
                if not isinstance(answer, OpenEnvError) or not can_retry(answer, slot.index in answers):
                    continue
                slot.release(answer)
                if len(tried[slot.index]) < len(self._targets):
                    again.append(slot)
            left = again
        return results

    async def _ask(
        self, method: str, data: Mapping[Slot, JsonObject], deadline: float
    ) -> dict[int, JsonObject | OpenEnvError]:
        answers: dict[int, JsonObject | OpenEnvError] = {}
        callable_slots = []
        for slot in data:
            obstacle = None if method == "reset" else obstacle_of(slot)
            if obstacle is None:
                callable_slots.append(slot)
            else:
                answers[slot.index] = obstacle
        for wave in waves(by_group(callable_slots), self._concurrency):
            calls = []
            try:
                for group, members in wave:
                    failure = await group.submit(method, [(slot.session, data[slot]) for slot in members], deadline)
                    if failure is None:
                        calls.append((group, members))
                    elif isinstance(failure, RemoteError) and len(members) > 1:
                        # One value cannot be sent: each is tried alone, so that it fails alone.
                        for slot in members:
                            answers.update(await self._ask(method, {slot: data[slot]}, deadline))
                    else:
                        answers.update((slot.index, failure) for slot in members)
                replies = await self._io.gather([group.collect(method, len(own), deadline) for group, own in calls])
            except BaseException as error:
                # No result is returned: after an interrupt every session of the call is lost.
                for group, _ in calls:
                    group.connection.stop(error)
                raise
            for (_, members), own in zip(calls, replies, strict=True):
                answers.update(zip((slot.index for slot in members), own, strict=True))
        return answers

    async def __aenter__(self) -> AsyncVectorEnv:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()
