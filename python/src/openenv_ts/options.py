"""The options of clients."""

from __future__ import annotations

import os
import ssl
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, TypedDict
from urllib.parse import urlsplit

from ._server import Target
from ._sockets import IO
from .errors import OpenEnvError, Secret

TIMEOUT_S = 60.0
Autoreset = Literal["disabled", "next-step", "same-step"]
ResetOptions = Mapping[str, Any]
Values = Sequence[Mapping[str, Any]]
SomeValues = Sequence[Mapping[str, Any] | None]


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


class PoolOptions(ConnectOptions, total=False):
    reset_with: Callable[[int], ResetOptions] | None
    """Returns the options of a reset by autoreset, given the index of the session."""
    own_sockets: bool
    """A socket for each session."""
    concurrency: int
    """How many sessions are called or opened at the same time: 1,024."""


class VectorOptions(PoolOptions, total=False):
    autoreset: Autoreset
    """What happens when an episode has ended or was lost: nothing (``disabled``), the next step starts an episode and
    its action is not used (``next-step``), or the step that ended it does (``same-step``)."""


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
    for url in urls if isinstance(urls, Iterable) and not isinstance(urls, str) else [urls]:
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
