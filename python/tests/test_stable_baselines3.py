"""The script of the page, with a server that is killed while it trains. It needs torch."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from conftest import Server

pytest.importorskip("stable_baselines3")

from stable_baselines3 import PPO
from stable_baselines3.common.vec_env import VecMonitor

PAGE = Path(__file__).parents[2] / "docs/guide/train/stable-baselines3.md"


def test_training_continues_in_new_episodes_after_a_loss() -> None:
    [code] = re.findall(r"^```python file=ppo.py.*?\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    script: dict[str, Any] = {}
    exec(code[: code.index("\nenvs =")], script)
    running = [Server(NO_TOOLS="1", BOUNDED="1")]
    calls: list[str] = []

    class Recorded(script["OpenEnvVecEnv"]):  # type: ignore[misc, name-defined]
        def reset(self) -> Any:
            calls.append("reset")
            return super().reset()

        def step_wait(self) -> Any:
            calls.append("step")
            if calls.count("step") == 20:
                running[-1].kill()
                running.append(Server(NO_TOOLS="1", BOUNDED="1", port=running[0].port))
            try:
                return super().step_wait()
            except Exception as error:
                calls.append(type(error).__name__)
                raise

    envs = VecMonitor(Recorded(running[0].url, 4, fields=["count"], timeout=8))
    try:
        model = PPO("MlpPolicy", envs, n_steps=16, batch_size=16, seed=1, device="cpu")
        script["learn"](model, 4 * 16 * 4)
        assert model.num_timesteps >= 4 * 16 * 4
    finally:
        envs.close()
        running[-1].kill()
    failed = calls.index("ConnectionLostError")
    assert calls[failed + 1 : failed + 3] == ["reset", "step"]
    assert calls.count("ConnectionLostError") == 1
