"""Real training runs of TRL on a CPU. They need torch, about 3 GB: ``pip install ./python[trl]``."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import Proxy, Server

pytest.importorskip("trl")

from tiny_model import make_model
from trl import GRPOConfig, GRPOTrainer

from openenv_ts.trl import TrlSpec, episode_reward, for_trl

CALLS: list[tuple[str, dict[str, Any]]] = [("step", {"amount": amount}) for amount in (0, 1, 2, 3)]


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    started = Server(NO_TOOLS="1")
    yield started
    started.kill()


def train(spec: TrlSpec, folder: Path, **given: Any) -> list[dict[str, float]]:
    model, tokenizer = make_model(CALLS)
    settings = {"max_steps": 15, "learning_rate": 3e-2, **given}
    config = GRPOConfig(
        output_dir=str(folder),
        use_cpu=True,
        report_to="none",
        logging_steps=1,
        save_strategy="no",
        per_device_train_batch_size=8,
        num_generations=4,
        max_completion_length=64,
        max_tool_calling_iterations=3,
        disable_tqdm=True,
        seed=1,
        **settings,
    )
    trainer = GRPOTrainer(
        model,
        args=config,
        processing_class=tokenizer,
        train_dataset=spec.train_dataset,
        reward_funcs=spec.reward_funcs,
        environment_factory=spec.environment_factory,
        callbacks=[spec.callback],
    )
    trainer.train()
    return [entry for entry in trainer.state.log_history if "reward" in entry]


def test_the_reward_rises(server: Server, tmp_path: Path) -> None:
    def mean_reward(environments: Any, **_: Any) -> list[float]:
        return [sum(one.rewards) / max(1, len(one.rewards)) for one in environments]

    spec = for_trl(server.url, mean_reward, rows=64)
    log = train(spec, tmp_path)
    rewards = [entry["reward"] for entry in log]
    assert sum(rewards[-3:]) > 1.3 * sum(rewards[:3]) > 0
    assert spec.lost_rollouts == 0


def test_rewards_are_those_of_a_run_without_faults(server: Server, proxy: Proxy, tmp_path: Path) -> None:
    def play(url: str, faults: bool) -> list[float]:
        seen: list[float] = []

        def record(**named: Any) -> list[float]:
            rewards = episode_reward(**named)
            seen.extend(rewards)
            if faults:
                proxy.cut()
            return rewards

        stop = threading.Event()

        def cut() -> None:
            while not stop.wait(0.3):
                proxy.cut()

        cutting = threading.Thread(target=cut)
        if faults:
            cutting.start()
        spec = for_trl(url, record, rows=64)
        train(spec, tmp_path, learning_rate=0.0, max_steps=6)
        stop.set()
        if faults:
            cutting.join()
        assert spec.lost_rollouts == 0
        return seen

    undisturbed = play(server.url, faults=False)
    assert len(undisturbed) == 48
    assert play(proxy.url, faults=True) == undisturbed


def test_a_lost_rollout_is_masked_and_training_continues(tmp_path: Path) -> None:
    server = Server(NO_TOOLS="1")
    masked: list[Any] = []

    def always_one(environments: Any, **_: Any) -> list[float]:
        return [1.0 for _ in environments]

    spec = for_trl(server.url, [episode_reward, always_one], rows=64, outage=0.5, timeout=1.0)
    first = spec.reward_funcs[1]

    def watch(**named: Any) -> list[Any]:
        rewards = first(**named)
        masked.append(sum(reward is None for reward in rewards))
        if len(masked) == 2:
            server.kill()
        if len(masked) == 4:
            again.append(Server(port=port, NO_TOOLS="1"))
        return rewards

    port, again = server.port, []
    spec.reward_funcs[1] = watch
    train(spec, tmp_path, max_steps=6)
    assert masked == [0, 0, 8, 8, 0, 0]
    assert spec.lost_rollouts == 16
    again[0].kill()


def test_rollouts_of_one_prompt_start_alike(server: Server, tmp_path: Path) -> None:
    starts: dict[str, list[tuple[Any, bool]]] = {}

    def watch(environments: Any, **named: Any) -> list[float]:
        for one in environments:
            starts.setdefault(one.group_id, []).append((json.loads(one.group_id), one.truncated))
        return episode_reward(environments=environments, **named)

    spec = for_trl(server.url, watch, rows=64)
    seen: dict[str, set[str]] = {}
    reset = spec.environment_factory.reset

    def record(self: Any, **row: Any) -> str:
        first = reset(self, **row)
        seen.setdefault(self.group_id, set()).add(first)
        return first

    spec.environment_factory.reset = record  # type: ignore[method-assign]
    train(spec, tmp_path, learning_rate=0.0, max_steps=2)
    assert [len(members) for members in starts.values()] == [4] * 4
    assert all(len(firsts) == 1 for firsts in seen.values())
