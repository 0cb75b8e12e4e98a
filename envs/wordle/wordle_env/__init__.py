# Written by `openenv client python`; a change is lost when it is run again.
"""Wordle Env, an OpenEnv environment."""

from .client import WordleEnv, RemoteError
from .models import (
    WordleAction,
    WordleObservation,
    WordleObservationMessagesItem,
    WordleState,
)

__all__ = [
    "WordleAction",
    "WordleEnv",
    "WordleObservation",
    "WordleObservationMessagesItem",
    "WordleState",
    "RemoteError",
]
