# Written by `openenv client python`; a change is lost when it is run again.
"""The client of echo_env."""

from __future__ import annotations

from typing import Any

from openenv.core import EnvClient
from openenv.core.client_types import StepResult
from openenv.core.env_server.mcp_types import (
    CallToolAction,
    CallToolObservation,
    ListToolsAction,
    ListToolsObservation,
)
from openenv.core.sync_client import SyncEnvClient

from .models import EchoAction, EchoObservation, EchoState
from .tools import EchoTools, SyncEchoTools


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


class EchoEnv(EnvClient[EchoAction | CallToolAction | ListToolsAction, EchoObservation, EchoState]):
    """One session of echo_env.

    Example:
        >>> with EchoEnv(base_url="http://localhost:8000").sync() as env:
        ...     result = env.reset()
        ...     print(result.observation)
    """

    @property
    def tools(self) -> EchoTools:
        """The tools of the environment as methods."""
        if self._execution_mode == "sync":
            return SyncEchoTools(self)  # type: ignore
        return EchoTools(self)

    def sync(self) -> SyncEchoEnv:
        """The same client with calls that block."""
        client = self._sync_client
        if not isinstance(client, SyncEchoEnv):
            client = self._sync_client = SyncEchoEnv(self)
        return client

    async def __aenter__(self) -> EchoEnv:
        await super().__aenter__()
        return self

    async def _receive(self) -> dict[str, Any]:
        answer = await super()._receive()
        if answer.get("type") == "error":
            raise RemoteError(answer.get("data") or {})
        return answer

    def _step_payload(self, action: EchoAction | CallToolAction | ListToolsAction) -> dict[str, Any]:
        # What was left out is the server's to fill in.
        payload = action.model_dump(mode="json", by_alias=True, exclude_unset=True)
        if isinstance(action, (CallToolAction, ListToolsAction)):
            payload["type"] = action.type
        return payload

    def _parse_result(self, payload: dict[str, Any]) -> StepResult[Any]:
        seen = payload.get("observation") or {}
        reward = payload.get("reward")
        done = payload.get("done", False)
        metadata = payload.get("metadata") or seen.get("metadata") or {}
        observation = _model_of(seen).model_validate(
            {**seen, "reward": reward, "done": done, "metadata": metadata}
        )
        return StepResult(
            observation=observation, reward=reward, done=done, metadata=metadata
        )

    def _parse_state(self, payload: dict[str, Any]) -> EchoState:
        return EchoState.model_validate(payload)


def _model_of(seen: dict[str, Any]) -> Any:
    if seen.keys() >= {"tool_name", "result", "error"}:
        return CallToolObservation
    return ListToolsObservation if seen.keys() - {"metadata"} == {"tools"} else EchoObservation


class SyncEchoEnv(SyncEnvClient[EchoAction | CallToolAction | ListToolsAction, EchoObservation, EchoState]):
    """One session of EchoEnv, with calls that block."""

    @property
    def tools(self) -> SyncEchoTools:
        """The tools of the environment as methods."""
        return SyncEchoTools(self)

    def new_session(self) -> SyncEchoEnv:
        client = self._async._create_session_client().sync()
        client.connect()
        self._child_clients.append(client)
        return client

    def __enter__(self) -> SyncEchoEnv:
        super().__enter__()
        return self
