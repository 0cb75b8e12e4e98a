"""The clients of AgileRL with a scripted policy: in process, where the session is remote, and its own remote client."""

from __future__ import annotations

import sys
import types
from collections.abc import Iterator

import pytest
from conftest import Proxy, Server
from trainers import skip_init, stand_in

LARGE = ("torch", "accelerate", "tensordict", "pettingzoo", "transformers")
stand_in("agilerl", *LARGE, "agilerl.arena", "agilerl.vector")
pytest.importorskip("openenv")

import agilerl

agilerl.HAS_LLM_DEPENDENCIES = True
skip_init("agilerl.llm_envs")
helpers = types.ModuleType("agilerl.utils.algo_utils")
helpers.is_str_keyed_dict = lambda value: isinstance(value, dict)  # type: ignore[attr-defined]
sys.modules[helpers.__name__] = helpers

from agilerl.llm_envs.openenv import InProcessEnvClient, RemoteEnvClient
from agilerl.llm_envs.tool_parsers import ParsedToolCall

from openenv_ts import ConnectionLostError
from openenv_ts.environment import RemoteEnvironment, RemoteToolEnvironment


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    started = Server("text.mjs", MAX_STEPS="3")
    yield started
    started.kill()


def test_in_process_an_episode_of_text_survives_cuts(server: Server, proxy: Proxy) -> None:
    client = InProcessEnvClient(RemoteEnvironment(proxy.url))
    assert (client.tools, client.takes_tool_calls, client.dataset_size) == ([], False, 0)
    payload, _ = client.reset(seed=7)
    assert payload["prompt"] == "seed 7"
    results = []
    for message in ("a", "bb", "ccc"):
        proxy.cut_at_answer = True
        results.append(client.step(message)[:4])
        assert not proxy.cut_at_answer
    payloads, rewards, terminated, truncated = zip(*results, strict=True)
    assert [payload["prompt"] for payload in payloads] == ["seed 7 a", "seed 7 a bb", "seed 7 a bb ccc"]
    assert rewards == (1, 2, 3)
    # A limit is no end of the task.
    assert (terminated, truncated) == ((False, False, False), (False, False, True))
    client.reset(seed=8)
    assert client.step("stop")[2:4] == (True, False)
    client.close()


def test_in_process_a_lost_episode_raises(server: Server) -> None:
    client = InProcessEnvClient(RemoteEnvironment(server.url))
    client.reset()
    client.step("a")
    with pytest.raises(ConnectionLostError):
        client.step("lose")
    assert client.reset()[0]["prompt"] == "seed 0"
    client.close()


def test_in_process_tools_are_called() -> None:
    running = Server()
    try:
        client = InProcessEnvClient(RemoteToolEnvironment(running.url))
        assert client.takes_tool_calls
        [tool] = client.tools
        assert tool["function"]["parameters"]["required"] == ["amount"]
        client.reset(seed=1)
        for expected in (4, 8):
            payload, *_, info = client.step(ParsedToolCall("", "add", {"amount": 4}))
            assert payload["result"]["data"] == expected
            assert info["role"] == "tool"
        client.close()
    finally:
        running.kill()


def test_the_remote_client_sees_that_a_limit_ended_the_episode(server: Server) -> None:
    client = RemoteEnvClient(server.url)
    assert not client.takes_tool_calls
    client.reset(seed=7)
    assert [client.step(message)[2:4] for message in "abc"] == [(False, False), (False, False), (False, True)]
    client.reset(seed=8)
    assert client.step("stop")[2:4] == (True, False)
    client.close()


def test_the_remote_client_loses_its_episode_with_the_connection(server: Server, proxy: Proxy) -> None:
    client = RemoteEnvClient(f"{proxy.url}/session/name-of-the-agilerl-session")
    client.reset()
    proxy.cut_at_answer = True
    with pytest.raises(Exception, match="close"):
        client.step("a")
    with pytest.raises(RuntimeError, match="broken"):
        client.step("b")
    assert client.reset()[0]["prompt"] == "seed 0"
    client.close()
