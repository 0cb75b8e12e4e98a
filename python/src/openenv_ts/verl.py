"""Train with verl on any environment, without code for it: an agent loop, and the files that name it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from verl.experimental.agent_loop.agent_loop import AgentLoopOutput
from verl.experimental.agent_loop.tool_agent_loop import AgentState, ToolAgentLoop
from verl.tools.function_tool import FunctionTool
from verl.tools.schemas import OpenAIFunctionToolSchema

from ._agents import (
    Episode,
    Toolbox,
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
from .errors import OpenEnvError, log
from .sync import connect

AGENT = "openenv"


class OpenEnvAgentLoop(ToolAgentLoop):
    """Plays a rollout in one session. A rollout that is lost is played again; after ``attempts`` its error is raised,
    because verl has no rollout without a reward."""

    def __init__(self, *args: Any, url: str, timeout: float, outage: float, attempts: int, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._url, self._timeout = url, timeout
        self._outage, self._attempts = outage, attempts

    async def run(self, sampling_params: dict[str, Any], priority: int = 0, **row: Any) -> AgentLoopOutput:
        attempt = 1
        while True:
            try:
                async with connect_async(self._url, timeout=self._timeout) as env:
                    return await self._play(env, sampling_params, priority, row)
            except OpenEnvError as error:
                if attempt >= self._attempts:
                    raise
                log.warning("plays a lost rollout again: %s", error)
            attempt += 1

    async def _play(
        self, env: AsyncEnv, sampling_params: dict[str, Any], priority: int, row: dict[str, Any]
    ) -> AgentLoopOutput:
        self._episode = episode = Episode()
        self._lost: OpenEnvError | None = None
        first = await begin(env, json.loads(row["extra_info"]["reset"]), self._outage)
        start(episode, first)
        toolbox = await read_toolbox(env)
        self.tools = {tool.name: self._to_tool(env, toolbox, tool.name) for tool in toolbox.tools}
        self.tool_schemas = [to_function(tool) for tool in toolbox.tools]
        [*before, asked] = row["raw_prompt"]
        prompt = [*before, {**asked, "content": f"{asked['content']}\n\n{to_text(first.observation)}"}]
        output = await super().run(sampling_params, priority, **{**row, "raw_prompt": prompt})
        output.reward_score = sum(episode.rewards)
        ended = {"done": float(episode.done), "truncated": float(episode.truncated)}
        output.extra_fields["reward_extra_info"] = {**ended, **episode.components}
        return output

    def _to_tool(self, env: AsyncEnv, toolbox: Toolbox, name: str) -> FunctionTool:
        """A tool as verl calls it. The schema is for its parsers: the model gets the whole one."""
        episode = self._episode

        async def call(**arguments: Any) -> str:
            if self._lost is not None or episode.done:
                return "The episode has ended."
            try:
                return await toolbox.call(env, episode, name, arguments)
            except OpenEnvError as error:
                self._lost = error
                raise

        [tool] = [tool for tool in toolbox.tools if tool.name == name]
        properties = tool.input_schema.get("properties") or {}
        typed = {one: {"type": "any", **schema} for one, schema in properties.items()}
        function = {"name": name, "description": tool.description}
        parameters = {"type": "object", "properties": typed, "required": tool.input_schema.get("required") or []}
        schema = {"type": "function", "function": {**function, "parameters": parameters}}
        return FunctionTool(name, call, OpenAIFunctionToolSchema.model_validate(schema), is_async=True)

    async def _handle_processing_tools_state(self, agent_data: Any) -> AgentState:
        state = await super()._handle_processing_tools_state(agent_data)
        # verl gives the model the text of every exception.
        if self._lost is not None:
            raise self._lost
        return AgentState.TERMINATED if self._episode.done else state


def for_verl(
    url: str,
    folder: str | Path,
    *,
    prompt: str | None = None,
    split: str = "train",
    rows: int = 1000,
    timeout: float = 60.0,
    outage: float = 600.0,
    attempts: int = 3,
) -> list[str]:
    """Makes an environment trainable with verl, without code for it. Writes two files to ``folder``: the rows, and what
    names the agent loop. Returns the settings of ``verl.trainer.main_ppo`` that name the files.

    There is a row for each task of the split or, without tasks, for each of ``rows`` seeds. Those of the split
    ``train`` are for training, others for validation. ``prompt`` is the text before the first observation, by default
    the description of the environment. ``timeout`` limits a call, with all attempts to connect again, and ``outage`` is
    how long a rollout waits to begin when the server is away or full, seconds. A rollout that is lost is played again,
    ``attempts`` times in all. The client token is read from OPENENV_TOKEN, here and by the workers.
    """
    with connect(url, timeout=timeout) as client:
        asked = {"role": "user", "content": prompt or run(read_prompt(client._env))}
        starts = run(read_starts(client._env, split, rows))
    folder = Path(folder).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    data, agents = folder / f"{split}.jsonl", folder / "agent_loops.yaml"
    same = {"data_source": AGENT, "agent_name": AGENT, "prompt": [asked], "reward_model": {"style": "environment"}}
    with data.open("w") as file:
        for index, options in enumerate(starts):
            row = {**same, "extra_info": {"index": index, "reset": json.dumps(options)}}
            file.write(json.dumps(row) + "\n")
    settings = {"url": url, "timeout": timeout, "outage": outage, "attempts": attempts}
    loop = {"name": AGENT, "_target_": f"{OpenEnvAgentLoop.__module__}.OpenEnvAgentLoop", **settings}
    # JSON is YAML.
    agents.write_text(json.dumps([loop]))
    name = "train_files" if split == "train" else "val_files"
    return [f"data.{name}={data}", f"actor_rollout_ref.rollout.agent.agent_loop_config_path={agents}"]
