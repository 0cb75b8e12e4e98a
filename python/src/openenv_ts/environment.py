"""A remote session as an ``Environment`` of the Python package ``openenv``, for programs that play such objects."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, ClassVar

from openenv.core.env_server.interfaces import Environment
from openenv.core.env_server.mcp_environment import MCPEnvironment
from openenv.core.env_server.mcp_types import (
    CallToolAction,
    CallToolObservation,
    ListToolsAction,
    ListToolsObservation,
    Tool,
)
from openenv.core.env_server.types import Action, EnvironmentMetadata, Observation, State
from pydantic import BaseModel, ConfigDict, create_model

from ._agents import MODEL_TOOL_ERRORS, NO_TASKS, begin
from ._server import plain
from .errors import OpenEnvError, RemoteError, reading
from .options import ConnectOptions
from .results import JsonObject, StepResult
from .sync import connect

if TYPE_CHECKING:
    from typing_extensions import Unpack

KEPT = ("VALIDATION_ERROR", "EPISODE_DONE")
"""Errors of a step that leave the episode as it was."""


class RemoteAction(Action):
    """Any action. The server that has the session validates it."""

    model_config = ConfigDict(extra="allow")


class RemoteObservation(Observation):
    """Any observation. ``truncated`` is true when a limit ended the episode, and else absent."""

    model_config = ConfigDict(extra="allow")


class RemoteToolObservation(CallToolObservation):
    """The result of a tool call. ``truncated`` is true when a limit ended the episode, and else absent."""

    model_config = ConfigDict(extra="allow")
    error: dict[str, Any] | None = None
    """As the server sent it: it can have more fields than a ``ToolError``."""


class RemoteEnvironment(Environment):
    """One session on a server. The first reset opens it, and ``close`` ends it::

        app = create_app(partial(RemoteEnvironment, "http://localhost:8000"), RemoteAction, RemoteObservation)

    Errors are those of ``connect``. After one that loses the episode ``close`` raises it again: a program that then
    reads the reward must not take the rewards so far for those of the whole episode. ``outage`` is how long a reset
    waits for a server that is away or full, seconds. Other options are those of ``connect``.
    """

    SUPPORTS_CONCURRENT_SESSIONS = True
    ACTION_CLS: ClassVar[type[Action]] = RemoteAction
    OBSERVATION_CLS: ClassVar[type[Observation]] = RemoteObservation
    """Where AgileRL reads the classes."""

    def __init__(self, url: str, *, outage: float = 600.0, **options: Unpack[ConnectOptions]) -> None:
        Environment.__init__(self)
        self.lost: OpenEnvError | None = None
        """Why the episode is lost; None when it is not."""
        self._outage = outage
        self._env = connect(url, **options)
        self._has_episode = False

    def reset(self, seed: int | None = None, episode_id: str | None = None, **kwargs: Any) -> Observation:
        """Starts an episode. An option that is None is not sent."""
        given = {"seed": seed, "episode_id": episode_id, **kwargs}
        options = {name: value for name, value in given.items() if value is not None}
        self._has_episode, self.lost = False, None
        first = self._env._run(begin(self._env._env, options, self._outage))
        self._has_episode = True
        return _to_observation(RemoteObservation, first)

    def step(self, action: Action, timeout_s: float | None = None, **kwargs: Any) -> Observation:
        if isinstance(action, ListToolsAction):
            tools = self._env.list_tools(timeout=timeout_s)
            return ListToolsObservation(
                tools=[Tool(name=one.name, description=one.description, input_schema=one.input_schema) for one in tools]
            )
        fields = action.model_dump(mode="json", fallback=plain)
        if not fields["metadata"]:
            del fields["metadata"]
        is_call = isinstance(action, CallToolAction)
        try:
            result = self._env.step(fields, timeout=timeout_s)
            observation = _to_observation(RemoteToolObservation if is_call else RemoteObservation, result)
        except OpenEnvError as error:
            if self._has_episode and error.code not in KEPT:
                self.lost = error
            raise
        failed = observation.error if is_call else None
        if failed is not None and failed.get("error_type") not in MODEL_TOOL_ERRORS:
            self.lost = RemoteError("TOOL_FAILED", str(failed.get("message")))
        return observation

    @property
    def state(self) -> State:
        """The state, from the server; the default before the first reset."""
        return State(**self._env.state()) if self._has_episode else State()

    def get_metadata(self) -> EnvironmentMetadata:
        answer = self._env.get("/metadata")
        with reading:
            return EnvironmentMetadata(**{name: answer.get(name) for name in EnvironmentMetadata.model_fields})

    def list_splits(self) -> list[Any]:
        return list(self._ask("splits", None))

    def list_tasks(self, split: str) -> list[Any]:
        return list(self._ask("tasks", {"split": split})["tasks"])

    def num_tasks(self, split: str) -> int:
        return int(self._ask("num_tasks", {"split": split})["num_tasks"])

    def get_task(self, split: str, index: int) -> Any:
        return self._ask("task", {"split": split, "index": index})["task"]

    def get_task_range(self, split: str, start: int | None = None, stop: int | None = None) -> list[Any]:
        bounds = {"start": start, "stop": stop}
        given = {name: value for name, value in bounds.items() if value is not None}
        return list(self._ask("task_range", {"split": split, **given})["tasks"])

    def _ask(self, what: str, body: JsonObject | None) -> Any:
        """Asks for tasks. Raises what the server of ``openenv`` expects when there are none, or no such task."""
        try:
            [name, *_] = self._env.get("/list_environments")
            path = f"/{name}/{what}"
            return self._env.get(path) if body is None else self._env.post(path, body)
        except RemoteError as error:
            status = error.details.get("status")
            if status in NO_TASKS:
                raise NotImplementedError(f"{self._env.url} has no tasks") from error
            if status == 400:
                raise IndexError(error.message) from error
            raise

    def close(self) -> None:
        """Ends the session. Raises why the episode is lost, if it is."""
        self._has_episode = False
        self._env.close()
        if self.lost is not None:
            raise self.lost


class RemoteToolEnvironment(RemoteEnvironment, MCPEnvironment):
    """One session of an environment with tools, for programs that look for ``MCPEnvironment``::

    app = create_app(partial(RemoteToolEnvironment, "http://localhost:8000"), CallToolAction, CallToolObservation)
    """

    ACTION_CLS = CallToolAction
    OBSERVATION_CLS = RemoteToolObservation
    # The tools are on the server: there is no FastMCP server or client here.
    mcp_server = mcp_client = mcp_session = None
    step_async = Environment.step_async

    def _step_impl(self, action: Action, timeout_s: float | None = None, **kwargs: Any) -> Observation:
        return self.step(action, timeout_s)


@reading
def _to_observation(kind: Any, result: StepResult[JsonObject]) -> Any:
    fields = {"truncated": True} if result.outcome == "truncated" else {}
    fields |= result.observation
    names = tuple(sorted(name for name in fields if name.isidentifier() and not hasattr(BaseModel, name)))
    seen = {"reward": result.reward, "done": result.done, "metadata": result.metadata}
    return _with_fields(kind, names)(**{**fields, **seen})


@functools.lru_cache(maxsize=256)
def _with_fields(kind: Any, names: tuple[str, ...]) -> Any:
    """The class with these fields: programs such as AgileRL read only those that are declared."""
    missing: Any = {name: (Any, None) for name in names if name not in kind.model_fields and name[0] != "_"}
    return create_model(kind.__name__, __base__=kind, **missing)
