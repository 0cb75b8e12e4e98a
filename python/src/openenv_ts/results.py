"""What the calls of an environment return."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, Literal, TypeVar

from .errors import ENDED, Fault, OpenEnvError, RemoteError, protocol_error, reading

JsonObject = dict[str, Any]
Outcome = Literal["ok", "terminated", "truncated", "env_error", "lost"]
ObservationT = TypeVar("ObservationT")
R = TypeVar("R", bound="StepResult[Any]")


@dataclass(slots=True)
class StepResult(Generic[ObservationT]):
    """The result of a reset or a step."""

    observation: ObservationT
    reward: float | bool | None
    done: bool
    metadata: JsonObject
    """Free-form data of the environment."""
    outcome: Outcome = "ok"
    """``terminated``: the episode ended. ``truncated``: a limit, such as a time limit, ended it."""
    warnings: list[str] = field(default_factory=list)
    """Problems with the call that the server accepted."""
    digest: str | None = None
    """Equal for equal states of the environment, with ``digest=True``."""
    event: int | None = None
    """The number of the event in the session, from a server that can resume sessions."""
    recovered: bool = False
    """True when the connection was lost during the call and the session was resumed."""
    url: str | None = None
    """The page of the session on its server, for a log. The address gives no access to the session."""


@dataclass(slots=True)
class Tool:
    """A tool of an environment."""

    name: str
    description: str
    input_schema: JsonObject
    """JSON Schema of the arguments."""


@dataclass(slots=True)
class ToolResult:
    """The result of a tool call, which is a step."""

    data: Any
    """What the tool returned; None after an error."""
    text: str
    """The result as text, for a language model."""
    reward: float | bool | None
    done: bool
    metadata: JsonObject
    error: str | None = None
    """Why the tool returned no result."""
    error_type: str | None = None


@dataclass(slots=True)
class VectorResult(StepResult[Any]):
    """The result of one session of a vector environment.

    With ``outcome`` ``env_error`` or ``lost`` there is no result, only ``error``: mask it, it is not a reward of 0. The
    observation and the reward are None. ``metadata`` then has the code of the error as ``error_code``, its ``fault``,
    and ``lost`` for a lost episode, for programs that keep only metadata.
    """

    done: bool | None  # type: ignore[assignment]
    """True also when the session has ended; None when it is still open after an error."""
    index: int = 0
    error: OpenEnvError | None = None
    began: bool = False
    """True for the first result of an episode: of a reset, or of a step that autoreset replaced with a reset."""
    reopened: bool = False
    """True when this or ``next`` is the first result of a session that replaces a lost one."""
    group_id: int | None = None
    """The number of the group that the episode belongs to, after ``reset_groups``. Also ``group_id`` of the metadata,
    unless the environment has one."""
    tool: ToolResult | None = None
    """What the tool returned, after ``call_tools``."""
    next: VectorResult | None = None
    """The first result of the next episode, with ``same-step``."""

    @property
    def fault(self) -> Fault | None:
        """Who caused the error; None without one."""
        return None if self.error is None else self.error.fault


@reading
def read_result(kind: type[R], answer: JsonObject, extensions: Sequence[str], recovered: bool) -> R:
    """Reads an ``observation`` frame. ``metadata`` is moved from the observation to the result."""
    data, event = answer["data"], answer.get("event")
    observation, done, reward = data.get("observation"), data.get("done"), data.get("reward")
    if not isinstance(observation, dict) or not isinstance(done, bool):
        raise protocol_error("a result has no observation, or no done")
    if reward is not None and not (isinstance(reward, (int, float)) and math.isfinite(reward)):
        raise protocol_error("a reward is not a finite number, a boolean or null")
    inner = observation.pop("metadata", None)
    outer = data.get("metadata")
    metadata: JsonObject = outer if isinstance(outer, dict) else inner if isinstance(inner, dict) else {}
    result = kind(observation, reward, done, metadata, recovered=recovered)
    if done:
        result.outcome = "truncated" if metadata.get("truncated") is True else "terminated"
    if isinstance(event, int):
        result.event = event
    added = metadata.get("openenv")
    if extensions and isinstance(added, dict):
        if "digest" in extensions and isinstance(added.get("digest"), str):
            result.digest = added["digest"]
        if "warnings" in extensions and isinstance(added.get("warnings"), list):
            result.warnings = [str(one) for one in added["warnings"]]
    return result


def to_failed_result(index: int, error: OpenEnvError) -> VectorResult:
    ended = not isinstance(error, RemoteError) or error.wire_code in ENDED
    lost = {"lost": True} if error.outcome == "lost" else {}
    metadata: JsonObject = {"error_code": error.code, "fault": error.fault, **lost}
    return VectorResult(None, None, True if ended else None, metadata, error.outcome, index=index, error=error)


def in_group(result: VectorResult, group_id: int | None) -> VectorResult:
    """Marks the group of a result, also in its metadata, where the environment's own data stays."""
    result.group_id = group_id
    if group_id is not None:
        result.metadata = {"group_id": group_id, **result.metadata}
    return result


@reading
def read_tools(data: JsonObject) -> list[Tool]:
    """Reads the answer to ``tools/list``; servers use two names for the schema."""
    tools = data.get("result", {}).get("tools") if isinstance(data.get("result"), dict) else None
    if not isinstance(tools, list):
        raise protocol_error("an answer does not contain a list of tools")
    return [_read_tool(tool) for tool in tools]


def _read_tool(tool: JsonObject) -> Tool:
    schema = tool.get("inputSchema") or tool.get("input_schema") or {"type": "object"}
    properties, required = schema.get("properties") or {}, schema.get("required") or []
    if not all(isinstance(one, dict) for one in properties.values()) or not all(
        name in properties for name in required
    ):
        raise ValueError(f"the schema of a tool is {schema!r}")
    return Tool(str(tool["name"]), str(tool.get("description") or ""), schema)


def call_action(name: str, arguments: JsonObject) -> JsonObject:
    """The action that calls a tool."""
    return {"type": "call_tool", "tool_name": name, "arguments": arguments}


@reading
def read_tool_result(name: str, step: StepResult[JsonObject]) -> ToolResult:
    earned = (step.reward, step.done, step.metadata)
    error, result = step.observation.get("error"), step.observation.get("result")
    if isinstance(error, dict):
        message = str(error.get("message") or f'The tool "{name}" failed.')
        return ToolResult(None, message, *earned, error=message, error_type=str(error.get("error_type")))
    if not isinstance(result, dict) or "data" not in result:
        return ToolResult(result, _to_text(result), *earned)
    content = result.get("content")
    texts = [part.get("text") for part in content if isinstance(part, dict)] if isinstance(content, list) else []
    text = "\n".join(_to_text(one) for one in (texts or [result["data"]]) if one is not None)
    return ToolResult(result["data"], text, *earned)


def _to_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)
