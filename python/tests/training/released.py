"""Classes around the released client, as users of TRL write them: one for each environment."""

from __future__ import annotations

import json
from typing import Any

from openenv import GenericEnvClient


class Released:
    url: str

    def __init__(self) -> None:
        self._client: Any = None
        self.rewards: list[float] = []
        self.done = False

    def reset(self, seed: int, **_: Any) -> str:
        if self._client is None:
            self._client = GenericEnvClient(base_url=self.url).sync()
            self._client.connect()
        self.rewards, self.done = [], False
        return _to_text(self._client.reset(seed=seed).observation)

    def _call(self, action: dict[str, Any]) -> str:
        if self.done:
            return "The episode has ended."
        result = self._client.step(action)
        self.rewards.append(float(result.reward))
        self.done = result.done
        return _to_text(result.observation)


def _to_text(observation: dict[str, Any]) -> str:
    # The released client adds the metadata of the server.
    return json.dumps({name: value for name, value in observation.items() if name != "metadata"})


class Echo(Released):
    def step(self, message: str) -> str:
        """Takes one action in the environment.

        Args:
            message: The text to say back
        """
        return self._call({"message": message})


class Wordle(Released):
    def step(self, guess: str) -> str:
        """Takes one action in the environment.

        Args:
            guess: A word of five letters
        """
        return self._call({"guess": guess})


class Counting(Released):
    def step(self, amount: int) -> str:
        """Takes one action in the environment.

        Args:
            amount: How much to add
        """
        return self._call({"amount": amount})


CLASSES = {"echo": Echo, "wordle": Wordle, "counting": Counting}


def make_class(url: str, task: str) -> type[Released]:
    return type("Environment", (CLASSES[task],), {"url": url})
