"""A counter served by the released Python package, for tests with a client of another implementation.

Listens on a free port of 127.0.0.1 and prints its URL once it accepts requests.
Usage: python server.py <capacity>
"""

import gc
import socket
import sys
import time
from datetime import datetime, timezone

import uvicorn
from openenv.core.env_server import Action, Environment, HTTPEnvServer, Observation, State, create_fastapi_app
from pydantic import Field

UNLUCKY = 13
TRUNCATING = 99


class CounterAction(Action):
    """Add an amount to the counter."""

    amount: int = Field(ge=-100, le=100, description="How much to add")
    wait_seconds: float = Field(default=0.0, ge=0)


class CounterObservation(Observation):
    """The counter value."""

    count: int = Field(default=0, description="Current count")
    seen_at: datetime
    ratio: float = 0.0


class CounterState(State):
    """Counter state."""

    total: int = 0


class CounterEnvironment(Environment[CounterAction, CounterObservation, CounterState]):
    SUPPORTS_CONCURRENT_SESSIONS = True

    def __init__(self) -> None:
        super().__init__()
        self._count = 0
        self._state = CounterState()

    def reset(self, seed=None, episode_id=None, start: int = 0, split=None, index=None) -> CounterObservation:
        self._count = start
        self._state = CounterState(episode_id=episode_id)
        given = {"seed": seed, "split": split, "index": index}
        return self._observe(metadata={key: value for key, value in given.items() if value is not None})

    def step(self, action: CounterAction) -> CounterObservation:
        if action.amount == UNLUCKY:
            raise ValueError("unlucky amount")
        time.sleep(action.wait_seconds)
        self._count += action.amount
        self._state.step_count += 1
        self._state.total += abs(action.amount)
        truncated = action.amount == TRUNCATING
        metadata = {**action.metadata, **({"truncated": True} if truncated else {})}
        done = truncated or self._count >= 10
        return self._observe(reward=float(action.amount), done=done, metadata=metadata)

    @property
    def state(self) -> CounterState:
        return self._state

    def list_splits(self):
        return ["train", "test", {"name": "hard", "type": "test", "size": 2}]

    def num_tasks(self, split: str) -> int:
        return 3

    def list_tasks(self, split: str):
        return [self.get_task(split, index) for index in range(3)]

    def get_task(self, split: str, index: int):
        if not 0 <= index < 3:
            raise IndexError(index)
        return {"id": f"{split}-{index}"}

    def _observe(self, **fields) -> CounterObservation:
        ratio = float("nan") if self._count < 0 else self._count / 10
        return CounterObservation(count=self._count, ratio=ratio, seen_at=datetime.now(timezone.utc), **fields)


class AnnouncingServer(uvicorn.Server):
    async def startup(self, sockets=None) -> None:
        await super().startup(sockets=sockets)
        print(f"http://127.0.0.1:{sockets[0].getsockname()[1]}", flush=True)


def serve(create_app) -> None:
    """Serves the result of `create_app(capacity)`, and the number of open sessions at /active-sessions."""
    app = create_app(int(sys.argv[1]))
    # The application has no reference to the object with its sessions.
    [server] = [found for found in gc.get_objects() if isinstance(found, HTTPEnvServer)]
    app.add_api_route("/active-sessions", lambda: server.active_sessions, include_in_schema=False)
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    config = uvicorn.Config(app, log_level="warning")
    AnnouncingServer(config).run(sockets=[listener])


def create_app(capacity: int):
    return create_fastapi_app(
        CounterEnvironment,
        CounterAction,
        CounterObservation,
        env_name="Counter",
        max_concurrent_envs=capacity,
        state_cls=CounterState,
    )


if __name__ == "__main__":
    serve(create_app)
