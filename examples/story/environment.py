"""An environment of the released Python package, as its authors write them: nothing in it knows of openenv-ts."""

import os

import uvicorn
from openenv.core.env_server import Action, Environment, Observation, State, create_fastapi_app
from pydantic import Field


class CountAction(Action):
    amount: int = Field(ge=0, le=3, description="How much to add to the count")


class CountObservation(Observation):
    count: int
    goal: int


class CountEnvironment(Environment[CountAction, CountObservation, State]):
    """Add to the count until it has reached the goal, in as few steps as possible."""

    def __init__(self) -> None:
        super().__init__()
        self._count, self._goal = 0, 0
        self._state = State()

    def reset(self, seed=None, episode_id=None, **_) -> CountObservation:
        self._count, self._goal = 0, 5 + (seed or 0) % 4
        self._state = State(episode_id=episode_id)
        return CountObservation(count=0, goal=self._goal)

    def step(self, action: CountAction, timeout_s=None, **_) -> CountObservation:
        self._count += action.amount
        self._state.step_count += 1
        reward = action.amount / self._goal - 0.1
        return CountObservation(count=self._count, goal=self._goal, reward=reward, done=self._count >= self._goal)

    @property
    def state(self) -> State:
        return self._state


app = create_fastapi_app(CountEnvironment, CountAction, CountObservation, env_name="count")

if __name__ == "__main__":
    uvicorn.run(app, host=os.environ["HOST"], port=int(os.environ["PORT"]), log_level="warning")
