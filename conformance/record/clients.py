"""What was recorded with the released Python clients."""

import asyncio
import sys
import time
from pathlib import Path

sys.path.append(str(Path(__file__).parent.parent / "python-client"))

import scenarios  # noqa: E402
from openenv import GenericEnvClient  # noqa: E402
from openenv.core.mcp_client import MCPToolClient  # noqa: E402
from scenarios import awaited, collected, raised, tried  # noqa: E402

NOBODY = "http://127.0.0.1:9"


def capacity(urls):
    with GenericEnvClient(base_url=urls["open"]).sync():
        refused = GenericEnvClient(base_url=urls["open"]).sync()
        refused.connect()
        yield "connected"
        # The client finds its socket closed, and connects again.
        time.sleep(1)
        yield tried(refused.reset)
        refused.close()


def message_timeout(urls):
    with GenericEnvClient(base_url=urls["open"], message_timeout_s=2).sync() as env:
        yield tried(lambda: env.step({"amount": 1}))
        yield tried(lambda: env.step(scenarios.SLOW))
        yield tried(lambda: env.step({"amount": 1}))


async def mcp_capacity(urls):
    first, second, third = (MCPToolClient(base_url=urls["tools"]) for _ in range(3))
    await first.connect()
    await second.connect()
    yield await awaited(third.connect())
    await first.close()
    await second.close()


async def mcp_without_tools(urls):
    async with MCPToolClient(base_url=urls["open"]) as env:
        yield await awaited(env.list_tools())
        yield await awaited(env.call_tool("x"))


CASES = {
    **scenarios.SCENARIOS,
    "client/generic/capacity": capacity,
    "client/generic/message-timeout": message_timeout,
    "client/mcp/capacity": mcp_capacity,
    "client/mcp/against-non-mcp-env": mcp_without_tools,
    # Without the exit code.
    "validator/url/simulation": lambda urls: list(scenarios.validate_url(urls["open"]))[1:],
    "validator/url/production": lambda urls: list(scenarios.validate_url(urls["production"]))[1:],
}


def play(case, url):
    """What the calls of a case return or raise."""
    steps = CASES[case]({"open": url, "production": url, "tools": url, "nobody": NOBODY})
    try:
        return asyncio.run(collected(steps)) if hasattr(steps, "__aiter__") else list(steps)
    except Exception as error:
        return [raised(error)]
