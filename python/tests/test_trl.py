"""Real training runs of TRL on a CPU. They need torch, about 3 GB: ``pip install ./python[trl]``."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from conftest import Proxy, Server

pytest.importorskip("trl")

from training.faults import Faults
from training.grpo import TASKS, Recorder, make_trainer, read_log, train
from training.servers import PythonServer, start_ours

from openenv_ts.trl import TrlEnvironment, episode_reward, for_trl

ROLLOUTS = 8
"""In each step of a training."""


@pytest.mark.parametrize("task", TASKS)
def test_rewards_rise_and_are_those_of_the_python_server(task: str) -> None:
    pytest.importorskip("openenv")
    from training.released import make_class  # noqa: PLC0415

    server, python = start_ours(task), PythonServer(task)
    try:
        ours, theirs = Recorder(), Recorder()
        spec = for_trl(server.url, ours, rows=64, prompt="Play.")
        log = train(task, spec)
        rewards = [entry["reward"] for entry in log]
        assert sum(rewards[-5:]) > sum(rewards[:5]) > 0
        assert spec.lost_rollouts == 0

        assert train(task, for_trl(python.url, theirs, rows=64, prompt="Play.")) != []
        assert theirs.episodes == ours.episodes
        # A class around the released client describes its tools in another way, so its model reads another prompt.
        runs = []
        for url in (server.url, python.url):
            released = Recorder()
            trainer = make_trainer(
                task,
                train_dataset=spec.train_dataset,
                reward_funcs=[released],
                environment_factory=make_class(url, task),
            )
            trainer.train()
            runs.append((released.episodes, [entry["loss"] for entry in read_log(trainer)]))
        assert runs[0] == runs[1]
    finally:
        server.kill()
        python.kill()


@pytest.mark.parametrize("task", TASKS)
def test_rewards_are_those_of_a_run_without_faults(task: str, tmp_path: Path) -> None:
    def start(port: int = 0) -> Server:
        return start_ours(task, port=port, JOURNAL=str(tmp_path / "sessions.db"))

    running = [start()]
    proxy = Proxy(running[0].url)
    faults = Faults(proxy, running, start)
    try:
        undisturbed, disturbed = Recorder(), Recorder()
        train(task, for_trl(running[0].url, undisturbed, rows=64, prompt="Play."), learning_rate=0.0, max_steps=8)
        spec = for_trl(proxy.url, [disturbed, faults.after_step], rows=64, prompt="Play.")
        with faults:
            train(task, spec, learning_rate=0.0, max_steps=8)
        assert len(undisturbed.episodes) == 8 * ROLLOUTS
        assert disturbed.episodes == undisturbed.episodes
        assert spec.lost_rollouts == 0
        assert faults.kills >= 3
        assert faults.cuts >= 8
    finally:
        proxy.close()
        running[-1].kill()


def test_masks_as_many_rollouts_as_are_lost_and_continues() -> None:
    """Without a journal: the server is killed during the rollouts of the third step, and is away until after the
    fourth; killed between the sixth and seventh step, it is back within the window."""
    running = [start_ours("wordle")]
    port = running[0].port
    masked: list[int] = []
    hit: set[int] = set()

    def always_one(environments: Sequence[Any], **_: Any) -> list[float]:
        return [1.0 for _ in environments]

    def watch(**named: Any) -> list[Any]:
        rewards = last(**named)
        masked.append(sum(reward is None for reward in rewards))
        if len(masked) == 4:
            running.append(start_ours("wordle", port=port))
        if len(masked) == 6:
            running[-1].kill()
            running.append(start_ours("wordle", port=port))
        return rewards

    spec = for_trl(running[0].url, [episode_reward, always_one], rows=64, prompt="Play.", outage=5.0, timeout=5.0)
    last = spec.reward_funcs[1]
    spec.reward_funcs[1] = watch
    calls = 0

    class Counted(spec.environment_factory):  # type: ignore[misc, name-defined]
        def _call(self: TrlEnvironment, *given: Any) -> str:
            nonlocal calls
            if len(masked) == 2:
                calls += 1
                if calls == 5:
                    running[0].kill()
                if calls >= 5 and not self.done:
                    hit.add(id(self))
            return super()._call(*given)  # type: ignore[misc]

    spec.environment_factory = Counted
    try:
        trainer = make_trainer(
            "wordle",
            max_steps=8,
            train_dataset=spec.train_dataset,
            reward_funcs=spec.reward_funcs,
            environment_factory=spec.environment_factory,
            callbacks=[spec.callback],
        )
        trainer.train()
    finally:
        running[-1].kill()
    assert 0 < len(hit) < ROLLOUTS
    assert masked == [0, 0, len(hit), ROLLOUTS, 0, 0, 0, 0]
    assert spec.lost_rollouts == len(hit) + ROLLOUTS
    log = read_log(trainer)
    assert [round(entry["openenv/lost_rollouts"] * ROLLOUTS) for entry in log] == masked
    # Nothing is learned from a step whose rollouts are all lost.
    assert log[3]["grad_norm"] == 0
    assert all(math.isfinite(float(value.sum())) for value in trainer.model.parameters())


def test_rollouts_of_one_prompt_start_alike() -> None:
    starts: dict[str, list[tuple[Any, bool]]] = {}

    def watch(environments: Any, **named: Any) -> list[float]:
        for one in environments:
            starts.setdefault(one.group_id, []).append((json.loads(one.group_id), one.truncated))
        return episode_reward(environments=environments, **named)

    server = start_ours("counting")
    spec = for_trl(server.url, watch, rows=64)
    seen: dict[str, set[str]] = {}
    reset = spec.environment_factory.reset

    def record(self: Any, **row: Any) -> str:
        first = reset(self, **row)
        seen.setdefault(self.group_id, set()).add(first)
        return first

    spec.environment_factory.reset = record  # type: ignore[method-assign]
    try:
        train("counting", spec, learning_rate=0.0, max_steps=2)
    finally:
        server.kill()
    assert [len(members) for members in starts.values()] == [4] * 4
    assert all(len(firsts) == 1 for firsts in seen.values())
