"""An environment with tools, served by the released Python package like the counter of server.py."""

from fastmcp import FastMCP
from openenv.core.env_server import Observation, State, create_fastapi_app
from openenv.core.env_server.mcp_environment import MCPEnvironment
from openenv.core.env_server.mcp_types import CallToolAction, CallToolObservation
from server import serve


class DeskEnvironment(MCPEnvironment):
    SUPPORTS_CONCURRENT_SESSIONS = True

    def __init__(self) -> None:
        mcp = FastMCP("desk")
        self._tally = 0
        self._state = State()

        @mcp.tool
        def greet(name: str) -> dict:
            """Greets."""
            return {"greeting": f"Hello, {name}!"}

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
        self._state = State(episode_id=episode_id)
        return Observation(done=False, reward=0.0, metadata={"ready": True})

    def _step_impl(self, action, timeout_s=None, **kwargs) -> Observation:
        raise NotImplementedError("tools only")

    @property
    def state(self) -> State:
        return self._state


def create_app(capacity: int):
    return create_fastapi_app(
        DeskEnvironment, CallToolAction, CallToolObservation, env_name="Desk", max_concurrent_envs=capacity
    )


if __name__ == "__main__":
    serve(create_app)
