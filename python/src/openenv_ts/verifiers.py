"""Evaluate and train with verifiers on any environment, without code for it: the taskset ``openenv-ts-verifiers``."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, ClassVar

import httpx
import verifiers.v1 as vf
from verifiers.v1.dialects.chat import message_to_wire

from ._agents import (
    Episode,
    Toolbox,
    ToolFailedError,
    begin,
    read_prompt,
    read_starts,
    read_toolbox,
    start,
    to_function,
    to_text,
)
from ._sockets import run
from .env import AsyncEnv, connect_async
from .sync import connect


class OpenEnvConfig(vf.TasksetConfig):
    """``--env.taskset.*``"""

    url: str = ""
    """The server. Its client token is read from OPENENV_TOKEN."""
    split: str = "train"
    """The split of the tasks."""
    seeds: int = 1000
    """How many seeds there are, in an environment without tasks."""
    prompt: str | None = None
    """The text before the first observation, by default the description of the environment."""


class OpenEnvHarnessConfig(vf.HarnessConfig):
    """``--env.agent.harness.*``"""

    timeout: float = 60.0
    """Limit of a call of the environment, with all attempts to connect again, seconds."""
    outage: float = 600.0
    """How long a rollout waits to begin when the server is away or full, seconds."""


class OpenEnvEnvConfig(vf.EnvConfig):
    """``--env.*``. The agent needs no sandbox: its tools run on the server."""

    agent: vf.AgentConfig = vf.AgentConfig(runtime=vf.SubprocessConfig())


class OpenEnvData(vf.TaskData):
    url: str
    reset: dict[str, Any]
    """The options of the reset: all rollouts of a task start in the same way."""


class OpenEnvTask(vf.Task[OpenEnvData]):
    @vf.reward
    async def episode_reward(self, trace: vf.Trace) -> float:
        """The sum of the rewards of the episode. Raises when it is lost: verifiers records an error, and no reward."""
        return sum(self._account(trace)["rewards"])

    @vf.metric
    async def episode(self, trace: vf.Trace) -> dict[str, float]:
        account = self._account(trace)
        ended = {"done": float(account["done"]), "truncated": float(account["truncated"])}
        return {"steps": float(account["steps"]), **ended, **account["components"]}

    def _account(self, trace: vf.Trace) -> dict[str, Any]:
        account: dict[str, Any] | None = trace.info.get("openenv")
        if account is None:
            raise ValueError("there is no episode: play this taskset with the harness openenv-ts-verifiers")
        if account["waiting"]:
            raise RuntimeError("the rollout ended while the environment had not answered")
        return account


class OpenEnvTaskset(vf.Taskset[OpenEnvTask, OpenEnvConfig]):
    """A task for each task of the split or, without tasks, for each seed."""

    def load(self) -> Iterator[OpenEnvTask]:
        config = self.config
        if not config.url:
            raise ValueError("the taskset has no server: set --env.taskset.url")
        with connect(config.url) as client:
            prompt = config.prompt or run(read_prompt(client._env))
            starts = run(read_starts(client._env, config.split, config.seeds))
        for options in starts:
            name = " ".join(str(value) for value in options.values())
            yield OpenEnvTask(OpenEnvData(name=name, prompt=prompt, url=config.url, reset=options), config.task)


class OpenEnvHarness(vf.Harness[OpenEnvHarnessConfig]):
    """Calls the model in this process, and plays its tool calls in one session, which is closed afterwards."""

    APPENDS_SYSTEM_PROMPT: ClassVar[bool] = True
    EXECUTES_CODE: ClassVar[bool] = False
    NEEDS_CONTAINER: ClassVar[bool] = False

    async def launch(  # noqa: PLR0917
        self,
        ctx: vf.ModelContext,
        trace: vf.Trace,
        runtime: vf.Runtime,
        endpoint: str,
        secret: str,
        mcp_urls: dict[str, str],
        data: OpenEnvData,
    ) -> vf.ProgramResult:
        async with (
            connect_async(data.url, timeout=self.config.timeout) as env,
            httpx.AsyncClient(timeout=None, headers={"authorization": f"Bearer {secret}"}) as http,
        ):
            rollout = _Rollout(env, trace)
            messages = await rollout.begin(self.resolve_prompt(data), data.reset, self.config.outage)
            request = {"model": ctx.model, "tools": rollout.tools}
            while not rollout.episode.done:
                body = {**request, "messages": messages}
                response = await http.post(f"{endpoint}/chat/completions", json=body)
                if not response.is_success:
                    # A limit of verifiers, or an error of the model that it has recorded.
                    return vf.ProgramResult(1, "", response.text)
                message = response.json()["choices"][0]["message"]
                messages.append({name: value for name, value in message.items() if value is not None})
                if not message.get("tool_calls"):
                    break
                for call in message["tool_calls"]:
                    text = await rollout.call(call["function"])
                    messages.append({"role": "tool", "tool_call_id": call["id"], "content": text})
        return vf.ProgramResult(0, "", "")


class _Rollout:
    def __init__(self, env: AsyncEnv, trace: vf.Trace) -> None:
        self.episode = Episode()
        self._env, self._trace = env, trace
        self._toolbox = Toolbox([], None)
        self._steps = 0
        self._note(waiting=True)

    @property
    def tools(self) -> list[dict[str, Any]]:
        return [to_function(tool) for tool in self._toolbox.tools]

    async def begin(self, prompt: tuple[str | None, Any], options: dict[str, Any], outage: float) -> list[Any]:
        first = await begin(self._env, options, outage)
        start(self.episode, first)
        self._toolbox = await read_toolbox(self._env)
        self._note(waiting=False)
        system, asked = prompt
        messages = [{"role": "system", "content": system}] if system else []
        if isinstance(asked, str):
            return [*messages, {"role": "user", "content": f"{asked}\n\n{to_text(first.observation)}"}]
        given = [message_to_wire(message) for message in asked or []]
        return [*messages, *given, {"role": "user", "content": to_text(first.observation)}]

    async def call(self, function: dict[str, Any]) -> str:
        """The result of a tool call, for the model. Raises when the episode is lost."""
        name = function["name"]
        if self.episode.done:
            return "The episode has ended."
        if all(tool.name != name for tool in self._toolbox.tools):
            return f'error: there is no tool "{name}"'
        try:
            arguments = json.loads(function.get("arguments") or "{}")
        except ValueError as error:
            return f"error: the arguments are not JSON: {error}"
        if not isinstance(arguments, dict):
            return "error: the arguments are not a JSON object"
        self._note(waiting=True)
        try:
            text = await self._toolbox.call(self._env, self.episode, name, arguments)
        except ToolFailedError as error:
            text = f"error: {error}"
        self._steps += 1
        self._note(waiting=False)
        return text

    def _note(self, waiting: bool) -> None:
        """What the task scores: of a rollout that verifiers stopped early, too."""
        episode = self.episode
        self._trace.info["openenv"] = {
            "rewards": list(episode.rewards),
            "components": dict(episode.components),
            "done": episode.done,
            "truncated": episode.truncated,
            "steps": self._steps,
            "waiting": waiting,
        }


class OpenEnvEnv(vf.Env[OpenEnvEnvConfig]):
    """One agent plays one task."""

    async def run(self, task: vf.Task, agents: vf.Agents) -> None:
        await agents.agent.run(task)


__all__ = ["OpenEnvEnv", "OpenEnvHarness", "OpenEnvTaskset"]
