# Written by `openenv client python`; a change is lost when it is run again.
"""The client of coding_env."""

from typing import Any

from openenv.core import EnvClient
from openenv.core.client_types import StepResult

from .models import CodingAction, CodingObservation, CodingState


class CodingEnv(EnvClient[CodingAction, CodingObservation, CodingState]):
    """One session of coding_env.

    Example:
        >>> with CodingEnv(base_url="http://localhost:8000").sync() as env:
        ...     result = env.reset()
        ...     print(result.observation)
    """

    def _step_payload(self, action: CodingAction) -> dict[str, Any]:
        # What was left out is the server's to fill in.
        return action.model_dump(mode="json", by_alias=True, exclude_unset=True)

    def _parse_result(self, payload: dict[str, Any]) -> StepResult[CodingObservation]:
        seen = payload.get("observation") or {}
        reward = payload.get("reward")
        done = payload.get("done", False)
        metadata = payload.get("metadata") or seen.get("metadata") or {}
        observation = CodingObservation.model_validate(
            {**seen, "reward": reward, "done": done, "metadata": metadata}
        )
        return StepResult(
            observation=observation, reward=reward, done=done, metadata=metadata
        )

    def _parse_state(self, payload: dict[str, Any]) -> CodingState:
        return CodingState.model_validate(payload)
