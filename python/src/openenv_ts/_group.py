"""The sessions of a vector environment, and the sockets that they share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from ._connection import Connection
from ._frames import JsonObject, is_refusal, page_of
from ._server import Target
from .errors import OpenEnvError, RemoteError, log, no_episode, protocol_error, reading, session_lost, to_error
from .results import VectorResult, in_group, read_result, to_failed_result

MAX_BATCH = 1024
ELSEWHERE = ("CAPACITY_REACHED", "CONNECTION_FAILED", "SESSION_LOST")
"""Failures of a reset that may succeed on another server."""
NOT_RETRYABLE = ("CLIENT_CLOSED", "FACTORY_ERROR")
"""Failures with which no server opens a session."""


class Group:
    """A socket and its sessions: many with batch frames, or one if the server does not have them."""

    def __init__(self, target: Target, limit: int) -> None:
        self.target = target
        self.limit = limit
        self.size = 0
        self.is_batch = False
        self.avoided_until = 0.0
        """Until then, by ``time.monotonic()``, no session moves here: the server is full or asks clients to leave."""
        self._is_plain = False
        self.connection = Connection(target, batch=target.has_batch)
        self.connection.on_recovered = self._count_recovery

    def _count_recovery(self) -> None:
        self.target.connections_recovered += 1
        self.target.sessions_recovered += self.size

    @property
    def server(self) -> str | int:
        """The process that has the sessions; of a socket whose server is not known, the socket."""
        return self.connection.server or id(self)

    def has_room_for(self, count: int) -> bool:
        is_usable = self.is_batch or (self._is_plain and self.size == 0)
        return is_usable and self.connection.up and self.size + count <= self.limit

    async def look(self, deadline: float, moving: bool) -> bool:
        """Opens the socket without a session of a batch, to learn which server it reaches."""
        try:
            await self.connection.open(deadline, moving=moving)
            answer = await self.connection.request({"type": "state_many", "data": {"items": []}}, deadline)
        except OpenEnvError:
            return False
        self.is_batch = "batch" in self.connection.extensions
        self._is_plain = not self.is_batch
        return self.connection.up and not is_refusal(answer)

    async def open(self, count: int, deadline: float) -> list[int | OpenEnvError]:
        """Opens sessions. The list is shorter than ``count`` for a socket with one session."""
        if self._is_plain:
            return [0]
        try:
            if self.connection.socket is None:
                await self.connection.open(deadline)
                if not self.target.has_batch:
                    return [0]
            answer = await self.connection.request({"type": "open_many", "data": {"count": count}}, deadline)
        except OpenEnvError as error:
            return [error] * count
        self.is_batch = "batch" in self.connection.extensions
        if self.is_batch:
            return [read_opened(item) for item in read_items(answer, count)]
        self.target.has_batch = False
        with reading:
            return [0] if self.connection.up else [to_error(answer["data"])] * count

    async def submit(
        self, method: str, items: Sequence[tuple[int, JsonObject]], deadline: float
    ) -> OpenEnvError | None:
        if self.is_batch:
            entries = [
                {"session": session} if method == "state" else {"session": session, "data": data}
                for session, data in items
            ]
            message: JsonObject = {"type": f"{method}_many", "data": {"items": entries}}
        else:
            message = {"type": method} if method == "state" else {"type": method, "data": items[0][1]}
        try:
            await self.connection.submit(message, deadline)
        except OpenEnvError as error:
            return error
        return None

    async def collect(self, method: str, count: int, deadline: float) -> list[JsonObject | OpenEnvError]:
        try:
            answer = await self.connection.collect(deadline)
            replies = read_items(answer, count) if self.is_batch else [answer]
        except OpenEnvError as error:
            return [error] * count
        expected = "state" if method == "state" else "observation"
        return [read_reply(reply, expected) for reply in replies]

    def obstacle_to(self, copies: int) -> OpenEnvError | None:
        """Why the socket cannot have so many more sessions that are copies."""
        if not self.is_batch:
            return RemoteError("NOT_RESTORABLE", f"{self.target.url} has no batch frames, which copy sessions.")
        if self.size + copies > self.limit:
            message = f"A socket has at most {self.limit} sessions: copy sessions of several sockets."
            return RemoteError("CAPACITY_REACHED", message)
        return None

    async def tell(self, kind: str, items: list[JsonObject], deadline: float) -> list[Any]:
        """Sends a batch frame. Returns the replies, or the same failure for each item."""
        try:
            answer = await self.connection.request({"type": kind, "data": {"items": items}}, deadline)
            return read_items(answer, len(items))
        except OpenEnvError as error:
            return [error] * len(items)


@dataclass(slots=True, eq=False)
class Slot:
    """A session of a vector environment, over all the sessions that take its place."""

    index: int
    group: Group | None = None
    session: int = 0
    state: Literal["unopened", "opened", "playing", "over", "closed"] = "unopened"
    error: OpenEnvError | None = None
    has_played: bool = False
    group_id: int | None = None
    moved: bool = False
    """The session replaces one that was not lost."""

    @property
    def open(self) -> bool:
        return self.group is not None and self.group.connection.up

    @property
    def needs_reset(self) -> bool:
        return self.state in ("over", "closed", "unopened") or not self.open

    def place(self, group: Group, session: int, state: Literal["opened", "playing"] = "opened") -> None:
        self.group, self.session, self.state, self.error, self.moved = group, session, state, None, False
        group.size += 1
        group.target.load += 1

    def release(self, error: OpenEnvError) -> None:
        if self.group is not None:
            self.group.size -= 1
            self.group.target.load -= 1
        self.group, self.state, self.error = None, "closed", error


def by_group(slots: Iterable[Slot]) -> list[tuple[Group, list[Slot]]]:
    groups: dict[int, tuple[Group, list[Slot]]] = {}
    for slot in slots:
        assert slot.group is not None
        groups.setdefault(id(slot.group), (slot.group, []))[1].append(slot)
    return list(groups.values())


def waves(groups: list[tuple[Group, list[Slot]]], limit: int) -> list[list[tuple[Group, list[Slot]]]]:
    """Divides groups so that at most ``limit`` sessions are called at the same time."""
    divided: list[list[tuple[Group, list[Slot]]]] = []
    room = 0
    for group, members in groups:
        if len(members) > room:
            divided.append([])
            room = limit
        divided[-1].append((group, members))
        room -= len(members)
    return divided


def obstacle_of(slot: Slot) -> OpenEnvError | None:
    """Why a session cannot step or return its state."""
    if slot.group is None or not slot.open:
        error = slot.error
        if error is None or isinstance(error, RemoteError) or error.code == "SESSION_LOST":
            return error or no_episode()
        return session_lost(error.message.rstrip("."))
    # A server may allow a step before the first reset: the step would belong to no episode of this client.
    return no_episode() if slot.state == "opened" and slot.has_played else None


def can_retry(failure: OpenEnvError, was_open: bool) -> bool:
    """Whether a reset may succeed in a session that replaces this one."""
    return failure.code not in NOT_RETRYABLE and (failure.code in ELSEWHERE or not was_open)


@reading
def read_items(answer: JsonObject, count: int) -> list[Any]:
    if answer.get("type") == "error":
        raise to_error(answer["data"])
    items = answer["data"].get("items")
    if answer.get("type") != "many" or not isinstance(items, list) or len(items) != count:
        raise protocol_error(f'an answer of type "many" does not have {count} items')
    return items


def read_reply(reply: Any, expected: str) -> JsonObject | OpenEnvError:
    try:
        data: JsonObject = reply["data"]
        if reply["type"] == expected and isinstance(data, dict):
            return data if expected in ("forked", "opened") else reply
        return _read_error(reply, expected)
    except reading.ODD as error:
        return reading.odd(error)


def _read_error(reply: Any, expected: str) -> OpenEnvError:
    if reply["type"] != "error":
        return protocol_error(f'a reply is not of type "{expected}"')
    error = to_error(reply["data"])
    # A session that the server ended is lost, as if its socket had closed.
    ended = isinstance(error, RemoteError) and error.wire_code == "SESSION_ERROR"
    return session_lost(error.message.rstrip(".")) if ended else error


def read_answer(slot: Slot, method: Literal["reset", "step"], answer: JsonObject | OpenEnvError) -> VectorResult:
    """Reads the answer to a reset or a step, and notes what it means for the session."""
    group = slot.group
    if not isinstance(answer, OpenEnvError) and group is not None:
        connection = group.connection
        try:
            result = read_result(VectorResult, answer, connection.extensions, connection.recovered)
            result.index = slot.index
            result.url = page_of(connection.target.url, connection.handle, slot.session if group.is_batch else None)
        except OpenEnvError as error:
            answer = error
    if isinstance(answer, OpenEnvError):
        if slot.group is not None and (not slot.open or answer.outcome == "lost"):
            if slot.open:
                log.warning("lost session %d on %s: %s", slot.index, slot.group.target.url, answer)
            slot.release(answer)
        elif method == "reset" and slot.state == "playing":
            slot.state = "over"
        return in_group(to_failed_result(slot.index, answer), None if method == "reset" else slot.group_id)
    if method == "reset":
        slot.group_id = None
    result.began = method == "reset"
    result.reopened = method == "reset" and slot.state == "opened" and slot.has_played and not slot.moved
    slot.has_played = True
    slot.state = "playing" if result.outcome == "ok" else "over"
    return in_group(result, slot.group_id)


def read_opened(reply: Any) -> int | OpenEnvError:
    data = read_reply(reply, "opened")
    if isinstance(data, OpenEnvError):
        return data
    session = data.get("session")
    return session if isinstance(session, int) else protocol_error("an opened session has no number")


def read_forked(reply: Any, count: int) -> list[int] | OpenEnvError:
    data = reply if isinstance(reply, OpenEnvError) else read_reply(reply, "forked")
    if isinstance(data, OpenEnvError):
        return data
    sessions = data.get("sessions")
    if isinstance(sessions, list) and len(sessions) == count and all(isinstance(one, int) for one in sessions):
        return sessions
    return protocol_error(f"a reply has no numbers of {count} copies")


def families(parents: Mapping[Slot, int], size: int) -> dict[int, list[Slot]]:
    """The slots that become copies of each parent. Raises ValueError for a parent that is not one, or is replaced."""
    found: dict[int, list[Slot]] = {}
    for slot, parent in parents.items():
        if not 0 <= parent < size:
            raise ValueError(f"there is no session {parent}: use 0 to {size - 1}")
        if parent != slot.index:
            found.setdefault(parent, []).append(slot)
    for copies in found.values():
        for slot in copies:
            if slot.index in found:
                raise ValueError(f"session {slot.index} cannot be copied and replaced in one call")
    return found
