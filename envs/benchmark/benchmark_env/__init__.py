# Written by `openenv client python`; a change is lost when it is run again.
"""Benchmark Env, an OpenEnv environment."""

from .client import BenchmarkEnv, RemoteError
from .models import BenchmarkAction, BenchmarkObservation, BenchmarkState

__all__ = [
    "BenchmarkAction",
    "BenchmarkEnv",
    "BenchmarkObservation",
    "BenchmarkState",
    "RemoteError",
]
