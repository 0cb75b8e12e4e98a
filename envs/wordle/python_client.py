"""Plays as a trainer on the Python package does: a typed client, and the news of a step cut off the message of before.

Usage: python python_client.py <url> <folder of openenv.yaml> <guess>...; prints one JSON object.
"""

import json
import pathlib
import sys
from typing import Any

from openenv.core.client_types import StepResult
from openenv.core.env_client import EnvClient
from openenv.core.env_server.types import Action, Observation, State
from openenv.validation.parsers.openenv_yaml import OpenEnvYamlParser
from pydantic import BaseModel


class Message(BaseModel, extra="forbid"):
    sender_id: int
    content: str
    category: str


class GameAction(Action):
    message: str


class GameObservation(Observation):
    prompt: str
    messages: list[Message] = []
    current_player_id: int = 0
    legal_players: list[int] = []
    info: dict[str, Any] = {}


class GameState(State):
    env_id: str
    num_players: int
    max_turns: int | None = None
    turn: int = 0
    last_reward: float = 0.0
    last_info: dict[str, Any] = {}
    raw_state: dict[str, Any] = {}


class GameClient(EnvClient[GameAction, GameObservation, GameState]):
    def _step_payload(self, action):
        return {"message": action.message}

    def _parse_result(self, payload):
        result = {"reward": payload.get("reward"), "done": payload.get("done", False)}
        return StepResult(observation=GameObservation(**payload["observation"], **result), **result)

    def _parse_state(self, payload):
        return GameState(**payload)


url, folder, *guesses = sys.argv[1:]
with GameClient(base_url=url).sync() as env:
    result = env.reset(seed=7)
    read = len(result.observation.messages[0].content)
    news = []
    for guess in guesses:
        result = env.step(GameAction(message=guess))
        text = result.observation.messages[0].content
        news.append(text[read:])
        read = len(text)
    state = env.state()

manifest = OpenEnvYamlParser().parse(pathlib.Path(folder))
print(
    json.dumps(
        {
            "news": news,
            "reward": result.reward,
            "done": result.done,
            "signals": result.observation.info["reward_signals"],
            "turn": state.turn,
            "manifest": manifest.model_dump(mode="json"),
        }
    )
)
