"""TRL's OpenRewardSpec on a server of this repository. It needs ``pip install openreward``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from conftest import Server

pytest.importorskip("trl")
pytest.importorskip("openreward")
pytest.importorskip("openenv")

from training.faults import CallProxy, Faults
from training.grpo import TASKS, Recorder, make_trainer, read_log
from training.released import make_class
from training.servers import PythonServer, start_ours
from trl.experimental.openreward import OpenRewardSpec

ROWS = 64


@pytest.mark.parametrize("task", TASKS)
def test_rewards_rise_and_are_those_of_the_python_server(task: str, monkeypatch: pytest.MonkeyPatch) -> None:
    server, python = start_ours(task), PythonServer(task)
    monkeypatch.setenv("OPENREWARD_API_URL", server.url)
    monkeypatch.setenv("OPENREWARD_SESSION_URL", server.url)
    played: list[tuple[int, list[dict[str, Any]], list[float]]] = []

    def sum_of_rewards(
        environments: Sequence[Any], completions: Sequence[Any], task_index: Sequence[int], **_: Any
    ) -> list[float]:
        for one, completion, index in zip(environments, completions, task_index, strict=True):
            calls = [call["function"] for message in completion for call in message.get("tool_calls") or []]
            played.append((index, [call["arguments"] for call in calls], one.rewards))
        return [sum(reward or 0 for reward in one.rewards) for one in environments]

    try:
        spec = OpenRewardSpec(server.url, num_tasks=ROWS)
        trainer = make_trainer(
            task,
            train_dataset=spec.train_dataset,
            environment_factory=spec.environment_factory,
            reward_funcs=[sum_of_rewards],
        )
        trainer.train()
        rewards = [entry["reward"] for entry in read_log(trainer)]
        assert sum(rewards[-5:]) > 1.2 * sum(rewards[:5]) > 0

        # The same calls on the Python server: the task with the index n is the seed n.
        again = make_class(python.url, task)()
        for index, calls, seen in played:
            again.reset(seed=index)
            for arguments in calls[: len(seen)]:
                again._call(arguments)
            assert again.rewards == [reward for reward in seen if reward is not None]
        assert len(played) == 160
    finally:
        server.kill()
        python.kill()


@pytest.mark.parametrize("task", TASKS)
def test_rewards_are_those_of_a_run_without_faults(task: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def start(port: int = 0) -> Server:
        return start_ours(task, port=port, JOURNAL=str(tmp_path / "sessions.db"))

    def play(url: str, *functions: Any) -> Recorder:
        monkeypatch.setenv("OPENREWARD_API_URL", url)
        monkeypatch.setenv("OPENREWARD_SESSION_URL", url)
        spec, recorder = OpenRewardSpec(url, num_tasks=ROWS), Recorder()
        make_trainer(
            task,
            learning_rate=0.0,
            max_steps=8,
            train_dataset=spec.train_dataset,
            environment_factory=spec.environment_factory,
            reward_funcs=[recorder, *functions],
        ).train()
        return recorder

    running = [start()]
    proxy = CallProxy(running[0].url)
    faults = Faults(proxy, running, start)
    try:
        undisturbed = play(running[0].url)
        with faults:
            disturbed = play(proxy.url, faults.after_step)
        assert len(undisturbed.episodes) == 64
        assert disturbed.episodes == undisturbed.episodes
        assert faults.kills >= 3
        assert proxy.cuts >= 8
        assert proxy.cut_calls >= 1
    finally:
        proxy.close()
        running[-1].kill()
