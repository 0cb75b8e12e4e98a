# Written by `openenv client python`; a change is lost when it is run again.
"""EchoAction and what belongs to it."""

from __future__ import annotations

from openenv.core.env_server.types import Action, Observation, State
from pydantic import BaseModel, ConfigDict, Field


class EchoEchoWithLengthResult(BaseModel):
    """EchoEchoWithLengthResult."""

    message: str
    length: int


class EchoEchoMessageArguments(BaseModel):
    """EchoEchoMessageArguments."""

    model_config = ConfigDict(extra="forbid")

    message: str = Field(description="The text to say back")


class EchoEchoWithLengthArguments(BaseModel):
    """EchoEchoWithLengthArguments."""

    model_config = ConfigDict(extra="forbid")

    message: str = Field(description="The text to say back")


class EchoAction(Action):
    """What an agent sends in a step."""

    message: str = Field(description="The text to say back")


class EchoObservation(Observation):
    """What reset and step show."""

    echoed_message: str = Field(default="", description="The text of the action")
    message_length: int = Field(default=0, ge=0, description="Its length in characters")


class EchoState(State):
    """What the environment tells about an episode."""
