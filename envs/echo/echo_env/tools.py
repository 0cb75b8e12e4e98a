# Written by `openenv client python`; a change is lost when it is run again.
"""The tools of EchoEnv."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from openenv.core.client_types import StepResult
from openenv.core.env_server.mcp_types import CallToolAction
from pydantic import TypeAdapter

from .models import (
    EchoEchoMessageArguments,
    EchoEchoWithLengthArguments,
    EchoEchoWithLengthResult,
)

if TYPE_CHECKING:
    from .client import EchoEnv, SyncEchoEnv

T = TypeVar("T")
UNSET: Any = object()
"""An argument that is not sent, so that the server fills in its default."""


@dataclass(frozen=True)
class ToolCallResult(Generic[T]):
    """What a call gave: a call is a step, which may earn a reward and end the episode."""

    data: T
    reward: bool | int | float | None
    done: bool
    metadata: dict[str, Any]


class ToolCallError(Exception):
    """A tool gave no result; the step may have earned a reward all the same."""

    def __init__(self, tool_name: str, error: Any, result: StepResult[Any]) -> None:
        super().__init__(error.message)
        self.tool_name = tool_name
        self.error_type = str(getattr(error.error_type, "value", error.error_type))
        self.reward = result.reward
        self.done = result.done


def _call(name: str, model: Any, given: dict[str, Any]) -> CallToolAction:
    sent = {key: value for key, value in given.items() if value is not UNSET}
    arguments = model(**sent).model_dump(mode="json", by_alias=True, exclude_unset=True) if model else {}
    return CallToolAction(tool_name=name, arguments=arguments)


def _result(name: str, result: StepResult[Any], returns: Any) -> ToolCallResult[Any]:
    observation = result.observation
    if observation.error is not None:
        raise ToolCallError(name, observation.error, result)
    given = observation.result
    data = given["data"] if isinstance(given, dict) and "data" in given else given
    return ToolCallResult(
        data=TypeAdapter(returns).validate_python(data),
        reward=result.reward,
        done=result.done,
        metadata=result.metadata or {},
    )


class EchoTools:
    """The tools of the environment. A call is a step."""

    def __init__(self, env: EchoEnv) -> None:
        self._env = env

    async def echo_message(
        self,
        *,
        message: str,
    ) -> ToolCallResult[str]:
        """Says a text back."""
        return _result(
            "echo_message",
            await self._env.step(
                _call("echo_message", EchoEchoMessageArguments, {
                    "message": message,
                })
            ),
            str,
        )

    async def echo_with_length(
        self,
        *,
        message: str,
    ) -> ToolCallResult[EchoEchoWithLengthResult]:
        """Says a text back, with its length in characters."""
        return _result(
            "echo_with_length",
            await self._env.step(
                _call("echo_with_length", EchoEchoWithLengthArguments, {
                    "message": message,
                })
            ),
            EchoEchoWithLengthResult,
        )


class SyncEchoTools:
    """The tools of the environment. A call is a step."""

    def __init__(self, env: SyncEchoEnv) -> None:
        self._env = env

    def echo_message(
        self,
        *,
        message: str,
    ) -> ToolCallResult[str]:
        """Says a text back."""
        return _result(
            "echo_message",
            self._env.step(
                _call("echo_message", EchoEchoMessageArguments, {
                    "message": message,
                })
            ),
            str,
        )

    def echo_with_length(
        self,
        *,
        message: str,
    ) -> ToolCallResult[EchoEchoWithLengthResult]:
        """Says a text back, with its length in characters."""
        return _result(
            "echo_with_length",
            self._env.step(
                _call("echo_with_length", EchoEchoWithLengthArguments, {
                    "message": message,
                })
            ),
            EchoEchoWithLengthResult,
        )
