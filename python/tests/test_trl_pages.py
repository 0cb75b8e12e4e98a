"""Classes and functions of the training pages, with faults; docs/training.system.test.ts runs whole scripts."""

from __future__ import annotations

import importlib
import multiprocessing
import re
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from conftest import COMMAND, Proxy, Server

pytest.importorskip("trl")
pytest.importorskip("openenv")

from datasets import Dataset
from training.faults import Faults
from training.grpo import make_trainer
from training.servers import start_ours
from training.threads import play_in_threads

ROOT = COMMAND.parents[3]
GUESSES = [("step", {"message": f"[{word}]"}) for word in ("crane", "slate", "moist")]


def read_script(page: str, url: str, until: str) -> str:
    """The script of a training page, to the line that begins with ``until``."""
    text = (ROOT / f"docs/guide/train/{page}.md").read_text()
    [code] = re.findall(r"^```python file=\S+.*?\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    assert f"\n{until}" in code
    return code[: code.index(f"\n{until}")].replace("http://localhost:8000", url)


@pytest.mark.parametrize("page", ["released-client", "rollout-func"])
def test_rewards_are_those_of_a_run_without_faults(page: str, tmp_path: Path) -> None:
    def start(port: int = 0) -> Server:
        return Server(ROOT / "envs/wordle", port=port, JOURNAL=str(tmp_path / "sessions.db"))

    def play(url: str, *functions: Any) -> list[Any]:
        script: dict[str, Any] = {}
        exec(read_script(page, url, "trainer ="), script)
        rewards: list[Any] = []

        def record(**named: Any) -> list[Any]:
            given = script["episode_reward"](**named)
            rewards.extend(given)
            return list(given)

        if "play" in script:
            dataset = Dataset.from_list([{"prompt": "Guess."}] * 64)
            given = {"rollout_func": script["play"], "train_dataset": dataset}
        else:
            dataset = Dataset.from_list([{"prompt": script["prompt"], "seed": seed} for seed in range(64)])
            given = {"environment_factory": script["WordleEnvironment"], "train_dataset": dataset}
        functions = (record, *functions)
        make_trainer(GUESSES, learning_rate=0.0, max_steps=6, reward_funcs=list(functions), **given).train()
        for one in script.get("opened", [script.get("envs")]):
            one.close()
        return rewards

    running = [start()]
    proxy = Proxy(running[0].url)
    faults = Faults(proxy, running, start)
    try:
        undisturbed = play(running[0].url)
        with faults:
            disturbed = play(proxy.url, faults.after_step)
        assert len(undisturbed) == 48
        assert sum(undisturbed) > 0
        assert disturbed == undisturbed
        assert faults.kills >= 2
        assert faults.cuts >= 6
    finally:
        proxy.close()
        running[-1].kill()


def test_the_class_for_async_grpo_plays_in_threads_of_another_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = start_ours("echo")
    script = read_script("async-grpo", server.url, "if __name__")
    # What is tested here is the class, not how long it waits.
    script = script.replace(f'for_trl("{server.url}")', f'for_trl("{server.url}", outage=0.5, timeout=1.0)')
    (tmp_path / "async_page.py").write_text(script)
    monkeypatch.syspath_prepend(str(tmp_path))
    kind = importlib.import_module("async_page").Environment
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as process:
        first, without = process.submit(play_in_threads, kind, 16, server.process.pid).result(timeout=600)
    assert first == [index * 0.1 for index in range(16)]
    assert without == [None] * 16
