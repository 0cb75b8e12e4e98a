# Written by `openenv client python`; a change is lost when it is run again.
"""BenchmarkAction and what belongs to it."""

from __future__ import annotations

from openenv.core.env_server.types import Action, Observation, State
from pydantic import Field


class BenchmarkAction(Action):
    """What an agent sends in a step."""

    wait_seconds: float = Field(
        default=0,
        ge=0,
        description="How long the step takes, in seconds",
    )


class BenchmarkObservation(Observation):
    """What reset and step show."""

    host_url: str = Field(default="", description="The machine the session lives on")
    pid: int = Field(default=0, description="The process the session lives in")
    session_hash: str = Field(
        default="",
        description="16 characters that name the session's environment",
    )
    waited_seconds: float = Field(
        default=0,
        description="How long the step was told to wait",
    )
    timestamp: float = Field(
        default=0,
        description="Unix time of the answer, in seconds",
    )


class BenchmarkState(State):
    """What the environment tells about an episode."""
