"""The environment of `tiny_upstream.py`, without its orders except "sleep", served by the released Python package."""

import os
import random
import time

import uvicorn
from openenv.core.env_server import Action, Environment, Observation, State, create_fastapi_app


class EchoAction(Action):
    text: str


class EchoObservation(Observation):
    text: str = ""
    number: int = 0
    count: int = 0


class EchoEnvironment(Environment[EchoAction, EchoObservation, State]):
    def __init__(self) -> None:
        super().__init__()
        self._numbers, self._state = random.Random(0), State()

    def reset(self, seed=None, episode_id=None, **kwargs) -> EchoObservation:
        self._numbers, self._state = random.Random(seed), State(episode_id=episode_id)
        return self._observe("")

    def step(self, action: EchoAction) -> EchoObservation:
        self._state.step_count += 1
        if action.text == "sleep":
            time.sleep(0.5)
        return self._observe(action.text)

    def _observe(self, text: str) -> EchoObservation:
        count = self._state.step_count
        number = self._numbers.randrange(1_000_000)
        return EchoObservation(text=text, number=number, count=count, reward=float(count), done=count >= 100)

    @property
    def state(self) -> State:
        return self._state


app = create_fastapi_app(EchoEnvironment, EchoAction, EchoObservation, env_name="Echo", max_concurrent_envs=1)
uvicorn.run(app, host=os.environ["HOST"], port=int(os.environ["PORT"]), log_level="warning")
