# Written by `openenv client python`; a change is lost when it is run again.
"""The client of counter_game."""

from typing import Any

from openenv.core import EnvClient
from openenv.core.client_types import StepResult

from .models import CounterGameAction, CounterGameObservation, CounterGameState


class RemoteError(RuntimeError):
    """The server answered an error.

    `wire_code` is the code that the server sent, and `code` the same code, except for
    a step before the first reset: openenv-ts sends EXECUTION_ERROR for it, as for an
    exception of the environment, and `code` is NO_EPISODE.
    """

    def __init__(self, data: dict[str, Any]) -> None:
        self.wire_code = str(data.get("code", "UNKNOWN"))
        self.code = str(data.get("openenv_code", self.wire_code))
        self.data = data
        message = data.get("message", "Unknown error")
        super().__init__(f"Server error: {message} (code: {self.wire_code})")


class CounterGameEnv(EnvClient[CounterGameAction, CounterGameObservation, CounterGameState]):
    """One session of counter_game.

    Example:
        >>> with CounterGameEnv(base_url="http://localhost:8000").sync() as env:
        ...     result = env.reset()
        ...     print(result.observation)
    """

    async def _receive(self) -> dict[str, Any]:
        answer = await super()._receive()
        if answer.get("type") == "error":
            raise RemoteError(answer.get("data") or {})
        return answer

    def _step_payload(self, action: CounterGameAction) -> dict[str, Any]:
        # What was left out is the server's to fill in.
        return action.model_dump(mode="json", by_alias=True, exclude_unset=True)

    def _parse_result(self, payload: dict[str, Any]) -> StepResult[CounterGameObservation]:
        seen = payload.get("observation") or {}
        reward = payload.get("reward")
        done = payload.get("done", False)
        metadata = payload.get("metadata") or seen.get("metadata") or {}
        observation = CounterGameObservation.model_validate(
            {**seen, "reward": reward, "done": done, "metadata": metadata}
        )
        return StepResult(
            observation=observation, reward=reward, done=done, metadata=metadata
        )

    def _parse_state(self, payload: dict[str, Any]) -> CounterGameState:
        return CounterGameState.model_validate(payload)
