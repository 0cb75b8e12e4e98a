"""Steps per second of many sessions through our vector wrapper and through one around the released client.

Usage: python vector_step.py <sessions> <steps> <rounds>. Prints a line of JSON for each way and round.
"""

import json
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "python/tests"))

import gymnasium
import numpy as np
from openenv import GenericEnvClient
from stable_baselines3.common.vec_env import DummyVecEnv
from training.servers import PythonServer, start_ours

from openenv_ts.gymnasium import OpenEnvGym, OpenEnvVectorGym


class Released(gymnasium.Env):
    def __init__(self, url, like):
        self.action_space, self.observation_space = like.action_space, like.observation_space
        self._client = GenericEnvClient(base_url=url).sync()
        self._client.connect()

    def reset(self, *, seed=None, options=None):
        return self._read(self._client.reset(seed=seed)), {}

    def step(self, action):
        result = self._client.step({"amount": round(float(action))})
        return self._read(result), float(result.reward), result.done, False, {}

    def _read(self, result):
        return {name: np.float64(result.observation[name]) for name in self.observation_space}

    def close(self):
        self._client.close()


def measure(way, envs, sessions, steps):
    envs.reset()
    # An amount of 0 never ends the episode.
    actions = np.zeros(sessions)
    envs.step(actions)
    started = time.perf_counter()
    for _ in range(steps):
        envs.step(actions)
    print(json.dumps({"way": way, "rate": sessions * steps / (time.perf_counter() - started)}), flush=True)
    envs.close()


def main(sessions, steps, rounds):
    ours, python = start_ours("counting"), PythonServer("counting", sessions)
    like = OpenEnvGym(ours.url)

    def released(url):
        return DummyVecEnv([lambda: Released(url, like)] * sessions)

    try:
        for _ in range(rounds):
            measure("ours", OpenEnvVectorGym(ours.url, sessions), sessions, steps)
            measure("ours, own class", released(ours.url), sessions, steps)
            measure("python, own class", released(python.url), sessions, steps)
    finally:
        ours.kill()
        python.kill()


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
