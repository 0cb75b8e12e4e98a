"""`client_rates.py CASE URL ROUNDS SECONDS`: steps a second of one Python process, in turn with openenv_ts (`ours`) and
with the asynchronous client of openenv (`released`) in its best case: with uvloop where it is installed, and each session
as fast as it can, without waiting for the others. Prints JSON: the rates of each, by round.
"""

import asyncio
import json
import sys
import time

import numpy as np
from openenv import GenericEnvClient

from openenv_ts import VectorEnv, connect, connect_async
from openenv_ts.gymnasium import OpenEnvVectorGym

SESSIONS = 512
GYM_SESSIONS = 64
ACTION = {"message": "hello"}

try:
    import uvloop

    loop = uvloop.new_event_loop()
except ImportError:
    loop = asyncio.new_event_loop()


async def open_released(url, count):
    envs = [GenericEnvClient(base_url=url) for _ in range(count)]
    for env in envs:
        await env.connect()
        await env.reset()
    return envs


async def step_until(env, deadline):
    steps = 0
    while time.perf_counter() < deadline:
        result = await env.step(ACTION)
        assert result.reward == 0.5
        steps += 1
    return steps


def all_of(envs):
    """Steps a second of sessions that do not wait for one another."""

    def measure(seconds):
        begun = time.perf_counter()

        async def play():
            return await asyncio.gather(*(step_until(env, begun + seconds) for env in envs))

        steps = sum(loop.run_until_complete(play()))
        return steps / (time.perf_counter() - begun)

    return measure


def repeated(call, steps=1):
    """Steps a second of a call that makes so many."""

    def measure(seconds):
        calls = 0
        begun = time.perf_counter()
        while time.perf_counter() - begun < seconds:
            call()
            calls += 1
        return calls * steps / (time.perf_counter() - begun)

    return measure


def many(url):
    envs = VectorEnv(url, SESSIONS)
    envs.reset()
    ours = repeated(lambda: envs.step([ACTION] * SESSIONS), SESSIONS)
    return ours, all_of(loop.run_until_complete(open_released(url, SESSIONS)))


def one_blocking(url):
    ours, released = connect(url), GenericEnvClient(base_url=url).sync()
    ours.reset()
    released.connect()
    released.reset()
    return repeated(lambda: ours.step(ACTION)), repeated(lambda: released.step(ACTION))


def one_asyncio(url):
    ours = connect_async(url)
    loop.run_until_complete(ours.reset())
    return all_of([ours]), all_of(loop.run_until_complete(open_released(url, 1)))


class ReleasedGym:
    """A vector environment around the released client, without checks: a call steps all sessions at the same time."""

    def __init__(self, url):
        self._envs = loop.run_until_complete(open_released(url, GYM_SESSIONS))

    def step(self, actions):
        results = loop.run_until_complete(self._step(actions.tolist()))
        seen = [result.observation for result in results]
        observations = {
            "position": np.array([one["position"] for one in seen]),
            "speed": np.array([one["speed"] for one in seen]),
        }
        rewards = np.array([result.reward for result in results], np.float64)
        ended = np.array([result.done for result in results])
        return observations, rewards, ended, np.zeros(GYM_SESSIONS, bool), {}

    async def _step(self, actions):
        calls = (env.step({"move": action}) for env, action in zip(self._envs, actions, strict=True))
        return await asyncio.gather(*calls)


def gymnasium(url):
    ours, released = OpenEnvVectorGym(url, GYM_SESSIONS), ReleasedGym(url)
    ours.reset(seed=1)
    actions = np.ones(GYM_SESSIONS, np.int64)
    return repeated(lambda: ours.step(actions), GYM_SESSIONS), repeated(lambda: released.step(actions), GYM_SESSIONS)


def main():
    case, url, rounds, seconds = sys.argv[1:]
    measures = dict(zip(("ours", "released"), globals()[case](url), strict=True))
    rates = {subject: [] for subject in measures}
    for turn in range(int(rounds) + 1):
        for subject, measure in measures.items():
            rate = measure(float(seconds))
            if turn > 0:  # the first warms up
                rates[subject].append(rate)
    print(json.dumps(rates), flush=True)


main()
