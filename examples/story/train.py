"""Trains on environments behind one server while their processes are killed; docs/guide/train/story.md is its page.

It prints the mean reward of each step, and how many processes were killed and rollouts lost. It writes rollouts.jsonl,
with a line for each rollout: its server, session and episode, its reward, and why it was lost.
"""

import argparse
import glob
import json
import os
import random
import re
import shlex
import subprocess
import sys
import threading
from pathlib import Path

import pandas as pd
import psutil
import torch
from openenv_ts.trl import for_trl
from trl import GRPOConfig, GRPOTrainer

ENVIRONMENT = Path(__file__).with_name("environment.py")


def read_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", default="Qwen/Qwen3-0.6B", help="name or folder of a model that calls tools")
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--rollouts", type=int, default=8, help="rollouts of each step, in groups of four")
    parser.add_argument("--learning-rate", type=float, default=5e-6)
    parser.add_argument(
        "--processes", type=int, default=12, help="processes of the environment, at least one for each rollout"
    )
    parser.add_argument(
        "--kill-every", type=float, default=0, help="seconds between two kills of a process; 0 for none"
    )
    parser.add_argument("--replay", action="store_true", help="make an episode again when its process dies")
    parser.add_argument("--openenv", default="npx openenv", help="the command line of openenv-ts")
    parser.add_argument("--output-dir", default="story", help="folder for what TRL logs")
    return parser.parse_args()


class Front:
    """``openenv serve --upstream``, and kills of the processes behind it."""

    def __init__(self, arguments: argparse.Namespace) -> None:
        serve = [*shlex.split(arguments.openenv), "serve", "--upstream", f'"{sys.executable}" "{ENVIRONMENT}"']
        options = ["--processes", str(arguments.processes), "--port", "0", "--log-level", "warn"]
        replay = ["--replay"] if arguments.replay else []
        self._process = subprocess.Popen([*serve, *options, *replay], stdout=subprocess.PIPE, text=True)
        self.kills = 0
        self.url = ""
        for line in self._process.stdout:
            if found := re.search(r" at (http://\S+)", line):
                self.url = found[1]
                break
        self._stopping = threading.Event()
        self._threads = [threading.Thread(target=self._process.stdout.read)]
        if arguments.kill_every > 0:
            self._threads.append(threading.Thread(target=self._kill, args=[arguments.kill_every]))
        for thread in self._threads:
            thread.start()

    def _kill(self, seconds: float) -> None:
        chosen = random.Random(1)
        while not self._stopping.wait(seconds):
            children = psutil.Process(self._process.pid).children(recursive=True)
            upstreams = [child for child in children if is_serving(child)]
            if upstreams:
                chosen.choice(upstreams).kill()
                self.kills += 1

    def close(self) -> None:
        self._stopping.set()
        self._process.terminate()
        self._process.wait()
        for thread in self._threads:
            thread.join()


def is_serving(process: psutil.Process) -> bool:
    """Whether it is a process of the environment that has started."""
    try:
        listens = any(one.status == psutil.CONN_LISTEN for one in process.net_connections())
        return listens and str(ENVIRONMENT) in process.cmdline()
    except psutil.Error:
        return False


def read_rollouts(folder: str) -> list[dict]:
    """One for each row of the completions that TRL has logged."""
    files = sorted(glob.glob(os.path.join(folder, "completions", "*.parquet")))
    rows = [row for file in files for row in pd.read_parquet(file).to_dict("records")]
    columns = {"step": "step", "reward": "episode_reward"}
    columns |= {name: f"openenv/{name}" for name in ("server", "session", "episode_id", "lost")}
    # What a column does not have is None or NaN.
    return [{name: None if pd.isna(row[column]) else row[column] for name, column in columns.items()} for row in rows]


def main() -> None:
    arguments = read_arguments()
    # The CPU sums in the same order in each run.
    torch.set_num_threads(1)
    front = Front(arguments)
    try:
        with for_trl(front.url, rows=64) as spec:
            trainer = GRPOTrainer(
                model=arguments.model,
                args=GRPOConfig(
                    output_dir=arguments.output_dir,
                    max_steps=arguments.steps,
                    learning_rate=arguments.learning_rate,
                    per_device_train_batch_size=arguments.rollouts,
                    num_generations=4,
                    max_completion_length=512,
                    max_tool_calling_iterations=4,
                    chat_template_kwargs={"enable_thinking": False},
                    use_cpu=not torch.cuda.is_available(),
                    logging_steps=1,
                    log_completions=True,
                    num_completions_to_print=0,
                    save_strategy="no",
                    report_to="none",
                    disable_tqdm=True,
                    seed=1,
                ),
                train_dataset=spec.train_dataset,
                reward_funcs=spec.reward_funcs,
                environment_factory=spec.environment_factory,
                callbacks=[spec.callback],
            )
            trainer.train()
    finally:
        front.close()
    with open(os.path.join(arguments.output_dir, "rollouts.jsonl"), "w") as file:
        file.writelines(f"{json.dumps(row)}\n" for row in read_rollouts(arguments.output_dir))
    curve = [entry["reward"] for entry in trainer.state.log_history if "reward" in entry]
    print(json.dumps({"curve": curve, "kills": front.kills, "lost": spec.lost_rollouts}))


if __name__ == "__main__":
    main()
