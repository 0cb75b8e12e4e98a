"""Steps per second of many sessions through our vector wrapper and through one around the released client.

Usage: python vector_step.py <sessions> <rounds> <seconds> <url of ours> <another of ours> <url of the other>. The ways take turns; prints a line of JSON for each turn.
"""

import gc
import json
import sys
import time
from itertools import cycle, islice, permutations

import gymnasium
import numpy as np
from openenv import GenericEnvClient
from stable_baselines3.common.vec_env import DummyVecEnv

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


def repeated(envs, sessions):
    """Steps per second of all sessions, for some seconds."""
    envs.reset()
    # An amount of 0 never ends the episode.
    actions = np.zeros(sessions)

    def measure(seconds):
        steps, started = 0, time.perf_counter()
        while time.perf_counter() - started < seconds:
            envs.step(actions)
            steps += sessions
        return steps / (time.perf_counter() - started)

    return measure


def main(sessions, rounds, seconds, *urls):
    # Each way has its own server: on a busy machine a process that has just used much of a processor waits longer.
    like = OpenEnvGym(urls[0])

    def released(url):
        return DummyVecEnv([lambda: Released(url, like)] * sessions)

    opened = {
        "ours": OpenEnvVectorGym(urls[0], sessions),
        "ours, own class": released(urls[1]),
        "python, own class": released(urls[2]),
    }
    measures = {way: repeated(envs, sessions) for way, envs in opened.items()}
    # A full garbage collection of a process with torch takes up to a second, and would count for one way only.
    gc.collect()
    gc.freeze()
    # All orders: the ways share the process of the client, for which the same is true.
    for nth, order in enumerate(islice(cycle(permutations(measures)), rounds + 1)):
        for way in order:
            rate = measures[way](seconds)
            # The first round warms up.
            if nth > 0:
                print(json.dumps({"way": way, "rate": rate}), flush=True)
    for envs in opened.values():
        envs.close()


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]), *sys.argv[4:])
