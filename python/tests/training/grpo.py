"""Runs of TRL's GRPOTrainer, on a GPU if there is one, for the tests and for ``npm run bench -- training``."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from typing import Any

import torch
from transformers import PrinterCallback
from trl import GRPOConfig, GRPOTrainer

from training.tiny_model import make_model

Calls = list[tuple[str, dict[str, Any]]]

WORDS = ["crane", "crate", "trace", "brace", "moist", "jumpy", "vivid", "lucky"]
TASKS: dict[str, Calls] = {
    "echo": [("step", {"message": "a" * length}) for length in (0, 1, 2, 3)],
    "wordle": [("step", {"guess": word}) for word in WORDS],
    "counting": [("step", {"amount": amount}) for amount in (0, 1, 2, 3)],
}
"""The tasks of conformance/python-server/training-environment.mjs, and the calls that the model can make in each."""


class Recorder:
    """A reward function that keeps the rewards of every episode."""

    __name__ = "recorded"

    def __init__(self) -> None:
        self.episodes: list[list[float]] = []

    def __call__(self, environments: Sequence[Any], **_: Any) -> list[float]:
        self.episodes += [list(one.rewards) for one in environments]
        return [sum(reward or 0 for reward in one.rewards) for one in environments]


def make_trainer(task: str | Calls, *, model_seed: int = 0, callbacks: Sequence[Any] = (), **given: Any) -> GRPOTrainer:
    """``given`` are the arguments of GRPOTrainer that tell how to play, and those of GRPOConfig."""
    # More threads than cores slow each other down, and sums in another order have other last digits.
    torch.set_num_threads(1)
    model, tokenizer = make_model(TASKS[task] if isinstance(task, str) else task, seed=model_seed)
    playing = ("train_dataset", "reward_funcs", "environment_factory", "rollout_func")
    arguments = {name: given.pop(name) for name in playing if name in given}
    settings = {"max_steps": 20, "learning_rate": 3e-2, "seed": 1, "per_device_train_batch_size": 8}
    settings |= {"max_completion_length": 64, "max_tool_calling_iterations": 3, **given}
    config = GRPOConfig(
        output_dir=tempfile.mkdtemp(prefix="openenv-training-"),
        use_cpu=not torch.cuda.is_available(),
        report_to="none",
        logging_steps=1,
        save_strategy="no",
        num_generations=4,
        disable_tqdm=True,
        **settings,
    )
    trainer = GRPOTrainer(model, args=config, processing_class=tokenizer, callbacks=list(callbacks), **arguments)
    trainer.remove_callback(PrinterCallback)
    return trainer


def train(task: str, spec: Any, **settings: Any) -> list[dict[str, float]]:
    """Trains on what ``for_trl`` returned; the log has an entry for each step."""
    trainer = make_trainer(
        task,
        train_dataset=spec.train_dataset,
        reward_funcs=spec.reward_funcs,
        environment_factory=spec.environment_factory,
        callbacks=[spec.callback],
        **settings,
    )
    trainer.train()
    return read_log(trainer)


def read_log(trainer: GRPOTrainer) -> list[dict[str, float]]:
    return [entry for entry in trainer.state.log_history if "reward" in entry]
