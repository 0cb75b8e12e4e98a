"""A server, and what is sent to it."""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode, urlsplit, urlunsplit

from ._sockets import IO, HandshakeRefusedError
from .errors import BUSY, ConnectionLostError, OpenEnvError, RemoteError, Secret, log, printable, reading

LOG_WAIT_S = 60.0
"""How often a client that waits for a server logs it, seconds."""


@dataclass(eq=False)
class Key:
    """What opens a resumable session, or the sessions of a batch socket."""

    session_id: str | None = None
    token: str = field(default_factory=lambda: Secret(secrets.token_urlsafe(24)), repr=False)
    batch: bool = False
    attempt: int = 0


@dataclass
class Target:
    """A server, and what all connections to it share."""

    io: IO
    url: str
    headers: Mapping[str, str] = field(repr=False)
    resume: bool | None
    """None until a server has shown whether it can resume sessions."""
    connect_timeout: float
    digest: bool = False
    has_batch: bool = True
    load: int = 0
    """The number of sessions that this client has there."""
    looked_at: float = float("-inf")
    """When this client last looked for the servers behind the address, by ``time.monotonic()``."""
    connections_recovered: int = 0
    sessions_recovered: int = 0
    _logged_at: float = float("-inf")

    def socket_url(self, query: Mapping[str, str]) -> str:
        parts = urlsplit(self.url)
        scheme = "wss" if parts.scheme in ("https", "wss") else "ws"
        path = parts.path.rstrip("/") + "/ws"
        return urlunsplit((scheme, parts.netloc, path, urlencode(query, safe=","), ""))

    async def fetch(self, path: str, body: object, deadline: float, headers: Mapping[str, str] | None = None) -> Any:
        """The JSON at a path; without a body of a GET request."""
        sent = None if body is None else encode(body).encode()
        with reading:
            try:
                status, answer = await self.io.post(
                    self.url + path, {**self.headers, **(headers or {})}, sent, deadline
                )
            except TimeoutError as error:
                raise ConnectionLostError("CLIENT_TIMEOUT", f"{self.url}{path} did not answer in time.") from error
            except OSError as error:
                raise ConnectionLostError("CONNECTION_FAILED", f"No answer from {self.url}{path}: {error}") from error
            if status == 200:
                return json.loads(answer)
        raise read_refusal(status, answer)

    def log_wait(self, reason: object) -> None:
        """Logs that a client waits for the server, once a minute for all its connections."""
        if time.monotonic() - self._logged_at >= LOG_WAIT_S:
            self._logged_at = time.monotonic()
            log.warning("waiting for %s: %s", self.url, printable(str(reason)))


@reading
def read_refusal(status: int, body: bytes) -> RemoteError:
    """The error of an HTTP answer."""
    try:
        detail = json.loads(body)
    except (ValueError, RecursionError):
        detail = {"detail": body[:300].decode(errors="replace")}
    detail = detail if isinstance(detail, dict) else {}
    code = detail.get("code", "REQUEST_FAILED")
    message = detail.get("message") or detail.get("detail") or f"status {status}"
    return RemoteError(str(code), str(message), {**detail, "status": status})


def plain(value: Any) -> Any:
    """A scalar or array of numpy, or of a library like it, as plain Python."""
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"a value of type {type(value).__name__} has no JSON form")


_ENCODER = json.JSONEncoder(separators=(",", ":"), allow_nan=False, default=plain)


def encode(message: object) -> str:
    try:
        return _ENCODER.encode(message)
    except (TypeError, ValueError, RecursionError) as error:
        raise RemoteError("VALIDATION_ERROR", f"The request is not valid JSON: {error}") from error


def not_opened(url: str, error: Exception) -> OpenEnvError:
    """Why a socket could not be opened."""
    if isinstance(error, HandshakeRefusedError):
        if error.status < 500 and error.status not in BUSY:
            return RemoteError("CONNECTION_FAILED", f"{url} refused the connection: {error}", {"status": error.status})
        return ConnectionLostError("CONNECTION_FAILED", f"{url} cannot accept a connection now: {error}")
    if isinstance(error, TimeoutError):
        return ConnectionLostError("CLIENT_TIMEOUT", f"{url} did not answer in time.")
    return ConnectionLostError("CONNECTION_FAILED", f"No connection to {url}: {error}")
