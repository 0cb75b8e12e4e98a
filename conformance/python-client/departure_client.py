"""Plays episodes with released clients until a line is read, two over asyncio and two synchronously.

Argument: the URL. Each episode must count from 1 to the end in one process. Prints one JSON object: the number of complete
episodes, the processes that played them, and the errors.
"""

import asyncio
import json
import sys
import threading

from openenv import GenericEnvClient

STEPS = 10
ended = threading.Event()
episodes: list[int] = []
errors: list[str] = []


def check(count: int, pid: int, result) -> None:
    observation = result.observation
    if observation["count"] != count or observation["pid"] != pid or result.done != (count == STEPS):
        raise AssertionError(f"step {count} in process {pid} returned {observation}")


async def play_async(url: str) -> None:
    async with GenericEnvClient(base_url=url) as env:
        while not ended.is_set():
            try:
                pid = (await env.reset()).observation["pid"]
                for count in range(1, STEPS + 1):
                    await asyncio.sleep(0.05)
                    check(count, pid, await env.step({"amount": 1}))
                episodes.append(pid)
            except Exception as error:
                errors.append(repr(error))


def play(url: str) -> None:
    with GenericEnvClient(base_url=url).sync() as env:
        while not ended.is_set():
            try:
                pid = env.reset().observation["pid"]
                for count in range(1, STEPS + 1):
                    ended.wait(0.05)
                    check(count, pid, env.step({"amount": 1}))
                episodes.append(pid)
            except Exception as error:
                errors.append(repr(error))


async def play_both(url: str) -> None:
    await asyncio.gather(play_async(url), play_async(url))


url = sys.argv[1]
players = [threading.Thread(target=play, args=(url,)) for _ in range(2)]
players.append(threading.Thread(target=lambda: asyncio.run(play_both(url))))
for player in players:
    player.start()
sys.stdin.readline()
ended.set()
for player in players:
    player.join()
print(json.dumps({"episodes": len(episodes), "processes": len(set(episodes)), "errors": errors}))
