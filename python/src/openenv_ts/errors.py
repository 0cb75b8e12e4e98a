"""Errors of this package."""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import wraps
from types import TracebackType
from typing import Any, Literal, TypeVar, cast

F = TypeVar("F", bound=Callable[..., Any])
Fault = Literal["infrastructure", "environment", "client"]
MAX_TEXT = 2000
log = logging.getLogger("openenv_ts")

CLIENT_FAULTS = (
    "INVALID_JSON UNKNOWN_TYPE VALIDATION_ERROR NO_EPISODE EPISODE_DONE SESSION_IN_USE SEQUENCE_CONFLICT "
    "SEQUENCE_GAP SEQUENCE_OVERFLOW ANSWER_EXPIRED NOT_RESTORABLE EVENT_NOT_KEPT TASKS_NOT_SUPPORTED UNAUTHORIZED "
    "FORBIDDEN CANCELLED CLIENT_CLOSED INVALID_CONFIG"
)
ENVIRONMENT_FAULTS = (
    "EXECUTION_ERROR TIMEOUT ISOLATE_LOST FACTORY_ERROR STEP_CRASHED SNAPSHOT_FAILED RESTORE_FAILED ENV_FAILED "
    "TOOL_FAILED INVALID_TOOL RUBRIC_FAILED"
)
"""Error codes by their default fault; the others are of the infrastructure."""
BUSY = (408, 429)
"""HTTP statuses below 500 with which a server says that it cannot answer now."""


class OpenEnvError(Exception):
    """Base class of all errors of this package. ``code`` is one of the documented error codes. An error that is neither
    a RemoteError nor a ConnectionLostError is a mistake in the program."""

    outcome: Literal["env_error", "lost"] = "lost"

    def __init__(self, code: str, message: str) -> None:
        # Pickle and Ray make an exception again from its arguments.
        super().__init__(code, message)
        self.code = printable(code)
        self.message = printable(message)
        self.details: dict[str, Any] = {}

    @property
    def fault(self) -> Fault:
        """Who caused the error: mask ``infrastructure`` and ``environment``; ``client`` is a mistake in the request."""
        sent, status = self.details.get("fault"), self.details.get("status")
        if sent in ("infrastructure", "environment", "client"):
            return cast("Fault", sent)
        if self.code in CLIENT_FAULTS.split() or (isinstance(status, int) and status < 500 and status not in BUSY):
            return "client"
        return "environment" if self.code in ENVIRONMENT_FAULTS.split() else "infrastructure"

    def __str__(self) -> str:
        return f"{self.code}: {self.message}"

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self)!r})"


class RemoteError(OpenEnvError):
    """The server answered with an error. Unless the code says otherwise, the session continues."""

    outcome = "env_error"

    def __init__(self, code: str, message: str, details: dict[str, Any] | None = None) -> None:
        super().__init__(str((details or {}).get("openenv_code", code)), message)
        self.args = (code, message, details)
        self.wire_code = code
        self.details = details or {}


class ConnectionLostError(OpenEnvError):
    """There was no answer, and the episode is lost: it is not a reward of 0. The next ``reset`` opens a new session."""


ENDED = frozenset({"TIMEOUT", "ISOLATE_LOST", "SESSION_ERROR", "CAPACITY_REACHED", "FACTORY_ERROR"})
"""Error codes after which the server has no session."""


def session_lost(reason: str) -> ConnectionLostError:
    return ConnectionLostError("SESSION_LOST", f"The session was lost: {reason}. Call reset to start a new episode.")


def no_episode() -> ConnectionLostError:
    return ConnectionLostError("SESSION_LOST", "The session has no episode. Call reset to start one.")


def client_closed() -> ConnectionLostError:
    return ConnectionLostError("CLIENT_CLOSED", "The client was closed.")


def protocol_error(what: str) -> ConnectionLostError:
    return ConnectionLostError("PROTOCOL_ERROR", f"The server violated the OpenEnv protocol: {what}.")


def to_error(data: dict[str, Any]) -> OpenEnvError:
    """The error of an ``error`` frame."""
    code, message = data["code"], str(data.get("message"))
    if not isinstance(code, str):
        raise TypeError("the code of an error is not a string")
    if code == "SESSION_LOST":
        return session_lost(message.rstrip("."))
    return RemoteError(code, message, {name: value for name, value in data.items() if name not in ("code", "message")})


def printable(text: str) -> str:
    """A text of a server for a terminal or a log: its control characters are escaped, and its end is cut."""
    if len(text) > MAX_TEXT:
        text = f"{text[:MAX_TEXT]}… ({len(text)} characters)"
    return text if text.isprintable() else "".join(one if one.isprintable() else ascii(one)[1:-1] for one in text)


class Secret(str):
    """A text that tracebacks with local variables do not show."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "'***'"


class _Reading:
    """Code that reads what a server sent: anything unexpected in it is a PROTOCOL_ERROR."""

    ODD = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)

    def __enter__(self) -> None:
        pass

    def __exit__(self, _kind: object, error: BaseException | None, _trace: TracebackType | None) -> None:
        if isinstance(error, self.ODD):
            raise self.odd(error) from error

    def __call__(self, read: F) -> F:
        # Each answer of each session passes here: ContextDecorator takes several times as long.
        @wraps(read)
        def inner(*args: Any, **options: Any) -> Any:
            try:
                return read(*args, **options)
            except self.ODD as error:
                raise self.odd(error) from error

        return cast(F, inner)

    @staticmethod
    def odd(error: BaseException) -> OpenEnvError:
        return protocol_error(f"an answer cannot be read ({type(error).__name__}: {error})")


reading = _Reading()


def is_asked_to_move(answer: object) -> bool:
    return isinstance(answer, RemoteError) and answer.wire_code == "RESET_ELSEWHERE"
