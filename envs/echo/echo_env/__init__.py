# Written by `openenv client python`; a change is lost when it is run again.
"""Echo Env, an OpenEnv environment."""

from .client import EchoEnv, SyncEchoEnv, RemoteError
from .models import (
    EchoAction,
    EchoEchoMessageArguments,
    EchoEchoWithLengthArguments,
    EchoEchoWithLengthResult,
    EchoObservation,
    EchoState,
)
from .tools import EchoTools, SyncEchoTools, ToolCallError, ToolCallResult

__all__ = [
    "EchoAction",
    "EchoEchoMessageArguments",
    "EchoEchoWithLengthArguments",
    "EchoEchoWithLengthResult",
    "EchoEnv",
    "EchoObservation",
    "EchoState",
    "EchoTools",
    "SyncEchoEnv",
    "SyncEchoTools",
    "ToolCallError",
    "ToolCallResult",
    "RemoteError",
]
