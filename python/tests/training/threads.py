"""What a worker process of AsyncGRPOTrainer does with the class."""

from __future__ import annotations

import os
import signal
from concurrent.futures import ThreadPoolExecutor
from typing import Any


def play_in_threads(kind: type, count: int, server: int) -> tuple[list[Any], list[Any]]:
    """The rewards of ``count`` environments after a step in threads, and after another without a server."""
    environments = [kind() for _ in range(count)]

    def play(index: int) -> Any:
        environments[index].reset(seed=index)
        environments[index].step(message="a" * index)
        return environments[index].get_reward()

    def again(index: int) -> Any:
        environments[index].step(message="a")
        return environments[index].get_reward()

    with ThreadPoolExecutor(count) as pool:
        first = list(pool.map(play, range(count)))
        os.killpg(server, signal.SIGKILL)
        return first, list(pool.map(again, range(count)))
