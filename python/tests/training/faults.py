from __future__ import annotations

import re
import socket
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

from conftest import Proxy, Server, shut


class CallProxy(Proxy):
    """For ORS. Cuts the connection of a call when its client has read the id of the call, with which it comes back:
    without the id the SDK makes the call again. The SDK tries three times within 3 s, so a restarting server is waited
    for, as a balancer does, and a few answers pass between two cuts."""

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self._starting: set[socket.socket] = set()
        self._due: set[socket.socket] = set()
        self._lock = threading.Lock()
        self.cuts = self.cut_calls = self._answers = 0

    def _connect(self) -> socket.socket:
        deadline = time.monotonic() + 30
        while True:
            try:
                return super()._connect()
            except OSError:
                if time.monotonic() > deadline:
                    raise
            time.sleep(0.05)

    def _pass(self, data: bytes, source: socket.socket, target: socket.socket, answers: bool) -> None:
        with self._lock:
            if not answers and b"/call HTTP/" in data:
                self._starting.add(source)
            found = re.search(rb"event: task_id\ndata: \S+\n\n", data) if target in self._due else None
            target.sendall(data[: found.end()] if found else data)
            self._answers += answers and data.startswith(b"HTTP/1.1")
            if answers and not data.startswith(b"HTTP/1.1 308"):
                self._starting.discard(target)
        if found:
            self.cut_calls += 1
            time.sleep(0.1)
            raise OSError("cut")

    def cut(self) -> None:
        with self._lock:
            if self._answers < 5:
                return
            self._answers = 0
            self.cuts += 1
            cut, self._open = self._open, []
            # The client's socket, and the one behind it.
            for pair in zip(cut[::2], cut[1::2], strict=True):
                if pair[0] in self._starting:
                    self._due.add(pair[0])
                    self._open += pair
                else:
                    for one in pair:
                        shut(one)


class Faults:
    """Cuts all connections again and again, and kills and restarts the server after every second step.

    ``after_step`` is a reward function, which is called after each step."""

    def __init__(self, proxy: Proxy, running: list[Server], start: Callable[[int], Server]) -> None:
        self.cuts = self.kills = self._steps = 0
        self._proxy, self._running, self._start = proxy, running, start
        self._kill, self._stop = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._inject)

    def after_step(self, prompts: Sequence[Any], **_: Any) -> list[float]:
        self._steps += 1
        if self._steps % 2 == 0:
            self._kill.set()
        return [0.0 for _ in prompts]

    def _inject(self) -> None:
        while not self._stop.is_set():
            if self._kill.wait(0.2):
                # While the next rollouts are played.
                time.sleep(0.1)
                self._kill.clear()
                port = self._running[-1].port
                self._running[-1].kill()
                self.kills += 1
                self._running.append(self._start(port))
            self._proxy.cut()
            self.cuts += 1

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()
