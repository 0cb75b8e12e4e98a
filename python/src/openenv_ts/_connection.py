"""One session, or the sessions of one batch socket, over as many sockets as it takes."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import random
import time
import weakref
from collections.abc import Callable, Mapping
from dataclasses import replace
from urllib.parse import quote

from ._asyncio import AsyncSocket
from ._frames import JsonObject, parse
from ._server import Key, Target, encode, not_opened
from ._sockets import HandshakeRefusedError, Socket, SocketClosedError, left
from ._tracing import add_header, with_context
from .errors import (
    BUSY,
    ConnectionLostError,
    OpenEnvError,
    RemoteError,
    Secret,
    client_closed,
    log,
    protocol_error,
    reading,
    session_lost,
    to_error,
)

FIRST_DELAY_S = 0.05
MAX_DELAY_S = 5.0
END_LIMIT_S = 2.0
FINAL_CODES = (4001, 1009)
"""Close codes after which the session is not resumed: another connection has it, or the request is too large."""
LATER = ("SESSION_ELSEWHERE", "JOURNAL_UNAVAILABLE", "CAPACITY_REACHED")
"""Errors with which a server says that the session can be resumed later, or elsewhere."""


connections: weakref.WeakSet[Connection] = weakref.WeakSet()
unended: dict[Key, Target] = {}
"""The sessions that this process has opened and not ended."""

CONFIRMED = (("extensions", "extensions", list), ("server", "server", str), ("session", "handle", str))


class Connection:
    """Sends one request at a time, in two parts: ``submit`` writes it, ``collect`` returns its answer."""

    def __init__(self, target: Target, *, batch: bool = False, key: Key | None = None) -> None:
        self.target = target
        self.extensions: list[str] = []
        self.server: str | None = None
        """The process that answers: an address can lead to several."""
        self.handle: str | None = None
        """The public name of the session, or of the batch."""
        self.on_recovered: Callable[[], None] | None = None
        self.recovered = False
        """Whether the connection was lost during the last request, and the session continued."""
        self._key = key or Key(batch=batch)
        batched = ["batch"] if self._key.batch else []
        self._wanted = ["warnings", "move", "cancel", *batched, *(["digest"] if target.digest else [])]
        self.socket: Socket | None = None
        self._route: Mapping[str, str] = {}
        self._window = float("inf")
        self._seq = self._ack = 0
        self._numbered = False
        self._pending: str | None = None
        self._cancelled = False
        """Whether the pending request was cancelled: its answer is read before the next request."""
        self._unasked = False
        """Whether something had arrived before the request: the next answer would be matched to a wrong one."""
        self.ended: OpenEnvError | None = None
        self._close_deadline: float | None = None

    @property
    def up(self) -> bool:
        if self.ended is not None or self.socket is None:
            return False
        return self._numbered or self.socket.closed is None

    async def open(self, deadline: float, *, moving: bool = False) -> None:
        """With ``moving`` a server that is paused or stops refuses the connection.

        Raises RemoteError when the server refuses, ConnectionLostError when it does not answer."""
        existing = self._key.session_id
        try:
            if existing is not None:
                self._numbered = True
                await self._return(existing, deadline)
                self._note()
                return
            wanted = [*self._wanted, *([] if self.target.resume is False else ["resume"])]
            query = {"openenv": ",".join(wanted), **({"moving": "1"} if moving else {})}
            self.socket = await self._connect(query, deadline)
            if self.target.resume is not False:
                await self._begin(deadline)
        except (SocketClosedError, HandshakeRefusedError, TimeoutError) as error:
            await self._drop()
            raise not_opened(self.target.url, error) from error
        except BaseException:
            await self._drop()
            raise

    async def _connect(self, query: Mapping[str, str], deadline: float) -> Socket:
        target = self.target
        limit = min(deadline, time.monotonic() + target.connect_timeout)
        opened = await target.io.connect(target.socket_url(query), add_header({**target.headers, **self._route}), limit)
        route = opened.headers.get("openenv-session")
        if route is not None:
            self._route = {"openenv-session": route}
        return opened

    async def _begin(self, deadline: float) -> None:
        token_hash = hashlib.sha256(self._key.token.encode()).hexdigest()
        answer = await self._ask({"type": "resume", "data": {"token_hash": token_hash}}, deadline)
        data = answer["data"]
        if answer.get("type") == "resumed":
            with reading:
                self._key.session_id = str(data["session_id"])
            self.target.resume = self._numbered = True
            self._note()
            self._confirm(answer)
        elif data.get("code") in ("UNKNOWN_TYPE", "VALIDATION_ERROR") and self.target.resume is None:
            self.target.resume = False
        elif data.get("code") == "UNKNOWN_TYPE":
            raise RemoteError("UNKNOWN_TYPE", "The server cannot resume sessions: leave out resume=True.")
        else:
            raise to_error(data)

    async def _ask(self, message: JsonObject, deadline: float) -> JsonObject:
        assert self.socket is not None
        # A server that refuses sends an error, and closes the connection before it has read anything.
        with contextlib.suppress(SocketClosedError):
            await self.socket.send(json.dumps(message), deadline)
        return parse(await self.socket.receive(min(deadline, time.monotonic() + self.target.connect_timeout)))

    @reading
    def _confirm(self, answer: JsonObject) -> None:
        window = answer["data"].get("window_s")
        self._window = float("inf") if window is None else float(window)
        self._read_extensions(answer)

    def _read_extensions(self, answer: JsonObject) -> None:
        confirmed = answer.get("openenv")
        for member, name, kind in CONFIRMED:
            if isinstance(confirmed, dict) and isinstance(confirmed.get(member), kind):
                setattr(self, name, confirmed[member])

    async def submit(self, message: JsonObject, deadline: float) -> None:
        """Writes a request. A lost connection is noticed by ``collect``, and so is the deadline."""
        if self._pending is not None and self._cancelled:
            await self.collect(deadline)
        elif self._pending is not None:
            # The answer of the earlier request would be matched to this one.
            self.interrupt()
        if self.ended is not None:
            raise self.ended
        assert self.socket is not None
        self.recovered = False
        if self._numbered:
            message = {**message, "seq": self._seq + 1, "ack": self._ack}
        text = encode(with_context(message))
        self._unasked = not self._numbered and self.socket.has_message
        self._seq += self._numbered
        self._pending = text
        try:
            with contextlib.suppress(SocketClosedError, TimeoutError):
                await self.socket.send(text, deadline)
        except asyncio.CancelledError as error:
            self.stop(error)
            raise

    async def collect(self, deadline: float) -> JsonObject:
        """The answer to the request. Raises ConnectionLostError when there is none: the session is lost."""
        losses = 0
        recovering = False
        try:
            while True:
                assert self.socket is not None
                try:
                    answer = parse(await self.socket.receive(deadline))
                    if self._answers(answer):
                        break
                    left(deadline)
                except SocketClosedError as error:
                    if self.ended is not None:
                        raise self.ended from error
                    if not self._numbered:
                        raise session_lost(str(error)) from error
                    recovering = True
                    await self._recover(error, losses, deadline)
                    recovering = False
                    losses += 1
                    if self._cancelled:
                        self._send_cancel()
        except TimeoutError as error:
            raise await self.expire() from error
        except ConnectionLostError as error:
            await self.fail(error)
            raise
        except BaseException as error:
            self.stop(error, recovering)
            raise
        self._pending = None
        self._cancelled = False
        if self._unasked:
            self.interrupt()
        if self._numbered:
            self._ack = self._seq
        self._read_extensions(answer)
        return answer

    def _answers(self, answer: JsonObject) -> bool:
        """Whether a frame answers the request; false for a repeated answer to an earlier one."""
        is_error, seq = answer.get("type") == "error", answer.get("seq")
        if not self._numbered:
            if self._unasked and not is_error:
                raise protocol_error("it sent a frame that was not asked for")
            return True
        if seq is None and is_error:
            # A request that the server could not read has used no number.
            self._seq -= 1
            return True
        if not isinstance(seq, int) or seq > self._seq:
            raise protocol_error(f"the number of an answer is {seq!r}, not {self._seq}")
        return seq == self._seq

    async def request(self, message: JsonObject, deadline: float) -> JsonObject:
        await self.submit(message, deadline)
        return await self.collect(deadline)

    def stop(self, error: BaseException, recovering: bool = False) -> None:
        """The caller does not wait any more. A cancelled task cancels its request, and the session continues. An
        interrupt ends the session, and so does a server that cannot cancel."""
        if not isinstance(error, asyncio.CancelledError):
            self.interrupt()
        elif "cancel" not in self.extensions:
            self.interrupt("a call was cancelled, and the server cannot cancel it")
        elif self._pending is not None:
            self._cancelled = True
            self._send_cancel(recovering)

    def _send_cancel(self, recovering: bool = False) -> None:
        assert isinstance(self.socket, AsyncSocket)
        if recovering:
            # Its first answer has not been read.
            return self.socket.abort()
        data = {"data": {"seq": self._seq}} if self._numbered else {}
        with contextlib.suppress(SocketClosedError):
            self.socket.push(json.dumps({"type": "cancel", **data}))

    def interrupt(self, reason: str = "a call was interrupted") -> None:
        """Ends a session with a request that has no answer yet: a late answer would be matched to a later request."""
        self.ended = self.ended or session_lost(reason)
        if self.socket is not None:
            self.socket.abort()

    async def expire(self) -> OpenEnvError:
        lost = ConnectionLostError("CLIENT_TIMEOUT", "The server did not answer in time; the session was closed.")
        await self.fail(lost)
        return lost

    async def fork(self, request: JsonObject, deadline: float) -> list[Key]:
        session_id = self._key.session_id
        if session_id is None:
            raise RemoteError("NOT_RESTORABLE", "Only a session of a server that can resume sessions can be copied.")
        path, proof = f"/sessions/{quote(session_id, safe='')}/fork", {"openenv-session-token": self._key.token}
        answer = await self.target.fetch(path, request, deadline, proof)
        with reading:
            keys = [Key(str(copy["session_id"]), Secret(copy["token"])) for copy in answer["sessions"]]
        if len(keys) != request["count"]:
            raise protocol_error(f"{len(keys)} copies were opened, not {request['count']}")
        return keys

    async def _recover(self, cause: SocketClosedError, losses: int, deadline: float) -> None:
        """Connects again, proves the token and repeats the request."""
        session_id = self._key.session_id
        if session_id is None or cause.code in FINAL_CODES:
            raise session_lost(str(cause))
        since = time.monotonic()
        attempt = 0
        reason: Exception = cause
        await self._drop()
        while True:
            if self.ended is not None:
                await self._drop()
                raise self.ended
            # The first try after an answered request is made at once.
            if attempt + losses > 0:
                self.target.log_wait(reason)
                limit = min(FIRST_DELAY_S * 2 ** (attempt + losses - 1), MAX_DELAY_S)
                await self.target.io.sleep(min(limit * random.uniform(0.5, 1), max(0, deadline - time.monotonic())))
            attempt += 1
            try:
                await self._return(session_id, deadline)
                assert self.socket is not None
                if self.ended is not None:
                    continue
                if self._pending is not None:
                    await self.socket.send(self._pending, deadline)
                break
            except HandshakeRefusedError as error:
                if error.status < 500 and error.status not in BUSY:
                    raise session_lost(f"it cannot be resumed: {error}") from error
                reason = error
            except (SocketClosedError, TimeoutError) as error:
                reason = error
                await self._drop()
            if time.monotonic() >= deadline:
                raise TimeoutError
            if time.monotonic() - since > self._window:
                raise session_lost(f"the server could not be reached for {self._window:.0f} s")
        self.recovered = True
        log.info("recovered a session on %s after %.1f s: %s", self.target.url, time.monotonic() - since, cause)
        if self.on_recovered is not None:
            self.on_recovered()

    async def _return(self, session_id: str, deadline: float) -> None:
        query = {"openenv": ",".join([*self._wanted, "resume"]), "session_id": session_id}
        self.socket = await self._connect(query, deadline)
        self._key.attempt += 1
        answer = await self._ask(
            {"type": "resume", "data": {"token": self._key.token, "attempt": self._key.attempt}}, deadline
        )
        data = answer["data"]
        if answer.get("type") == "resumed" and data.get("recovered") is True:
            with reading:
                last = int(data.get("last_seq", self._ack))
            # A journal that does not wait for the disk may lose the last events.
            if last < self._ack:
                raise session_lost("the server has lost answered requests")
            self._confirm(answer)
            return
        await self.socket.close()
        if data.get("code") in LATER:
            raise SocketClosedError(None, str(data.get("message")))
        self._forget()
        raise session_lost(f"it cannot be resumed, because {data.get('reason') or data.get('message')}")

    async def fail(self, error: OpenEnvError) -> None:
        """The session is not used any more: a late answer would be matched to a later request."""
        if self.ended is None and error.code != "CLIENT_CLOSED":
            what = "the sessions of a socket to" if self._key.batch else "a session on"
            log.warning("lost %s %s: %s", what, self.target.url, error)
        self.ended = error
        key = self._forget()
        await self._drop()
        if key is None:
            return
        # The server would keep the session for its client.
        ending = Connection(self.target, key=key)
        with contextlib.suppress(OpenEnvError):
            await ending.open(time.monotonic() + END_LIMIT_S)
            await ending.close()

    def _note(self) -> None:
        connections.add(self)
        unended[self._key] = self.target

    def _forget(self) -> Key | None:
        """The session is ended, or not there any more. Returns the key for a last connection to it."""
        unended.pop(self._key, None)
        if self._key.session_id is None:
            return None
        key = replace(self._key)
        self._key.session_id = None
        return key

    async def _drop(self) -> None:
        if self.socket is not None:
            await self.socket.close()

    async def begin_close(self) -> None:
        """Ends the session without waiting for the server, if no call is running: ``close`` waits."""
        if self.socket is None or self.socket.closed is not None or self.ended or self._pending is not None:
            return
        self.ended = client_closed()
        self._forget()
        self._close_deadline = time.monotonic() + END_LIMIT_S
        with contextlib.suppress(SocketClosedError, TimeoutError):
            await self.socket.send('{"type":"close"}', self._close_deadline)

    async def close(self) -> None:
        """Ends the session. A running call fails."""
        await self.begin_close()
        if self._close_deadline is None:
            await self.fail(self.ended or client_closed())
            return
        try:
            # Closing at once could reset the connection before the server has read the frame.
            with contextlib.suppress(SocketClosedError, TimeoutError):
                while self.socket is not None:
                    await self.socket.receive(self._close_deadline)
        finally:
            await self._drop()
