"""Servers of the training tasks: ours and one of the released Python package."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

from conftest import COMMAND, Server

FOLDER = COMMAND.parents[3] / "conformance/python-server"


def start_ours(task: str, **options: Any) -> Server:
    return Server(FOLDER / "training-environment.mjs", TASK=task, **options)


class PythonServer:
    def __init__(self, task: str, capacity: int = 64) -> None:
        self.process = subprocess.Popen(
            [sys.executable, FOLDER / "training_server.py", str(capacity)],
            env={**os.environ, "TASK": task},
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout is not None
        self.url = self.process.stdout.readline().strip()

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()
