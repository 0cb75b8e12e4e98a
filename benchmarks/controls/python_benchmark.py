"""The benchmark environment on the Python package openenv: `python -m uvicorn --app-dir benchmarks/controls python_benchmark:app`.

Its methods are asynchronous, the package's best case, because a waiting step needs no thread. METHODS=plain uses the
plain methods that the package requires. MAX_CONCURRENT_ENVS is the number of sessions of one worker."""

import asyncio
import hashlib
import os
import socket
import time
import uuid

from openenv.core.env_server.http_server import create_fastapi_app
from openenv.core.env_server.interfaces import Environment
from openenv.core.env_server.types import Action, Observation, State


class BenchmarkAction(Action):
    wait_seconds: float = 0.0


class BenchmarkObservation(Observation):
    host_url: str = ""
    pid: int = 0
    session_hash: str = ""
    waited_seconds: float = 0.0
    timestamp: float = 0.0


class Benchmark(Environment):
    SUPPORTS_CONCURRENT_SESSIONS = True

    def __init__(self):
        super().__init__()
        self.session_hash = hashlib.sha256(uuid.uuid4().bytes).hexdigest()[:16]

    def observe(self, waited, reward):
        return BenchmarkObservation(
            host_url=socket.gethostname(),
            pid=os.getpid(),
            session_hash=self.session_hash,
            waited_seconds=waited,
            timestamp=time.time(),
            reward=reward,
        )

    def reset(self, seed=None, episode_id=None):
        return self.observe(0.0, 0.0)

    def step(self, action, timeout_s=None):
        time.sleep(action.wait_seconds)
        return self.observe(action.wait_seconds, 1 / (1 + action.wait_seconds))

    @property
    def state(self):
        return State()


class AsyncBenchmark(Benchmark):
    async def reset_async(self, seed=None, episode_id=None):
        return self.reset()

    async def step_async(self, action, timeout_s=None):
        await asyncio.sleep(action.wait_seconds)
        return self.observe(action.wait_seconds, 1 / (1 + action.wait_seconds))


capacity = int(os.environ.get("MAX_CONCURRENT_ENVS", "20000"))
environment = Benchmark if os.environ.get("METHODS") == "plain" else AsyncBenchmark
app = create_fastapi_app(environment, BenchmarkAction, BenchmarkObservation, max_concurrent_envs=capacity)
