"""Trains with TRL's GRPOTrainer on a CPU, on our server and on the released Python package's; main.mjs reads its output.

Usage: python training.py <task> <steps> <rollouts> <url of ours> <url of the other> <seed>... Prints a line of JSON for each seed and way to play: the
rewards of every episode, the seconds of resets and tool calls in each step, and those of the whole training.
"""

import gc
import json
import sys
import time
from itertools import pairwise
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "python/tests"))

from training.grpo import Recorder, make_trainer
from training.released import make_class

from openenv_ts.trl import for_trl


def timed(kind):
    """The class, with the seconds of its resets and calls."""

    class Timed(kind):
        seconds = 0.0

        def reset(self, **row):
            started = time.perf_counter()
            try:
                return super().reset(**row)
            finally:
                Timed.seconds += time.perf_counter() - started

        def _call(self, *given):
            started = time.perf_counter()
            try:
                return super()._call(*given)
            finally:
                Timed.seconds += time.perf_counter() - started

    return Timed


def train(way, task, url, steps, rollouts, seed):
    recorder = Recorder()
    marks = [0.0]

    def mark(prompts, **_):
        """A reward function, which is called after the rollouts of each step."""
        marks.append(kind.seconds)
        return [0.0 for _ in prompts]

    spec = for_trl(url, [recorder, mark], rows=1000, prompt="Play.")
    kind = timed(make_class(url, task) if way.endswith("own class") else spec.environment_factory)
    trainer = make_trainer(
        task,
        model_seed=seed,
        seed=seed,
        max_steps=steps,
        per_device_train_batch_size=rollouts,
        train_dataset=spec.train_dataset,
        reward_funcs=spec.reward_funcs,
        environment_factory=kind,
        callbacks=[spec.callback],
    )
    # A full garbage collection of a process with torch takes up to a second, and would count for one way only.
    gc.unfreeze()
    gc.collect()
    gc.freeze()
    started = time.perf_counter()
    trainer.train()
    seconds = time.perf_counter() - started
    if way.endswith("own class"):
        # TRL closes nothing, and the next training needs the sessions.
        for environment in trainer.environments:
            environment._client.close()
    return {
        "way": way,
        "seed": seed,
        "episodes": recorder.episodes,
        "environment": [end - begin for begin, end in pairwise(marks)],
        "seconds": seconds,
    }


def main(task, steps, rollouts, ours, python, *seeds):
    ways = {"ours": ours, "ours, own class": ours, "python": python, "python, own class": python}
    # The first training of a process is slower.
    train("ours", task, ours, 2, rollouts, 0)
    for nth, seed in enumerate(seeds):
        # In each order, because the machine may be busier at one time than at another.
        for way, url in list(ways.items())[:: -1 if nth % 2 else 1]:
            print(json.dumps(train(way, task, url, steps, rollouts, seed)), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:4]), *sys.argv[4:6], *map(int, sys.argv[6:]))
