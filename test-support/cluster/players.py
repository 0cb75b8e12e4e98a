"""Plays episodes against a server until its input ends, and prints what it saw as JSON. The environment counts its steps."""

import asyncio
import json
import sys
import threading
import time
import uuid

KIND, URL = sys.argv[1:3]
EPISODE = 40
PAUSE_S = 0.02
seen = {"steps": 0, "episodes": 0, "lost": 0, "wrong": [], "errors": []}
over = threading.Event()


def wait_for_end():
    sys.stdin.read()
    over.set()


def check(count, expected):
    seen["steps"] += 1
    if count != expected:
        seen["wrong"].append([count, expected])


async def play_vector():
    from openenv_ts.vector import AsyncVectorEnv

    async with AsyncVectorEnv(URL, 4, resume=True, timeout=120) as envs:
        while not over.is_set():
            await envs.reset()
            seen["episodes"] += 1
            for number in range(1, EPISODE + 1):
                results = await envs.step([{"amount": 1}] * envs.size)
                for result in results:
                    if result.outcome == "lost":
                        seen["lost"] += 1
                        seen["errors"].append(str(result.error))
                    else:
                        check(result.observation["count"], number)
                await asyncio.sleep(PAUSE_S)


def play_stock(is_named):
    from openenv import GenericEnvClient

    while not over.is_set():
        url = f"{URL}/session/{uuid.uuid4().hex}" if is_named else URL
        client = GenericEnvClient(base_url=url).sync()
        try:
            client, _ = call(client, url, is_named, lambda env: env.reset())
            for number in range(1, EPISODE + 1):
                action = {"amount": 1, "metadata": {"openenv.request_id": uuid.uuid4().hex}} if is_named else {"amount": 1}
                client, result = call(client, url, is_named, lambda env, action=action: env.step(action))
                check(result.observation["count"], number)
                time.sleep(PAUSE_S)
            seen["episodes"] += 1
        except Exception as error:
            seen["lost"] += 1
            seen["errors"].append(f"{type(error).__name__}: {error}")
            time.sleep(0.2)
        finally:
            try:
                client.close()
            except Exception:
                pass


def call(client, url, is_named, work):
    """A session by address continues on another connection: there the call is repeated, by its id."""
    from openenv import GenericEnvClient

    deadline = time.monotonic() + 120
    while True:
        try:
            return client, work(client)
        except Exception as error:
            if not is_named or "NO_EPISODE" in str(error) or time.monotonic() > deadline:
                raise
            time.sleep(0.2)
            client = GenericEnvClient(base_url=url).sync()


threading.Thread(target=wait_for_end, daemon=True).start()
print("ready", flush=True)
if KIND == "vector":
    asyncio.run(play_vector())
else:
    play_stock(KIND == "named")
print(json.dumps(seen), flush=True)
