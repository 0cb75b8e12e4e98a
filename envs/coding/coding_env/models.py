# Written by `openenv client python`; a change is lost when it is run again.
"""CodingAction and what belongs to it."""

from __future__ import annotations

from typing import Literal

from openenv.core.env_server.types import Action, Observation, State
from pydantic import Field


class CodingAction(Action):
    """What an agent sends in a step."""

    code: str = Field(
        description="The program to run; variables and imports of earlier steps are still there",
    )
    language: Literal["python", "javascript"] = Field(
        default="python",
        description="Each language has an interpreter of its own",
    )


class CodingObservation(Observation):
    """What reset and step show."""

    stdout: str = Field(
        default="",
        description="What the program wrote to standard output",
    )
    stderr: str = Field(
        default="",
        description="What it wrote to standard error, with tracebacks",
    )
    exit_code: int = Field(
        default=0,
        description="0 when the program ran to its end without an error",
    )


class CodingState(State):
    """What the environment tells about an episode."""

    last_exit_code: int = Field(
        default=0,
        description="The exit code of the latest step, 0 after a reset",
    )
