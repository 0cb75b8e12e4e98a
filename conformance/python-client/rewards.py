"""Runs an episode of a task with the released Python client; prints the result or error of each call as a JSON list."""

import json
import sys

from openenv import GenericEnvClient

results = []


def note(call):
    try:
        result = call()
        results.append([result.observation, result.reward, result.done])
    except Exception as error:
        results.append(str(error))


with GenericEnvClient(base_url=sys.argv[1]).sync() as env:
    note(lambda: env.reset(split="train", index=2))
    note(lambda: env.reset(split="dev", index=0))
    note(lambda: env.reset(split="train", index=1))
    for answer in (5, -1, 13, 5, 1):
        note(lambda: env.step({"answer": answer}))
print(json.dumps(results))
