"""An environment with tools, served by the released Python package; mirror-environment.ts has the same.

Usage: python mirror_server.py <capacity>
"""

from fastmcp import FastMCP
from openenv.core.env_server import Observation, State, create_fastapi_app
from openenv.core.env_server.mcp_environment import MCPEnvironment
from openenv.core.env_server.mcp_types import CallToolAction, CallToolObservation
from server import serve


class MirrorEnvironment(MCPEnvironment):
    SUPPORTS_CONCURRENT_SESSIONS = True

    def __init__(self) -> None:
        mcp = FastMCP("mirror")
        self._tally = 0
        self._state = State()

        @mcp.tool
        def add(a: int, b: int = 1) -> int:
            """Adds two numbers."""
            return a + b

        @mcp.tool
        def describe(name: str) -> dict:
            """Describes a name."""
            return {"name": name, "length": len(name)}

        @mcp.tool
        def tally() -> int:
            """Counts its calls."""
            self._tally += 1
            return self._tally

        @mcp.tool
        def fail(why: str) -> str:
            """Always fails."""
            raise ValueError(why)

        super().__init__(mcp)

    def reset(self, seed=None, episode_id=None, **kwargs) -> Observation:
        self._tally = 0
        self._state = State(episode_id=episode_id, step_count=0)
        return Observation(done=False, reward=0.0, metadata={"status": "ready"})

    def step(self, action, timeout_s=None, **kwargs) -> Observation:
        self._state.step_count += 1
        return super().step(action, timeout_s=timeout_s, **kwargs)

    async def step_async(self, action, timeout_s=None, **kwargs) -> Observation:
        self._state.step_count += 1
        return await super().step_async(action, timeout_s=timeout_s, **kwargs)

    def _step_impl(self, action, timeout_s=None, **kwargs) -> Observation:
        raise NotImplementedError("tools only")

    @property
    def state(self) -> State:
        return self._state


def create_app(capacity: int):
    return create_fastapi_app(
        MirrorEnvironment, CallToolAction, CallToolObservation, env_name="Mirror", max_concurrent_envs=capacity
    )


if __name__ == "__main__":
    serve(create_app)
