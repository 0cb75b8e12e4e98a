# Written by `openenv client python`; a change is lost when it is run again.
"""Coding Env, an OpenEnv environment."""

from .client import CodingEnv, RemoteError
from .models import CodingAction, CodingObservation, CodingState

__all__ = [
    "CodingAction",
    "CodingEnv",
    "CodingObservation",
    "CodingState",
    "RemoteError",
]
