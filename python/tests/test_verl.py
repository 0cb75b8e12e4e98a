"""The agent loop, made by hydra from the files of for_verl as verl's workers make it, with a scripted model."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import Proxy, Server, opened, wait_for
from trainers import stand_in

stand_in("verl", "torch", "ray", "tensordict", "accelerate", "transformers", "datasets")

import hydra
from omegaconf import OmegaConf
from verl.experimental.agent_loop.agent_loop import AgentLoopOutput, DictConfigWrap, ToolListWrap
from verl.workers.rollout.replica import TokenOutput

from openenv_ts import ConnectionLostError
from openenv_ts.verl import for_verl


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    started = Server(NO_TOOLS="1", RUBRIC="1", OPENENV_OPERATOR_TOKEN="operator")
    yield started
    started.kill()


class Tokenizer:
    """A token for each character."""

    def apply_chat_template(
        self, messages: list[Any], *, tools: Any = None, add_generation_prompt: bool = False, **_: Any
    ) -> list[int]:
        text = json.dumps(tools) if tools else ""
        for message in messages:
            text += f"<{message['role']}>{message['content']}"
        return [*map(ord, text + ("<assistant>" if add_generation_prompt else ""))]

    def decode(self, ids: list[int], **_: Any) -> str:
        return "".join(map(chr, ids))


class Model:
    """Writes the next text. ``before`` is called first."""

    def __init__(self, texts: list[str], before: Callable[[], None] | None = None) -> None:
        self._texts, self._before = iter(texts), before
        self.prompts: list[str] = []

    async def generate(self, prompt_ids: list[int], **_: Any) -> TokenOutput:
        if self._before:
            self._before()
        self.prompts.append(Tokenizer().decode(prompt_ids))
        ids = [*map(ord, next(self._texts))]
        return TokenOutput(token_ids=ids, log_probs=[-1.0] * len(ids))


def call(amount: Any, name: str = "step") -> str:
    return f"<tool_call>{json.dumps({'name': name, 'arguments': {'amount': amount}})}</tool_call>"


ROLLOUT = {
    "prompt_length": 4000,
    "response_length": 4000,
    "full_determinism": False,
    "multi_turn": {
        "max_user_turns": None,
        "max_assistant_turns": None,
        "max_parallel_calls": 2,
        "max_tool_response_length": 256,
        "tool_response_truncate_side": "middle",
        "format": "hermes",
    },
}


def play(folder: Path, url: str, model: Model, **options: Any) -> AgentLoopOutput:
    data, agents = (Path(setting.split("=", 1)[1]) for setting in for_verl(url, folder, rows=3, **options))
    row = json.loads(data.read_text().splitlines()[2])
    [loop] = OmegaConf.load(agents)
    assert loop.name == row["agent_name"]

    async def run() -> AgentLoopOutput:
        agent = hydra.utils.instantiate(
            config=loop,
            trainer_config=DictConfigWrap(OmegaConf.create({"actor_rollout_ref": {"rollout": ROLLOUT}})),
            server_manager=model,
            tokenizer=Tokenizer(),
            processor=None,
            hf_model_type=None,
            dataset_cls=None,
            data_config=DictConfigWrap(OmegaConf.create({})),
            tools=ToolListWrap([]),
        )
        output = await agent.run({}, raw_prompt=row["prompt"], **row)
        assert isinstance(output, AgentLoopOutput)
        return output

    return asyncio.run(run())


def written(output: AgentLoopOutput) -> str:
    """The tokens of the model."""
    tokens = zip(output.response_ids, output.response_mask, strict=True)
    return Tokenizer().decode([one for one, mask in tokens if mask == 1])


TEXTS = [call(1), call(2), call(3), call(9)]


def test_an_episode_has_the_tokens_the_masks_and_the_reward(server: Server, tmp_path: Path) -> None:
    model = Model([*TEXTS, "not reached"])
    output = play(tmp_path, server.url, model)
    assert output.reward_score == 15 * 0.5 + 1 * 0.5
    assert written(output) == "".join(TEXTS)
    assert output.response_logprobs == [-1.0 if mask else 0.0 for mask in output.response_mask]
    info = output.extra_fields["reward_extra_info"]
    assert info == {"done": 1, "truncated": 0, "amount": 15, "even": 1}
    # The prompt has the whole schema of the tool, the first observation, and then each result.
    assert '"required": ["amount"]' in model.prompts[0]
    assert '{"count": 0, "start": ' in model.prompts[0]
    assert '<tool>{"count": 6, ' in model.prompts[3]
    assert Tokenizer().decode(output.prompt_ids) == model.prompts[0]
    wait_for(lambda: opened(server.url) == 0)


def test_rollouts_of_a_row_begin_alike_and_cuts_change_nothing(server: Server, proxy: Proxy, tmp_path: Path) -> None:
    undisturbed = play(tmp_path, server.url, Model(list(TEXTS)))

    def cut() -> None:
        proxy.cut_at_answer = True

    disturbed = play(tmp_path, proxy.url, Model(list(TEXTS), cut))
    assert not proxy.cut_at_answer
    assert disturbed.response_ids == undisturbed.response_ids
    assert disturbed.prompt_ids == undisturbed.prompt_ids
    assert disturbed.reward_score == undisturbed.reward_score
    assert proxy.accepted > 4


def test_a_lost_rollout_is_played_again(server: Server, tmp_path: Path) -> None:
    output = play(tmp_path, server.url, Model([call(1), call(54), call(2), call(9)]))
    assert written(output) == call(2) + call(9)
    with pytest.raises(ConnectionLostError):
        play(tmp_path, server.url, Model([call(54)] * 2), attempts=2)
    wait_for(lambda: opened(server.url) == 0)


def test_the_model_reads_its_mistakes_and_the_end(server: Server, tmp_path: Path) -> None:
    model = Model([call("much"), call(1, "jump"), call(8) + call(2), "not reached"])
    output = play(tmp_path, server.url, model)
    read = Tokenizer().decode(output.response_ids)
    assert "amount" in model.prompts[1]
    assert "Unknown function 'jump'" in model.prompts[2]
    # The calls of one turn are steps one after the other.
    assert '<tool>{"count": 8, ' in read
    assert '<tool>{"count": 10, ' in read
    assert "not reached" not in read
    # An answer without a call ends the rollout.
    assert play(tmp_path, server.url, Model([call(4), "done"])).extra_fields["reward_extra_info"]["done"] == 0


def test_rows_are_the_tasks_of_a_split(tmp_path: Path) -> None:
    running = Server(TASKS="1")
    try:
        data, _ = for_verl(running.url, tmp_path, prompt="Count.")
        assert data == f"data.train_files={tmp_path / 'train.jsonl'}"
        rows = [json.loads(line) for line in (tmp_path / "train.jsonl").read_text().splitlines()]
        resets = [json.loads(row["extra_info"]["reset"]) for row in rows]
        assert resets == [{"split": "train", "index": 0}, {"split": "train", "index": 1}]
        assert rows[0]["prompt"] == [{"role": "user", "content": "Count."}]
    finally:
        running.kill()
