# Written by `openenv client python`; a change is lost when it is run again.
"""Counter Game, an OpenEnv environment."""

from .client import CounterGameEnv, RemoteError
from .models import CounterGameAction, CounterGameObservation, CounterGameState

__all__ = [
    "CounterGameAction",
    "CounterGameEnv",
    "CounterGameObservation",
    "CounterGameState",
    "RemoteError",
]
