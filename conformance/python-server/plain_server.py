"""An environment of the released Python package with values that show whether a server between it and a client changes them."""

from openenv.core.env_server import Action, Environment, Observation, State, create_fastapi_app
from server import serve


class PlainAction(Action):
    amount: float
    note: str = ""
    big: int = 0


class PlainObservation(Observation):
    total: float = 0.0
    note: str = ""
    big: int = 0


class PlainEnvironment(Environment[PlainAction, PlainObservation, State]):
    SUPPORTS_CONCURRENT_SESSIONS = True

    def __init__(self) -> None:
        super().__init__()
        self._total = 0.0
        self._state = State(episode_id="none")

    def reset(self, seed=None, episode_id=None, **kwargs) -> PlainObservation:
        self._total = float(seed or 0)
        self._state = State(episode_id=episode_id or "e")
        return PlainObservation(total=self._total, reward=None)

    def step(self, action: PlainAction) -> PlainObservation:
        if action.amount == 13:
            raise ValueError("unlucky amount")
        self._total += action.amount
        self._state.step_count += 1
        done = self._total >= 100
        return PlainObservation(total=self._total, note=action.note, big=action.big, reward=action.amount, done=done)

    @property
    def state(self) -> State:
        return self._state


def create_app(capacity: int):
    return create_fastapi_app(
        PlainEnvironment, PlainAction, PlainObservation, env_name="Plain", max_concurrent_envs=capacity
    )


if __name__ == "__main__":
    serve(create_app)
