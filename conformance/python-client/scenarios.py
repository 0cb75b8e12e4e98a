"""Runs the released Python clients against servers of another implementation.

Argument: one JSON object with the URLs `open`, `strict` (capacity 1, requires a reset first), `production`, `tools`, `echo`,
`nobody`. Prints one JSON line for each scenario: its name, and the result or error of each call. The scenario `restart`
prints that it waits, and continues when it reads a line.
"""

import asyncio
import json
import sys
from types import SimpleNamespace
from typing import Any

from openenv import AutoEnv, GenericEnvClient
from openenv.cli.__main__ import app as command_line
from openenv.core.client_types import StepResult
from openenv.core.env_client import EnvClient
from openenv.core.env_server.mcp_types import CallToolAction, ListToolsAction
from openenv.core.env_server.types import Action, Observation, State
from openenv.core.mcp_client import MCPToolClient
from openenv.validation.graders.runtime.basic import (
    ObservationSchemaGrader,
    RewardWellFormedGrader,
    StateContractGrader,
)
from openenv.validation.runtime.collector import collect_runtime_evidence
from openenv.validation.runtime.contracts import RuntimePlan
from typer.testing import CliRunner

SLOW = {"amount": 50}


class CounterAction(Action):
    amount: int


class CounterObservation(Observation):
    count: int


class CounterState(State):
    total: int


class CounterClient(EnvClient[CounterAction, CounterObservation, CounterState]):
    def _step_payload(self, action: CounterAction) -> dict:
        return action.model_dump()

    def _parse_result(self, payload: dict) -> StepResult[CounterObservation]:
        ending = {"reward": payload["reward"], "done": payload["done"]}
        return StepResult(observation=CounterObservation(**payload["observation"], **ending), **ending)

    def _parse_state(self, payload: dict) -> CounterState:
        return CounterState(**payload)


def plain(result: Any) -> Any:
    """Converts the result of a client to JSON."""
    if isinstance(result, StepResult):
        return {name: plain(getattr(result, name)) for name in ("observation", "reward", "done", "metadata")}
    return result.model_dump() if hasattr(result, "model_dump") else result


def raised(error: Exception) -> dict:
    return {"raised": type(error).__name__, "message": str(error)}


def tried(call: Any) -> Any:
    try:
        return plain(call())
    except Exception as error:
        return raised(error)


async def awaited(call: Any) -> Any:
    try:
        return plain(await call)
    except Exception as error:
        return raised(error)


def reset_step_state_close(urls: dict):
    with GenericEnvClient(base_url=urls["open"]).sync() as env:
        yield tried(lambda: env.reset(seed=1, episode_id="e1", start=2, extra="x"))
        yield tried(lambda: env.step({"amount": 3}))
        yield tried(env.state)


def errors_and_headers(urls: dict):
    headers = {"Authorization": "Bearer t", "X-Test": "1"}
    with GenericEnvClient(base_url=urls["open"], headers=headers).sync() as env:
        yield tried(lambda: env.step({"amount": 13}))
        yield tried(lambda: env.step({"bogus": 1}))
        yield tried(lambda: env.step({"amount": 1}, timeout_s=5))


def base_url_path(urls: dict):
    yield tried(GenericEnvClient(base_url=urls["open"] + "/prefix").sync().reset)


def refused(urls: dict):
    yield tried(GenericEnvClient(base_url=urls["nobody"]).sync().reset)


async def async_client(urls: dict):
    async with GenericEnvClient(base_url=urls["open"]) as env:
        yield await awaited(env.reset())


async def typed_client(urls: dict):
    async with CounterClient(base_url=urls["open"]) as env:
        yield await awaited(env.reset(seed=1, episode_id="typed"))
        yield await awaited(env.step(CounterAction(amount=4, metadata={"k": 1})))
        yield await awaited(env.step(CounterAction(amount=1000)))
        yield await awaited(env.state())


async def side_by_side(urls: dict):
    async def play(amount: int) -> list:
        async with GenericEnvClient(base_url=urls["open"]) as env:
            await env.reset()
            return [(await env.step({"amount": amount})).observation["count"] for _ in range(3)]

    yield await asyncio.gather(*(play(amount) for amount in range(8)))


def auto_env(urls: dict):
    with AutoEnv.from_env("someone/counter", base_url=urls["open"], skip_install=True).sync() as env:
        yield tried(env.reset)


def auto_env_refused(urls: dict):
    yield tried(lambda: AutoEnv.from_env("someone/counter", base_url=urls["nobody"], skip_install=True))


def capacity(urls: dict):
    with GenericEnvClient(base_url=urls["strict"]).sync() as first:
        first.reset()
        second = GenericEnvClient(base_url=urls["strict"]).sync()
        second.connect()
        yield "connected"
        yield tried(second.reset)
    with GenericEnvClient(base_url=urls["strict"]).sync() as third:
        yield tried(third.reset)


def message_timeout(urls: dict):
    with GenericEnvClient(base_url=urls["strict"], message_timeout_s=3).sync() as env:
        env.reset()
        yield tried(lambda: env.step({"amount": 1}))
        yield tried(lambda: env.step(SLOW))
        yield tried(lambda: env.step({"amount": 1}))
        yield tried(env.reset)
        yield tried(lambda: env.step({"amount": 1}))


def restart(urls: dict):
    with GenericEnvClient(base_url=urls["strict"]).sync() as env:
        env.reset()
        env.step({"amount": 5})
        print(json.dumps({"scenario": "restart", "waits": True}), flush=True)
        sys.stdin.readline()
        yield tried(lambda: env.step({"amount": 1}))
        yield tried(env.reset)
        yield tried(lambda: env.step({"amount": 1}))


async def mcp_without_tools(urls: dict):
    async with MCPToolClient(base_url=urls["production"]) as env:
        yield await awaited(env.list_tools())
        yield await awaited(env.call_tool("x"))
        yield await awaited(env.reset(episode_id="over-mcp"))
        yield await awaited(env.state())
    async with GenericEnvClient(base_url=urls["production"]) as env:
        yield await awaited(env.state())


async def mcp_full(urls: dict):
    async with MCPToolClient(base_url=urls["tools"]) as env:
        yield await awaited(env.reset(seed=3))
        yield [plain(tool) for tool in (await env.list_tools())[:1]]
        yield await awaited(env.call_tool("add", a=1, b=2))
        try:
            yield await env.call_tool("describe", name="bob")
        except TypeError as error:
            yield raised(error)
        yield await awaited(env.call_tool("boom", why="x"))
        yield await awaited(env.call_tool("nope"))
        yield await awaited(env.step(CallToolAction(tool_name="bump", arguments={})))
        yield await awaited(env.call_tool("bump"))
        yield [plain(tool) for tool in (await env.step(ListToolsAction())).observation.tools[:1]]
        yield await awaited(env.state())


async def echo(urls: dict):
    async with GenericEnvClient(base_url=urls["echo"]) as env:
        yield await awaited(env.reset())
        yield await awaited(env.step({"message": "hi"}))
        yield await awaited(env.step({"type": "call_tool", "tool_name": "echo_message", "arguments": {"message": "hi"}}))
    async with MCPToolClient(base_url=urls["echo"]) as env:
        yield [tool.name for tool in await env.list_tools()]
        yield await awaited(env.call_tool("echo_message", message="héllo"))
        yield await awaited(env.call_tool("echo_with_length", message="héllo 👋"))
        result = await env.step(ListToolsAction())
        yield [type(result.observation).__name__, [tool.name for tool in result.observation.tools], result.reward]


async def mcp_capacity(urls: dict):
    async with MCPToolClient(base_url=urls["strict"]):
        yield await awaited(MCPToolClient(base_url=urls["strict"]).connect())
    async with GenericEnvClient(base_url=urls["strict"]) as env:
        yield await awaited(env.reset())


def validate_url(url: str):
    result = CliRunner().invoke(command_line, ["validate", "--url", url, "--json"])
    yield result.exit_code
    yield json.loads(result.stdout)


def validate_episode(url: str, actions: list):
    plan = RuntimePlan(plan_schema_version="1", reset={"episode_id": "ep-1", "seed": 7}, actions=actions)
    evidence = collect_runtime_evidence(url, plan, episode_timeout_s=20)
    manifest = SimpleNamespace(reward=SimpleNamespace(range=(-100, 100)))
    subject = SimpleNamespace(runtime_evidence=evidence, manifest=manifest)
    checks = [grader().run(subject) for grader in (RewardWellFormedGrader, ObservationSchemaGrader, StateContractGrader)]
    yield {
        "failure": evidence.failure_reason,
        "exchanges": [
            {"operation": one.operation, "request": json.loads(one.request_json), "response": json.loads(one.response_json)}
            for one in evidence.exchanges
        ],
        "checks": [{"id": check.check_id, "status": check.status.value, "evidence": check.evidence} for check in checks],
    }


SCENARIOS = {
    "client/generic/reset-step-state-close": reset_step_state_close,
    "client/generic/errors-and-headers": errors_and_headers,
    "client/generic/base-url-path": base_url_path,
    "client/generic/refused": refused,
    "client/generic/async": async_client,
    "client/autoenv/base-url": auto_env,
    "client/generic/capacity": capacity,
    "client/mcp/against-non-mcp-env": mcp_without_tools,
    "client/mcp/capacity": mcp_capacity,
    "client/mcp/full": mcp_full,
    "echo": echo,
    "validator/url/simulation": lambda urls: validate_url(urls["open"]),
    "validator/url/production": lambda urls: validate_url(urls["production"]),
    "validator/runtime/counter": lambda urls: validate_episode(urls["open"], [{"amount": 2}, {"amount": 9}]),
    "validator/runtime/error": lambda urls: validate_episode(urls["open"], [{"amount": 13}]),
    "validator/runtime/mcp": lambda urls: validate_episode(
        urls["tools"], [{"type": "call_tool", "tool_name": "add", "arguments": {"a": 1}}]
    ),
    "typed": typed_client,
    "side-by-side": side_by_side,
    "autoenv-refused": auto_env_refused,
    "message-timeout": message_timeout,
    "restart": restart,
}


async def collected(results: Any) -> list:
    return [result async for result in results]


def main() -> None:
    urls = json.loads(sys.argv[1])
    for name, scenario in SCENARIOS.items():
        steps = scenario(urls)
        try:
            results = asyncio.run(collected(steps)) if hasattr(steps, "__aiter__") else list(steps)
        except Exception as error:
            results = [raised(error)]
        print(json.dumps({"scenario": name, "results": results}), flush=True)


if __name__ == "__main__":
    main()
