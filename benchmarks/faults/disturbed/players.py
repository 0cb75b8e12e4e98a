"""Players of counted.mjs: released clients, each with a separate session by address.

Argument: one JSON object with the `url` of the server, the players as `[number, turns]` (`null`: until standard input
ends), and a `label` for what the environment writes down. Prints "ready" when every player has made its first turn, and at
the end one line of JSON: the transcript of each player, the calls that raised, and the sessions that were lost.
"""

import asyncio
import json
import random
import sys
import uuid
from collections import Counter
from typing import Any

from openenv import GenericEnvClient
from openenv.core.client_types import StepResult
from openenv.core.env_client import EnvClient
from openenv.core.env_server.types import Action, Observation, State
from websockets.exceptions import ConnectionClosed

# Turns from one reset to the next.
EPISODE = 25
# Limits that are short, so that the run is.
LIMITS = {
    "connect_timeout_s": 2.0,
    "message_timeout_s": 10.0,
    "websocket_ping_interval_s": 2.0,
    "websocket_ping_timeout_s": 2.0,
}
PAUSE_S = 0.1
UNLUCKY = 13


class CountedAction(Action):
    turn: int
    amount: int
    wait_ms: int


class CountedObservation(Observation):
    sum: int
    turn: int


class CountedClient(EnvClient[CountedAction, CountedObservation, State]):
    def _step_payload(self, action: CountedAction) -> dict:
        return action.model_dump()

    def _parse_result(self, payload: dict) -> StepResult[CountedObservation]:
        observation = CountedObservation(**payload["observation"])
        return StepResult(observation=observation, reward=payload["reward"], done=payload["done"])

    def _parse_state(self, payload: dict) -> State:
        return State(**payload)


class SessionLost(Exception):
    pass


class StepCrashed(Exception):
    """The call ran at two kills and was refused: it has changed nothing."""


class Player:
    """Makes the same calls in the same turns whenever it has the same number.

    Every fourth player is typed and every eighth is synchronous. Even players repeat a step that raised with its request
    id; odd ones ask for `step_count` first, and have no answer where the step was executed.
    """

    def __init__(self, number: int, turns: int | None, url: str, label: str):
        self.number, self.turns, self.label = number, turns, label
        self.is_typed, self.is_sync, self.repeats = number % 4 == 0, number % 8 == 1, number % 2 == 0
        kind = CountedClient if self.is_typed else GenericEnvClient
        self.client = kind(base_url=f"{url}/session/{uuid.uuid4().hex}", **LIMITS)
        self.env = self.client.sync() if self.is_sync else self.client
        self.transcript: list[list[Any]] = []
        self.raised: Counter[str] = Counter()
        self.lost: str | None = None

    async def play(self, turns: int | None, is_over) -> None:
        """Makes turns up to this number; without one until it is over or the session is lost."""
        while self.lost is None and (len(self.transcript) < turns if turns is not None else not is_over()):
            kind = self.kind(len(self.transcript))
            try:
                answer = await getattr(self, kind)(len(self.transcript))
            except SessionLost as error:
                self.lost = str(error)
            else:
                self.transcript.append([kind, answer])

    def kind(self, turn: int) -> str:
        if turn % EPISODE == 0:
            return "reset"
        return "state" if random.Random(turn).random() < 0.1 else "step"

    async def reset(self, turn: int) -> Any:
        """The id of the episode says whether a reset that raised was executed."""
        arguments = {"player": f"{self.number}{self.label}", "turn": turn, "episode_id": uuid.uuid4().hex}
        while True:
            done, answer = await self.call("reset", **arguments)
            if done:
                return answer
            # A request for the state would open a session where none is open.
            if turn > 0 and (await self.look())["episode_id"] == arguments["episode_id"]:
                return None

    async def step(self, turn: int) -> Any:
        chance = random.Random(self.number * 1_000_003 + turn)
        amount = chance.randint(0, 20)
        # A step that fails is not in the step count.
        if amount == UNLUCKY and not self.repeats:
            amount = 0
        fields = {"turn": turn, "amount": amount, "wait_ms": chance.randint(1, 30) if chance.random() < 0.1 else 0}
        while True:
            try:
                return await self.take_step(fields, self.steps_before(turn))
            except StepCrashed:
                # With the same request id it would be refused again.
                continue

    async def take_step(self, fields: dict, before: int) -> Any:
        metadata = {"metadata": {"openenv.request_id": uuid.uuid4().hex}} if self.repeats else {}
        action = CountedAction(**fields, **metadata) if self.is_typed else {**fields, **metadata}
        while True:
            done, answer = await self.call("step", action)
            if done:
                return answer
            if not self.repeats and (await self.look())["step_count"] > before:
                return None

    def steps_before(self, turn: int) -> int:
        return sum(self.kind(earlier) == "step" for earlier in range(turn - turn % EPISODE, turn))

    async def state(self, turn: int) -> Any:
        return {"step_count": (await self.look())["step_count"]}

    async def look(self) -> dict:
        while True:
            done, state = await self.call("state")
            if done:
                return state

    async def call(self, method: str, *args: Any, **kwargs: Any) -> tuple[bool, Any]:
        """Whether the call was answered, and its answer."""
        bound = getattr(self.env, method)
        try:
            return True, plain(await (asyncio.to_thread(bound, *args, **kwargs) if self.is_sync else bound(*args, **kwargs)))
        except RuntimeError as error:
            if "NO_EPISODE" in str(error):
                raise SessionLost(str(error)) from error
            if "unlucky" in str(error):
                return True, str(error)
            self.raised[f"{method}: {str(error)[:100]}"] += 1
            if method == "step" and "STEP_CRASHED" in str(error):
                raise StepCrashed from error
        except (ConnectionClosed, OSError, TimeoutError) as error:
            self.raised[f"{method}: {type(error).__name__}"] += 1
        await asyncio.sleep(PAUSE_S)
        return False, None

    async def close(self) -> None:
        await (asyncio.to_thread(self.env.close) if self.is_sync else self.env.close())


def plain(result: Any) -> Any:
    if not isinstance(result, StepResult):
        return result if isinstance(result, dict) else result.model_dump()
    observation = result.observation if isinstance(result.observation, dict) else result.observation.model_dump()
    fields = {"sum": observation["sum"], "turn": observation["turn"]}
    return {"observation": fields, "reward": result.reward, "done": result.done}


async def main() -> None:
    task = json.loads(sys.argv[1])
    players = [Player(number, turns, task["url"], task["label"]) for number, turns in task["players"]]
    is_over = False

    # A connection that fails before there is a session is an error for its caller.
    await asyncio.gather(*(player.play(1, None) for player in players))
    print("ready", flush=True)

    async def wait() -> None:
        nonlocal is_over
        await asyncio.to_thread(sys.stdin.read)
        is_over = True

    waiting = asyncio.create_task(wait())
    await asyncio.gather(*(player.play(player.turns, lambda: is_over) for player in players))
    await waiting
    await asyncio.gather(*(player.close() for player in players))
    raised = sum((player.raised for player in players), Counter())
    lost = [player.lost for player in players if player.lost is not None]
    print(json.dumps({"transcripts": [p.transcript for p in players], "raised": raised, "lost": lost}), flush=True)


asyncio.run(main())
