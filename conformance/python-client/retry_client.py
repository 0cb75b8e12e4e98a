"""A released client in a wrapper that retries by itself, as trainers have it: a call that raises is made again.

Argument: one JSON object with the URL for each way. Prints one JSON line for each result; before the slow step it asks the
test to cut the connection during it.
"""

import asyncio
import json
import sys
from typing import Any

from openenv import GenericEnvClient

TRIES = 3


async def with_retries(env: GenericEnvClient, action: dict) -> Any:
    for nth in range(TRIES):
        try:
            return await env.step(action)
        except Exception:
            if nth == TRIES - 1:
                raise


async def main() -> None:
    for kind, url in json.loads(sys.argv[1]).items():
        env = GenericEnvClient(base_url=url)
        await env.reset()
        print(json.dumps({"kind": kind, "do": "cut during the slow step"}), flush=True)
        await asyncio.to_thread(sys.stdin.readline)
        counts = []
        for amount in (50, 50, 1):
            result = await with_retries(env, {"amount": amount})
            counts.append(result.observation["count"])
        steps = (await env.state())["step_count"]
        await env.close()
        print(json.dumps({"kind": kind, "what": "counts", "result": counts}), flush=True)
        print(json.dumps({"kind": kind, "what": "steps", "result": steps}), flush=True)


if __name__ == "__main__":
    asyncio.run(main())
