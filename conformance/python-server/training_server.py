"""Three tasks for training, served by the released Python package; training-environment.mjs has the same.

Usage: TASK=<echo|wordle|counting> python training_server.py <capacity>
"""

import os

from openenv.core.env_server import Action, Environment, Observation, State, create_fastapi_app
from pydantic import Field
from server import serve

SECRETS = ["crane", "crate", "trace", "brace"]
GUESSES = 4


class Task(Environment):
    SUPPORTS_CONCURRENT_SESSIONS = True

    def __init__(self) -> None:
        super().__init__()
        self._state = State()

    @property
    def state(self) -> State:
        return self._state


class EchoAction(Action):
    message: str = Field(description="The text to say back")


class EchoObservation(Observation):
    echoed_message: str
    message_length: int


class Echo(Task):
    """Write a long message."""

    def reset(self, seed=None, episode_id=None, **_) -> EchoObservation:
        return EchoObservation(echoed_message="", message_length=0)

    def step(self, action, timeout_s=None, **_) -> EchoObservation:
        length = len(action.message)
        return EchoObservation(echoed_message=action.message, message_length=length, reward=length * 0.1)


class WordleAction(Action):
    guess: str = Field(description="A word of five letters")


class WordleObservation(Observation):
    marks: str
    guesses_left: int


class Wordle(Task):
    """Guess the secret word."""

    def reset(self, seed=None, episode_id=None, **_) -> WordleObservation:
        self._secret = SECRETS[((seed or 0) * 7 + 3) % len(SECRETS)]
        self._left = GUESSES
        return WordleObservation(marks="", guesses_left=self._left)

    def step(self, action, timeout_s=None, **_) -> WordleObservation:
        self._left -= 1
        marks = "".join(self._mark(letter, at) for at, letter in enumerate(action.guess))
        found = action.guess == self._secret
        reward = 1.0 if found else marks.count("G") * 0.1
        return WordleObservation(marks=marks, guesses_left=self._left, reward=reward, done=found or self._left == 0)

    def _mark(self, letter: str, at: int) -> str:
        if self._secret[at] == letter:
            return "G"
        return "Y" if letter in self._secret else "X"


class CounterAction(Action):
    amount: int = Field(description="How much to add")


class CounterObservation(Observation):
    count: int
    goal: int


class Counter(Task):
    """Count to the goal in few steps."""

    def reset(self, seed=None, episode_id=None, **_) -> CounterObservation:
        self._count, self._goal = 0, 5 + (seed or 0) % 4
        return CounterObservation(count=0, goal=self._goal)

    def step(self, action, timeout_s=None, **_) -> CounterObservation:
        self._count += action.amount
        done = self._count >= self._goal
        return CounterObservation(
            count=self._count, goal=self._goal, reward=action.amount / self._goal - 0.1, done=done
        )


TASKS = {
    "echo": (Echo, EchoAction, EchoObservation),
    "wordle": (Wordle, WordleAction, WordleObservation),
    "counting": (Counter, CounterAction, CounterObservation),
}


def create_app(capacity: int):
    return create_fastapi_app(*TASKS[os.environ["TASK"]], env_name="Task", max_concurrent_envs=capacity)


if __name__ == "__main__":
    serve(create_app)
