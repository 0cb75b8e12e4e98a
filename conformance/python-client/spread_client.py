"""Spreads the sessions of a vector environment over the servers behind a balancer.

Arguments: the URL, and the number of sessions. Makes episodes until a line is read; prints the processes of each episode as a
line of JSON.
"""

import json
import sys
import threading
import time

from openenv_ts import VectorEnv

ended = threading.Event()


def wait() -> None:
    sys.stdin.readline()
    ended.set()


threading.Thread(target=wait, daemon=True).start()
url, size = sys.argv[1], int(sys.argv[2])
with VectorEnv(url, size) as envs:
    while not ended.is_set():
        pids = [result.observation["pid"] for result in envs.reset()]
        # Some smaller amounts end the process.
        results = envs.step([{"amount": 100 + nth} for nth in range(size)])
        for nth, result in enumerate(results):
            if (result.outcome, result.reopened) != ("ok", False) or result.observation["count"] != 100 + nth:
                raise AssertionError(f"the step of session {nth} returned {result}")
        if [result.observation["pid"] for result in results] != pids:
            raise AssertionError("a session has left its server within an episode")
        print(json.dumps(pids), flush=True)
        time.sleep(0.1)
