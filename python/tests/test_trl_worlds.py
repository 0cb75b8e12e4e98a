"""TRL trains on an environment of envs/ on a CPU: a customer of envs/support wants to return an order."""

from __future__ import annotations

import pytest
from conftest import TESTS, Server

pytest.importorskip("trl")

from training.grpo import make_trainer, read_log

from openenv_ts import connect
from openenv_ts.trl import for_trl

TASK = {"split": "train", "index": 0}
SOLUTION = [
    ("verify_identity", {"customer_id": "C-36", "pin": "9483"}),
    ("refund_order", {"order_id": "O-1414", "amount_cents": 11895}),
    ("decide_request", {"order_id": "O-1414", "outcome": "approved", "article_id": "KB-318"}),
    ("message_customer", {"text": "Goodbye!", "close": True}),
]
CALLS = [*SOLUTION, ("decide_request", {"order_id": "O-1414", "outcome": "denied", "article_id": "KB-318"})]
"""The vocabulary of the model. A refund before the identity is verified costs the whole reward."""
STEPS = 40
ROLLOUTS = 16
"""In each step."""


@pytest.fixture(scope="module")
def url() -> str:
    server = Server(TESTS.parent.parent / "envs/support")
    yield server.url
    server.kill()


def test_the_vocabulary_solves_the_task(url: str) -> None:
    with connect(url) as env:
        env.reset(**TASK)
        assert [env.call_tool(name, arguments).reward for name, arguments in SOLUTION] == [0, 0, 0, 1]


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_mean_reward_rises(url: str, seed: int) -> None:
    spec = for_trl(url, prompt="Play.")
    trainer = make_trainer(
        CALLS,
        model_seed=seed,
        seed=seed,
        max_steps=STEPS,
        learning_rate=1e-2,
        per_device_train_batch_size=ROLLOUTS,
        max_tool_calling_iterations=6,
        max_completion_length=512,
        train_dataset=spec.train_dataset.select([TASK["index"]] * ROLLOUTS),
        reward_funcs=spec.reward_funcs,
        environment_factory=spec.environment_factory,
        callbacks=[spec.callback],
    )
    trainer.train()
    rewards = [entry["reward"] for entry in read_log(trainer)]
    assert len(rewards) == STEPS
    first, last = sum(rewards[:10]) / 10, sum(rewards[-10:]) / 10
    print(f"seed {seed}: mean reward of the first ten steps {first:.2f}, of the last ten {last:.2f}")
    assert last > first + 0.1
    assert spec.lost_rollouts == 0
