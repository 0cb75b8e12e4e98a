"""The recorded environments whose action is a union."""

from typing import Annotated, Any, Dict, List, Literal, Optional, Union

from openenv.core.env_server import Action, Environment, Observation, State
from pydantic import BaseModel, Field, RootModel


class Area(BaseModel):
    width: int
    height: int = 1


class Click(Action):
    """Clicks."""

    kind: Literal["click"]
    x: int = Field(ge=0, le=1000)
    button: Literal["left", "right"] = "left"


class HotKey(Action):
    """Presses keys."""

    kind: Literal["hot_key"]
    keys: List[str] = Field(min_length=1)
    area: Optional[Area] = None


class VariantAction(RootModel[Annotated[Union[Click, HotKey], Field(discriminator="kind")]]):
    """A click or keys."""


class TypeText(Action):
    """Types."""

    text: str


class Drag(Action):
    """Drags."""

    path: List[int]
    speed: float = 1.0


class ChoiceAction(RootModel[Union[TypeText, Drag]]):
    """A text or a path."""


class UnionObservation(Observation):
    """What was done."""

    did: Dict[str, Any] = Field(default_factory=dict)


class UnionEnv(Environment):
    def __init__(self):
        super().__init__()
        self._state = State()

    def reset(self, seed=None, episode_id=None):
        self._state = State(episode_id=episode_id)
        return UnionObservation()

    def step(self, action):
        self._state.step_count += 1
        chosen = action.root
        rewards = {Click: lambda: chosen.x, HotKey: lambda: 0.5, TypeText: lambda: len(chosen.text)}
        reward = rewards.get(type(chosen), lambda: chosen.speed)()
        return UnionObservation(did=chosen.model_dump(exclude={"metadata"}), reward=float(reward))

    @property
    def state(self):
        return self._state


def union(action, name):
    return {"env": UnionEnv, "env_name": name, "action_cls": action, "observation_cls": UnionObservation}


UNIONS = {"variants": union(VariantAction, "variants"), "choices": union(ChoiceAction, "choices")}
