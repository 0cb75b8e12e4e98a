"""The class of for_trl, used as TRL does: a probe instance, methods of the class as tools, resets. Without torch."""

from __future__ import annotations

import asyncio
import inspect
import json
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from typing import Any, Literal, Optional

import pytest
from conftest import Server

from openenv_ts import RemoteError
from openenv_ts.trl import TrlEnvironment, for_trl

NAMES = ["call_class", "call_done", "call_lost", "fail", "my_tool", "take"]


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    started = Server("tools.mjs")
    yield started
    started.kill()


def metric(url: str, name: str) -> int:
    with urllib.request.urlopen(f"{url}/metrics") as answer:
        lines = answer.read().decode().splitlines()
    return sum(int(float(line.split()[-1])) for line in lines if line.split(" ")[0].split("{")[0] == name)


def opened(url: str) -> int:
    return metric(url, "openenv_sessions")


def read_tools(environment: Any) -> dict[str, Any]:
    """The tools that TRL finds."""
    members = inspect.getmembers(type(environment), predicate=inspect.isfunction)
    return {name: getattr(environment, name) for name, _ in members if not name.startswith("_") and name != "reset"}


def play(environment: Any, tool: str, **arguments: Any) -> str:
    """The result of a tool call as TRL gives it to the model."""
    try:
        return str(read_tools(environment)[tool](**arguments))
    except Exception as error:
        return str({"error": str(error)})


def score(spec: Any, *environments: Any) -> list[Any]:
    return [func(prompts=[], completions=[], environments=list(environments)) for func in spec.reward_funcs]


@pytest.mark.parametrize("how", ["execution_error", "timeout", "transport_error"])
def test_a_tool_that_fails_through_no_fault_of_the_model_has_no_reward(server: Server, how: str) -> None:
    with for_trl(server.url) as spec:
        failed, played = spec.environment_factory(), spec.environment_factory()
        for one in (failed, played):
            one.reset(seed=1)
            play(one, "take", count=1)
        assert play(failed, "fail", how=how) == "The environment is not available."
        assert isinstance(failed.lost, RemoteError)
        assert failed.lost.code == "TOOL_FAILED"
        assert score(spec, failed, played) == [[None, 0.0]]
        assert spec.lost_rollouts == 1
        # The next rollout of the same instance is not lost.
        failed.reset(seed=2)
        assert play(failed, "my_tool") == "my-tool"
        assert score(spec, failed) == [[0.0]]


@pytest.mark.parametrize("how", ["invalid_args", "tool_not_found"])
def test_the_model_reads_what_it_did_wrong(server: Server, how: str) -> None:
    with for_trl(server.url) as spec:
        environment = spec.environment_factory()
        environment.reset(seed=1)
        assert "it failed" in play(environment, "fail", how=how)
        assert "count" in play(environment, "take", count=9)
        assert json.loads(play(environment, "take", count=2)) == {"count": 2, "a-b": "x"}
        assert environment.lost is None
        assert score(spec, environment) == [[0.0]]
        assert spec.lost_rollouts == 0
