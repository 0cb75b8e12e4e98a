"""What the trainers of language models share: tools, tasks, text, and the bookkeeping of an episode."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ._action_tools import to_action_tools
from .env import AsyncEnv
from .errors import ConnectionLostError, OpenEnvError, RemoteError, reading
from .results import JsonObject, StepResult, Tool, call_action, read_tool_result, read_tools

RETRY_S = 5.0
MAX_TASKS = 4_000_000
NO_TASKS = (404, 405, 501)
"""How servers without tasks answer."""
MODEL_TOOL_ERRORS = ("invalid_args", "tool_not_found")
"""Failed calls that are the fault of the model, as an invalid action is: it reads the error and may try again. Any
other says nothing about what the model did, so it is not a reward, not even of 0."""


class ToolFailedError(Exception):
    """The model used a tool wrongly. The trainer shows the message to the model."""


@dataclass(eq=False)
class Episode:
    """What a rollout has earned so far."""

    rewards: list[float] = field(default_factory=list)
    """The rewards of the steps that are not null."""
    components: dict[str, float] = field(default_factory=dict)
    """The sum of each named part of the reward, from an environment that sends ``rubric_scores``."""
    done: bool = False
    truncated: bool = False
    """True when a limit, such as a time limit, ended the episode."""
    result: StepResult[JsonObject] | None = None
    """The result of the last reset or step."""


def start(episode: Episode, first: StepResult[JsonObject]) -> None:
    """Records a reset. Only steps earn rewards."""
    episode.result, episode.done, episode.truncated = first, first.done, first.outcome == "truncated"


@reading
def record(episode: Episode, result: StepResult[JsonObject]) -> None:
    start(episode, result)
    if result.reward is not None:
        episode.rewards.append(float(result.reward))
    scores = result.metadata.get("rubric_scores")
    for name, score in (scores if isinstance(scores, dict) else {}).items():
        if score is not None:
            episode.components[name] = episode.components.get(name, 0.0) + float(score)


@dataclass(frozen=True)
class Toolbox:
    """The tools that a model gets: those of the environment, else those whose arguments are the action."""

    tools: list[Tool]
    #: The fields of the action that the name of each tool stands for; None for tools of the environment.
    fixed: Mapping[str, JsonObject] | None

    async def call(self, env: AsyncEnv, episode: Episode, name: str, arguments: Mapping[str, Any]) -> str:
        """Takes a step. Returns the result as text. Raises ToolFailedError when the model has to try again, and
        OpenEnvError when the episode is lost."""
        fixed = self.fixed
        action = call_action(name, dict(arguments)) if fixed is None else {**arguments, **fixed.get(name, {})}
        try:
            result = await env.step(action)
        except RemoteError as error:
            if error.code == "VALIDATION_ERROR":
                raise ToolFailedError(error.message) from error
            raise
        record(episode, result)
        if self.fixed is not None:
            return to_text(result.observation)
        called = read_tool_result(name, result)
        if called.error is not None:
            if called.error_type in MODEL_TOOL_ERRORS:
                raise ToolFailedError(called.error)
            raise RemoteError("TOOL_FAILED", called.error)
        return called.text


def to_function(tool: Tool) -> JsonObject:
    """A tool as models of the API of OpenAI get it."""
    function = {"name": tool.name, "description": tool.description, "parameters": tool.input_schema}
    return {"type": "function", "function": function}


async def read_toolbox(env: AsyncEnv) -> Toolbox:
    request = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
    answer = await env.post("/mcp", request)
    with reading:
        tools = [] if "error" in answer else read_tools(answer)
    if tools:
        return Toolbox(tools, fixed=None)
    answer = await env.get("/schema")
    with reading:
        actions = to_action_tools(answer["action"])
    return Toolbox([action.tool for action in actions], {action.tool.name: action.fixed for action in actions})


async def read_prompt(env: AsyncEnv) -> str:
    answer = await env.get("/metadata")
    with reading:
        return str(answer.get("description") or "Use the tools to solve the task.")


async def read_starts(env: AsyncEnv, split: str, seeds: int) -> list[dict[str, Any]]:
    """The reset options of each task of the split, or without tasks of each seed."""
    try:
        names = await env.get("/list_environments")
        with reading:
            path = f"/{names[0]}/num_tasks"
        answer = await env.post(path, {"split": split})
    except RemoteError as error:
        if error.details.get("status") not in NO_TASKS:
            raise
        return [{"seed": seed} for seed in range(seeds)]
    with reading:
        count = int(answer["num_tasks"])
        if count > MAX_TASKS:
            raise ValueError(f"{count} tasks are more than {MAX_TASKS}")
    return [{"split": split, "index": index} for index in range(count)]


async def begin(env: AsyncEnv, options: Mapping[str, Any], outage: float) -> StepResult[JsonObject]:
    """Resets, and waits for so many seconds for a server that is away or full."""
    deadline = time.monotonic() + outage
    delay = 0.1
    while True:
        try:
            return await env.reset(**options)
        except OpenEnvError as error:
            if time.monotonic() + delay > deadline or not _may_pass(error):
                raise
            env._target.log_wait(error)
        await env._target.io.sleep(delay)
        delay = min(2 * delay, RETRY_S)


@reading
def to_text(observation: Mapping[str, Any]) -> str:
    """An observation as text: its only field if that is a string, else JSON."""
    [*values] = observation.values()
    if len(values) == 1 and isinstance(values[0], str):
        return values[0]
    return json.dumps(observation)


def _may_pass(error: OpenEnvError) -> bool:
    """Whether a later reset can succeed."""
    if isinstance(error, ConnectionLostError):
        return True
    status = error.details.get("status")
    return error.code in ("CAPACITY_REACHED", "JOURNAL_UNAVAILABLE") or (isinstance(status, int) and status >= 500)
