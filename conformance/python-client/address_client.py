"""Plays one episode with each released client through a proxy that breaks its connections.

Argument: one JSON object with the URL for each kind of client, each an address of a session. Prints one JSON line for each
result, and for each thing that the test should do; where the client has to wait for it, it reads a line.
"""

import asyncio
import json
import sys
from typing import Any

from openenv import GenericEnvClient
from openenv.core.client_types import StepResult
from openenv.core.env_client import EnvClient
from openenv.core.env_server.types import Action, Observation, State
from openenv.core.mcp_client import MCPToolClient
from websockets.protocol import State as Socket


class CountAction(Action):
    amount: int


class CountObservation(Observation):
    count: int


class CountClient(EnvClient[CountAction, CountObservation, State]):
    def _step_payload(self, action: CountAction) -> dict:
        return action.model_dump()

    def _parse_result(self, payload: dict) -> StepResult[CountObservation]:
        return StepResult(observation=CountObservation(**payload["observation"]))

    def _parse_state(self, payload: dict) -> State:
        return State(**payload)


CLIENTS = {"typed": CountClient, "generic": GenericEnvClient, "tools": MCPToolClient}


class Player:
    """One client, called the same way whether it is synchronous or not."""

    def __init__(self, kind: str, url: str):
        name, self.is_sync = kind.split("-")[0], kind.endswith("-sync")
        self.kind = kind
        self.client = CLIENTS[name](base_url=url)
        self.env = self.client.sync() if self.is_sync else self.client
        self.is_generic = name == "generic"

    async def call(self, method: str, *args: Any, **kwargs: Any) -> Any:
        bound = getattr(self.env, method)
        if self.is_sync:
            return await asyncio.to_thread(bound, *args, **kwargs)
        return await bound(*args, **kwargs)

    async def tried(self, method: str, *args: Any, **kwargs: Any) -> Any:
        try:
            return plain(await self.call(method, *args, **kwargs))
        except Exception as error:
            return {"raised": str(error)}

    async def step(self, amount: int, **metadata: Any) -> Any:
        if self.is_generic:
            action = {"amount": amount, "metadata": metadata} if metadata else {"amount": amount}
        else:
            action = CountAction(amount=amount, metadata=metadata)
        return await self.tried("step", action)

    async def noticed(self) -> None:
        """Waits until the client knows that its socket has closed."""
        while self.client._ws is not None and self.client._ws.state is not Socket.CLOSED:
            await asyncio.sleep(0.01)

    async def wish(self, thing: str) -> None:
        print(json.dumps({"kind": self.kind, "do": thing}), flush=True)
        await asyncio.to_thread(sys.stdin.readline)


def plain(result: Any) -> Any:
    if isinstance(result, StepResult):
        observation = result.observation
        return observation["count"] if isinstance(observation, dict) else observation.count
    step_count = result["step_count"] if isinstance(result, dict) else getattr(result, "step_count", None)
    return result if step_count is None else {"step_count": step_count}


async def play(kind: str, url: str):
    player = Player(kind, url)
    yield "reset", await player.tried("reset")
    yield "step", await player.step(1)

    await player.wish("cut")
    await player.noticed()
    yield "step after a cut", await player.step(2)

    await player.wish("cut at the next answer")
    request = {"openenv.request_id": "the third step"}
    yield "step whose answer is cut", await player.step(3, **request)
    yield "state", await player.tried("state")
    yield "repeated step", await player.step(3, **request)
    yield "step after a lost answer", await player.step(4)

    await player.wish("leave the server half-open")
    await player.noticed()
    yield "step after a half-open connection", await player.step(5)

    await player.wish("cut during the slow step")
    yield "slow step", await player.step(50)
    yield "step after a cut step", await player.step(6)

    other = Player(kind, url)
    yield "second client", await other.tried("reset")
    yield "step of the first client", await player.step(7)
    if kind.startswith("tools"):
        yield "tools", [tool.name for tool in await player.call("list_tools")]
        yield "tool", await player.call("call_tool", "tally")

    await player.wish("end the session")
    await player.noticed()
    yield "step of a lost session", await player.step(8)
    yield "reset after a loss", await player.tried("reset")
    yield "step after a reset", await player.step(9)

    await player.call("close")
    yield "sessions", await ask(kind, "count the sessions")


async def ask(kind: str, thing: str) -> Any:
    print(json.dumps({"kind": kind, "do": thing}), flush=True)
    return json.loads(await asyncio.to_thread(sys.stdin.readline))


async def main() -> None:
    for kind, url in json.loads(sys.argv[1]).items():
        async for what, result in play(kind, url):
            print(json.dumps({"kind": kind, "what": what, "result": result}), flush=True)


if __name__ == "__main__":
    asyncio.run(main())
