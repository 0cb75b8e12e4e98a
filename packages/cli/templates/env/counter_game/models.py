# Written by `openenv client python`; a change is lost when it is run again.
"""CounterGameAction and what belongs to it."""

from __future__ import annotations

from openenv.core.env_server.types import Action, Observation, State
from pydantic import Field


class CounterGameAction(Action):
    """What an agent sends in a step."""

    amount: int = Field(ge=1, le=5, description="How much to add to the count")


class CounterGameObservation(Observation):
    """What reset and step show."""

    count: int = Field(description="The count so far")
    target: int = Field(description="What the count should become")
    message: str = Field(default="", description="What happened, in words")


class CounterGameState(State):
    """What the environment tells about an episode."""

    history: list[int] = Field(
        description="The amounts of this episode, the oldest first",
    )
