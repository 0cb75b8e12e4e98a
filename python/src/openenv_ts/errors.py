"""Errors of this package."""

from __future__ import annotations

from typing import Any, Literal


class OpenEnvError(Exception):
    """Base class of all errors of this package. ``code`` is one of the documented error codes."""

    outcome: Literal["env_error", "lost"] = "lost"

    def __init__(self, code: str, message: str) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message


class RemoteError(OpenEnvError):
    """The server answered with an error. Unless the code says otherwise, the session continues."""

    outcome = "env_error"

    def __init__(self, code: str, message: str, details: dict[str, Any] | None = None) -> None:
        super().__init__(str((details or {}).get("openenv_code", code)), message)
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
