"""The recorded environments in Python, as transcripts/environments.json describes them and environments.ts has them."""

import time
import uuid
from asyncio import sleep
from datetime import datetime
from enum import Enum
from typing import Any, Dict, List, Literal, Optional, Set, Tuple, Union

from fastmcp import FastMCP
from openenv.core.env_server import Action, Environment, Observation, State
from openenv.core.env_server.mcp_environment import MCPEnvironment
from openenv.core.env_server.mcp_types import CallToolAction, CallToolObservation
from openenv.core.env_server.types import EnvironmentMetadata
from pydantic import BaseModel, Field
from unions import UNIONS

SLOW_S = 3


class CounterAction(Action):
    """Add an amount to the counter."""

    amount: int = Field(ge=-100, le=100, description="How much to add")


class CounterObservation(Observation):
    """The counter value."""

    count: int = Field(default=0, description="Current count")


class CounterState(State):
    """Counter state."""

    total: int = Field(default=0, description="Sum of absolute amounts this session")


class CounterEnv(Environment):
    SUPPORTS_CONCURRENT_SESSIONS = True

    def __init__(self):
        super().__init__()
        self._count = 0
        self._state = CounterState()

    def reset(self, seed=None, episode_id=None, start: int = 0):
        if start == -1:
            raise ValueError("start must not be -1")
        self._count = start
        self._state.episode_id = episode_id
        self._state.step_count = 0
        return CounterObservation(count=start, metadata={} if seed is None else {"seed": seed})

    def step(self, action: CounterAction, timeout_s=None):
        if action.amount == 13:
            raise ValueError("unlucky amount")
        if action.amount == 50:
            time.sleep(SLOW_S)
        self._count += action.amount
        self._state.step_count += 1
        self._state.total += abs(action.amount)
        metadata = {} if timeout_s is None else {"timeout_s": timeout_s}
        if action.metadata:
            metadata["echo"] = action.metadata
        done = self._count >= 10
        return CounterObservation(count=self._count, done=done, reward=float(action.amount), metadata=metadata)

    @property
    def state(self):
        return self._state


class BrokenEnv(CounterEnv):
    def __init__(self):
        raise RuntimeError("no environment today")


class AsyncEnv(CounterEnv):
    async def reset_async(self, seed=None, episode_id=None, **kw):
        self._count = 0
        return CounterObservation(metadata={"via": "async", "kw": kw})

    async def step_async(self, action: CounterAction, timeout_s=None, **kw):
        self._count += action.amount
        metadata = {"via": "async", "kw": kw, "timeout_s": timeout_s}
        return CounterObservation(count=self._count, reward=float(action.amount), metadata=metadata)


class NoArgumentsEnv(CounterEnv):
    def reset(self):
        return CounterObservation()


class BadStateEnv(CounterEnv):
    @property
    def state(self):
        raise RuntimeError("no state yet")

    def step(self, action: CounterAction):
        return CounterObservation(count=action.amount, reward=float(action.amount))


class DictStateEnv(CounterEnv):
    @property
    def state(self):
        return {"episode_id": "d", "step_count": 1, "k": [1]}


class TasksEnv(CounterEnv):
    SIZE = 3

    def reset(self, seed=None, episode_id=None, split=None, index=None):
        if split is None or index is None:
            return CounterObservation()
        return CounterObservation(metadata={"split": split, "index": index, "task": self.get_task(split, index)})

    def list_splits(self):
        return ["train", "test", "holdout", {"name": "extra", "type": "test", "note": "x"}]

    def num_tasks(self, split: str):
        if split == "nope":
            raise ValueError("no such split")
        return self.SIZE

    def list_tasks(self, split: str):
        return [self.get_task(split, index) for index in range(self.SIZE)]

    def get_task(self, split: str, index: int):
        if not 0 <= index < self.SIZE:
            raise IndexError(index)
        return {"id": f"{split}-{index}", "index": index}

    def get_task_range(self, split: str, start=None, stop=None):
        return self.list_tasks(split)[start:stop]


class Color(str, Enum):
    RED = "red"
    BLUE = "blue"


class Point(BaseModel):
    x: int
    y: float = 0.5
    label: Optional[str] = None


class KindsAction(Action):
    text: str = Field(min_length=1, max_length=20, description="A text")
    whole: int = Field(default=3, ge=0, le=10)
    ratio: float = Field(default=0.25, gt=0, lt=1)
    flag: bool = False
    color: Color = Color.RED
    pick: Literal["a", "b"] = "a"
    maybe: Optional[int] = None
    items: List[int] = Field(default_factory=list, max_length=3)
    table: Dict[str, float] = Field(default_factory=dict)
    point: Point = Field(default_factory=lambda: Point(x=1))
    maybe_point: Optional[Point] = None
    points: List[Point] = Field(default_factory=list)
    either: Union[int, str] = 0
    pair: Tuple[int, str] = (1, "one")
    when: Optional[datetime] = None
    ident: Optional[uuid.UUID] = None
    anything: Any = None
    reward_kind: Literal["none", "int", "float", "true", "false", "nan", "inf", "string"] = "none"


class KindsObservation(Observation):
    text: str = ""
    color: Color = Color.RED
    pick: Literal["a", "b"] = "a"
    maybe: Optional[int] = None
    items: List[int] = Field(default_factory=list)
    unique: Set[int] = Field(default_factory=set)
    table: Dict[str, float] = Field(default_factory=dict)
    int_keys: Dict[int, str] = Field(default_factory=dict)
    point: Optional[Point] = None
    points: List[Point] = Field(default_factory=list)
    either: Union[int, str] = 0
    pair: Tuple[int, str] = (1, "one")
    when: Optional[datetime] = None
    ident: Optional[uuid.UUID] = None
    blob: bytes = b"ab"
    anything: Any = None
    big: int = 2**60
    ratio: float = 1.0
    required_no_default: str


COPIED = "text color pick maybe items table point points either pair when ident anything".split()
REWARDS = {"none": None, "int": 2, "float": 2.0, "true": True, "false": False, "nan": float("nan"), "inf": float("inf")}


class KindsEnv(Environment):
    def __init__(self):
        super().__init__()
        self._state = State(episode_id="fixed")

    def reset(self, seed=None, episode_id=None, **kwargs):
        self._state = State(episode_id=episode_id, last_kwargs=sorted(kwargs))
        metadata = {"kwargs": kwargs} if kwargs else {}
        return KindsObservation(required_no_default="reset", anything=kwargs or None, metadata=metadata)

    def step(self, action: KindsAction, timeout_s=None, **kwargs):
        self._state.step_count += 1
        if action.reward_kind == "string":
            return {"reward": "much"}
        return KindsObservation(
            **{name: getattr(action, name) for name in COPIED},
            unique=set(action.items),
            int_keys={item: str(item) for item in action.items},
            ratio=float("nan") if action.reward_kind == "nan" else action.ratio,
            required_no_default="step",
            reward=REWARDS[action.reward_kind],
            metadata={"kwargs": kwargs} if kwargs else {},
        )

    @property
    def state(self):
        return self._state

    def get_metadata(self):
        return EnvironmentMetadata(
            name="Kinds",
            description="Every kind of field",
            readme_content="# Kinds",
            version="2.3.4",
            author="someone",
            documentation_url="https://example.org/docs",
        )


class ToolsEnv(MCPEnvironment):
    SUPPORTS_CONCURRENT_SESSIONS = True

    def __init__(self):
        mcp = FastMCP("tools")
        self._tally = 0
        self._state = State()

        @mcp.tool
        def add(a: int, b: int = 1) -> int:
            """Add two numbers."""
            return a + b

        @mcp.tool
        def describe(name: str) -> dict:
            """Describe a name."""
            return {"name": name, "length": len(name)}

        @mcp.tool
        def bump() -> int:
            """Increase a per-session tally."""
            self._tally += 1
            return self._tally

        @mcp.tool
        def boom(why: str) -> str:
            """Always fails."""
            raise ValueError(why)

        @mcp.tool
        def nothing() -> type(None):
            """Returns nothing."""

        self.add_tools(mcp)
        super().__init__(mcp)

    def add_tools(self, mcp: FastMCP):
        """For environments with one tool more."""

    def reset(self, seed=None, episode_id=None, **kwargs):
        self._state = State(episode_id=episode_id)
        return Observation(reward=0.0, metadata={"status": "ready"})

    def step(self, action, timeout_s=None, **kwargs):
        self._state.step_count += 1
        return super().step(action, timeout_s=timeout_s, **kwargs)

    async def step_async(self, action, timeout_s=None, **kwargs):
        self._state.step_count += 1
        return await super().step_async(action, timeout_s=timeout_s, **kwargs)

    def _step_impl(self, action, timeout_s=None, **kwargs):
        return Observation()

    @property
    def state(self):
        return self._state


class NanToolsEnv(ToolsEnv):
    def add_tools(self, mcp: FastMCP):
        @mcp.tool
        def nan() -> dict:
            """No number."""
            return {"v": float("nan")}


class SlowToolsEnv(ToolsEnv):
    def add_tools(self, mcp: FastMCP):
        @mcp.tool
        async def slow() -> str:
            """Takes its time."""
            await sleep(SLOW_S)
            return "done"


def counter(env=CounterEnv, name="counter", state=CounterState):
    classes = {"action_cls": CounterAction, "observation_cls": CounterObservation, "state_cls": state}
    return {"env": env, "env_name": name, **classes}


def tools(env=ToolsEnv, action=CallToolAction, observation=CallToolObservation):
    return {"env": env, "env_name": "tools", "action_cls": action, "observation_cls": observation}


# Arguments of create_app by the name that transcripts give the environment.
ENVIRONMENTS = {
    "counter": counter(),
    "counter-production": counter(),
    "counter-timeout": counter(),
    "counter-web": counter(),
    "web-production": counter(),
    "reap1": counter(),
    "counter-default-state": counter(state=State),
    "broken": counter(BrokenEnv, "broken", State),
    "async": counter(AsyncEnv, "async"),
    "noargs": counter(NoArgumentsEnv, "noargs"),
    "badstate": counter(BadStateEnv, "badstate"),
    "dictstate": counter(DictStateEnv, "dictstate"),
    "tasks": counter(TasksEnv, "Tasks"),
    "kinds": {
        "env": KindsEnv,
        "env_name": "kinds",
        "action_cls": KindsAction,
        "observation_cls": KindsObservation,
    },
    **UNIONS,
    "tools": tools(),
    "tools-generic": tools(action=Action, observation=Observation),
    "tools-other-action": tools(action=KindsAction, observation=KindsObservation),
    "nan-tools": tools(NanToolsEnv),
    "slow-tools": tools(SlowToolsEnv),
}
