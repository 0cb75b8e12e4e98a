"""`python python_reference.py echo|echo-async|tools|text|numbers`: the same environments on the Python package openenv.

Runs under uvicorn with uvloop, without logs. The package and its echo environment use plain methods, each step of
which runs in a thread. `echo-async` is the best case: asynchronous methods, which run on the event loop."""

import base64
import gc
import signal
import sys

import uvicorn
from fastmcp import FastMCP
from openenv.core.env_server.http_server import create_fastapi_app
from openenv.core.env_server.interfaces import Environment
from openenv.core.env_server.mcp_environment import MCPEnvironment
from openenv.core.env_server.mcp_types import CallToolAction, CallToolObservation
from openenv.core.env_server.types import Action, Observation, State

TEXT = "\n".join(f"{line:06d}: {'lorem ipsum ' * 4}dolor" for line in range(16_000))
NUMBERS = [index * 7919 % 256 for index in range(280_000)]
BYTES = bytes(index * 7919 % 256 for index in range(750_000))


class EchoAction(Action):
    message: str


class EchoObservation(Observation):
    echoed_message: str = ""
    message_length: int = 0


class LargeAction(Action):
    pass


class TextObservation(Observation):
    text: str = ""


class NumbersObservation(Observation):
    values: list[int] = []


class Echo(Environment):
    SUPPORTS_CONCURRENT_SESSIONS = True

    def reset(self, seed=None, episode_id=None):
        return EchoObservation(reward=0.0)

    def step(self, action, timeout_s=None):
        length = len(action.message)
        return EchoObservation(echoed_message=action.message, message_length=length, reward=length * 0.1)

    @property
    def state(self):
        return State()


class AsyncEcho(Echo):
    async def reset_async(self, seed=None, episode_id=None):
        return self.reset()

    async def step_async(self, action, timeout_s=None):
        return self.step(action)


class Tools(MCPEnvironment):
    SUPPORTS_CONCURRENT_SESSIONS = True

    def __init__(self):
        mcp = FastMCP("tools")

        @mcp.tool
        def echo_message(message: str) -> str:
            """Returns the message."""
            return message

        super().__init__(mcp)

    def reset(self, seed=None, episode_id=None, **kwargs):
        return Observation(reward=0.0)

    def _step_impl(self, action, timeout_s=None, **kwargs):
        return Observation()

    @property
    def state(self):
        return State()


class Text(Echo):
    def reset(self, seed=None, episode_id=None):
        return TextObservation()

    def step(self, action, timeout_s=None):
        return TextObservation(text=TEXT, reward=1.0)


class ValueObservation(Observation):
    value: str = ""


class Base64(Echo):
    """The bytes of sizes.mjs, as JSON can have them."""

    def reset(self, seed=None, episode_id=None):
        return ValueObservation()

    def step(self, action, timeout_s=None):
        return ValueObservation(value=base64.b64encode(BYTES).decode(), reward=1.0)


class LongText(Echo):
    def reset(self, seed=None, episode_id=None):
        return ValueObservation()

    def step(self, action, timeout_s=None):
        return ValueObservation(value=TEXT, reward=1.0)


class Numbers(Echo):
    def reset(self, seed=None, episode_id=None):
        return NumbersObservation()

    def step(self, action, timeout_s=None):
        return NumbersObservation(values=NUMBERS, reward=1.0)


class ReadyServer(uvicorn.Server):
    async def startup(self, sockets=None):
        await super().startup(sockets)
        print("READY", self.servers[0].sockets[0].getsockname()[1], flush=True)


environment, action, observation = {
    "echo": (Echo, EchoAction, EchoObservation),
    "echo-async": (AsyncEcho, EchoAction, EchoObservation),
    "tools": (Tools, CallToolAction, CallToolObservation),
    "text": (Text, LargeAction, TextObservation),
    "numbers": (Numbers, LargeAction, NumbersObservation),
    "text-1m": (LongText, LargeAction, ValueObservation),
    "bytes-1m": (Base64, LargeAction, ValueObservation),
}[sys.argv[1]]
signal.signal(signal.SIGUSR2, lambda *_: gc.collect())
app = create_fastapi_app(environment, action, observation, max_concurrent_envs=20_000)
ReadyServer(uvicorn.Config(app, host="127.0.0.1", port=0, log_level="warning", ws_per_message_deflate=False)).run()
