"""Client for agentic RL environments that speak OpenEnv."""

from .env import AsyncEnv, connect_async
from .errors import ConnectionLostError, OpenEnvError, RemoteError
from .results import StepResult, Tool, ToolResult, VectorResult
from .sync import Env, VectorEnv, connect
from .vector import AsyncVectorEnv

__version__ = "0.1.0"
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
    "__version__",
    "connect",
    "connect_async",
]
