# Written by `openenv client python`; a change is lost when it is run again.
"""WordleAction and what belongs to it."""

from __future__ import annotations

from typing import Any

from openenv.core.env_server.types import Action, Observation, State
from pydantic import BaseModel, Field


class WordleObservationMessagesItem(BaseModel):
    """WordleObservationMessagesItem."""

    sender_id: int
    content: str
    category: str


class WordleAction(Action):
    """What an agent sends in a step."""

    message: str = Field(
        max_length=65536,
        description="The guess in square brackets, such as [crane]",
    )


class WordleObservation(Observation):
    """What reset and step show."""

    prompt: str = Field(description="The rules of the game")
    messages: list[WordleObservationMessagesItem] | None = Field(
        default=None,
        description="One message: all that was said in this episode, to which every step appends",
    )
    current_player_id: int = Field(default=0, description="Whose turn it is")
    legal_players: list[int] | None = Field(
        default=None,
        description="The players of the game",
    )
    info: dict[str, Any] | None = Field(
        default=None,
        description="`reward_signals` of the step; `reason` when the game is over",
    )


class WordleState(State):
    """What the environment tells about an episode."""

    env_id: str = Field(description="The game")
    num_players: int
    max_turns: int | None = Field(
        default=None,
        description="How many guesses there are",
    )
    turn: int = Field(
        default=0,
        description="Valid moves so far, and the one that lost the game",
    )
    last_reward: float = 0
    last_info: dict[str, Any] | None = None
    raw_state: dict[str, Any] | None = Field(
        default=None,
        description="The game from inside; the secret word once the game is over",
    )
