"""`python_client.py CASE SUBJECT URL SECONDS`: prints how many steps a second one Python process makes.

SUBJECT is `ours`, openenv_ts, or `released`, the asynchronous client of openenv in its best case: with uvloop where it is
installed, and each session as fast as it can, without waiting for the others.
"""

import asyncio
import sys
import time

import numpy as np

SESSIONS = 512
GYM_SESSIONS = 64
ACTION = {"message": "hello"}


async def open_released(url, count):
    from openenv import GenericEnvClient

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


async def many_released(url, seconds):
    envs = await open_released(url, SESSIONS)
    begun = time.perf_counter()
    steps = sum(await asyncio.gather(*(step_until(env, begun + seconds) for env in envs)))
    rate = steps / (time.perf_counter() - begun)
    await asyncio.gather(*(env.close() for env in envs))
    return rate


def many_ours(url, seconds):
    from openenv_ts import VectorEnv

    with VectorEnv(url, SESSIONS) as envs:
        envs.reset()
        return count(seconds, lambda: envs.step([ACTION] * SESSIONS)) * SESSIONS


def sync_ours(url, seconds):
    from openenv_ts import connect

    with connect(url) as env:
        env.reset()
        return count(seconds, lambda: env.step(ACTION))


def sync_released(url, seconds):
    from openenv import GenericEnvClient

    with GenericEnvClient(base_url=url).sync() as env:
        env.reset()
        return count(seconds, lambda: env.step(ACTION))


async def async_ours(url, seconds):
    from openenv_ts import connect_async

    async with connect_async(url) as env:
        await env.reset()
        begun = time.perf_counter()
        steps = await step_until(env, begun + seconds)
        return steps / (time.perf_counter() - begun)


async def async_released(url, seconds):
    [env] = await open_released(url, 1)
    begun = time.perf_counter()
    steps = await step_until(env, begun + seconds)
    rate = steps / (time.perf_counter() - begun)
    await env.close()
    return rate


def gymnasium_ours(url, seconds):
    from openenv_ts.gymnasium import OpenEnvVectorGym

    envs = OpenEnvVectorGym(url, GYM_SESSIONS)
    envs.reset(seed=1)
    rate = count(seconds, lambda: envs.step(np.ones(GYM_SESSIONS, np.int64)))
    envs.close()
    return rate * GYM_SESSIONS


class ReleasedGym:
    """A vector environment around the released client, without checks: a call steps all sessions at the same time."""

    def __init__(self, url, loop):
        self._loop = loop
        self._envs = loop.run_until_complete(open_released(url, GYM_SESSIONS))

    def step(self, actions):
        results = self._loop.run_until_complete(self._step(actions.tolist()))
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


def gymnasium_released(url, seconds):
    loop = new_loop()
    envs = ReleasedGym(url, loop)
    return count(seconds, lambda: envs.step(np.ones(GYM_SESSIONS, np.int64))) * GYM_SESSIONS


def count(seconds, call):
    """Calls a second."""
    call()
    calls = 0
    begun = time.perf_counter()
    while time.perf_counter() - begun < seconds:
        call()
        calls += 1
    return calls / (time.perf_counter() - begun)


def new_loop():
    try:
        import uvloop
    except ImportError:
        return asyncio.new_event_loop()
    return uvloop.new_event_loop()


def main():
    case, subject, url, seconds = sys.argv[1:]
    measured = globals()[f"{case}_{subject}"](url, float(seconds))
    if asyncio.iscoroutine(measured):
        # Both get the same loop.
        measured = new_loop().run_until_complete(measured)
    print(measured)


main()
