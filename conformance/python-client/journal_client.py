"""Plays one episode with each released client while the test ends processes of the server.

Argument: one JSON object with the URL for each kind of client, each an address of a session. Prints one JSON line for each
result, and for each thing that the test should do; the client waits for it where the test writes a line.
"""

import asyncio
import json
import sys
import time
import uuid
from typing import Any

from address_client import Player, ask, plain

# Seconds for which a call is repeated.
PATIENCE = 60


class PatientPlayer(Player):
    """A player that repeats each call that raises: a step with its id."""

    raised = 0

    async def tried(self, method: str, *args: Any, **kwargs: Any) -> Any:
        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                return plain(await self.call(method, *args, **kwargs))
            except Exception as error:
                self.raised += 1
                if time.monotonic() > deadline:
                    return {"raised": str(error)}
                await asyncio.sleep(0.1)

    async def step(self, amount: int, **metadata: Any) -> Any:
        return await super().step(amount, **{"openenv.request_id": uuid.uuid4().hex}, **metadata)


async def play(kind: str, url: str):
    player = PatientPlayer(kind, url)
    yield "reset", await player.tried("reset", seed=7)
    yield "step", await player.step(1)
    await ask(kind, "kill the worker")
    yield "step after a killed worker", await player.step(2)
    yield "state", await player.tried("state")
    await player.wish("kill the worker during the slow step")
    yield "slow step", await player.step(17)
    await ask(kind, "kill the server and start it again")
    yield "step after a killed server", await player.step(3)
    await player.wish("kill the server during the slow step and start it again")
    yield "slow step of a killed server", await player.step(17)
    await ask(kind, "stop the server and start it again")
    yield "state after a stopped server", await player.tried("state")
    yield "step after a stopped server", await player.step(4)
    if kind.startswith("tools"):
        yield "tool", await player.call("call_tool", "tally")
    yield "second reset", await player.tried("reset", seed=8)
    yield "step of the second episode", await player.step(5)
    await player.call("close")
    yield "raised", player.raised
    yield "executions", await ask(kind, "name the executions")


async def main() -> None:
    for kind, url in json.loads(sys.argv[1]).items():
        async for what, result in play(kind, url):
            print(json.dumps({"kind": kind, "what": what, "result": result}), flush=True)


asyncio.run(main())
