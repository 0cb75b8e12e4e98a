from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

from conftest import Proxy, Server


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
