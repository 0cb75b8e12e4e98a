"""Client for agentic RL environments that speak OpenEnv."""

from .env import AsyncEnv, Env, connect, connect_async
from .errors import ConnectionLostError, OpenEnvError, RemoteError
from .results import StepResult, Tool, ToolResult, VectorResult
from .vector import AsyncVectorEnv, VectorEnv

__all__ = [
    "AsyncEnv",
    "AsyncVectorEnv",
    "ConnectionLostError",
    "Env",
    "OpenEnvError",
    "RemoteError",
    "StepResult",
    "Tool",
    "ToolResult",
    "VectorEnv",
    "VectorResult",
    "connect",
    "connect_async",
]
