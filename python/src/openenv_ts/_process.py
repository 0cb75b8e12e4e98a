"""What connects a client with its process: it is used in one, and its sessions end with it."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import os
import time
from dataclasses import replace
from multiprocessing.util import Finalize
from typing import Literal

from ._blocking import BlockingIO
from ._connection import END_LIMIT_S, Connection, connections, unended
from ._sockets import run
from .errors import OpenEnvError


class Turn(asyncio.Lock):
    """Calls of a client are made one after the other, in the process that makes the first."""

    _pid: int | None = None

    @property
    def inherited(self) -> bool:
        """Whether the client belongs to a process that this one was forked from."""
        return self._pid not in (None, os.getpid())

    def check(self) -> None:
        pid = os.getpid()
        if self.inherited:
            message = f"The client is used in process {pid}, and its sessions belong to process {self._pid}, which"
            raise OpenEnvError("CLIENT_CLOSED", f"{message} it was forked from: create a client in each process.")
        self._pid = pid
        _end_at_exit(pid)

    async def acquire(self) -> Literal[True]:
        self.check()
        return await super().acquire()


@functools.cache
def _end_at_exit(_pid: int) -> None:
    """Also for processes of ``multiprocessing``, which do not call the functions of ``atexit``."""
    Finalize(None, _end_sessions, exitpriority=0)


def _end_sessions() -> None:
    """Ends the sessions of a program that has not closed its clients."""
    deadline = time.monotonic() + END_LIMIT_S
    ours = [one for one in connections if isinstance(one.target.io, BlockingIO)]
    for connection in ours:
        with contextlib.suppress(Exception):
            run(connection.begin_close())
    for connection in ours:
        with contextlib.suppress(Exception):
            run(connection.close())
    # The event loop of the others is closed: each gets a last connection.
    for key, target in list(unended.items()):
        if time.monotonic() < deadline:
            ending = Connection(replace(target, io=BlockingIO(target.io.ssl_context)), key=key)
            with contextlib.suppress(Exception):
                run(ending.open(deadline))
                run(ending.close())


def _begin_child() -> None:
    connections.clear()
    unended.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_child)
