"""The agent of the page in the executor of OpenRLHF, with cuts, and a rollout that is lost and played again."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import numpy
import pytest
from conftest import Proxy
from test_own_loop import read_code
from trainers import skip_init, stand_in

from openenv_ts import OpenEnvError

stand_in("openrlhf", "torch", "transformers", "ray", "vllm", "deepspeed")
skip_init("openrlhf.utils")


def tokenize(*, text: str, **_: Any) -> Any:
    return {"input_ids": [numpy.array(list(text.encode()), dtype=int)]}


class Engine:
    """A scripted model, which cuts the connection with each answer."""

    def __init__(self, proxy: Proxy, texts: list[str]) -> None:
        self.proxy, self.texts = proxy, iter(texts)

    async def generate(self, ids: list[int], params: Any, **_: Any) -> Any:
        self.proxy.cut_at_answer = True
        text = next(self.texts)
        logprobs = [{one: SimpleNamespace(logprob=-0.5)} for one in text.encode()]
        output = {"token_ids": list(text.encode()), "text": text, "finish_reason": "stop", "logprobs": logprobs}
        return SimpleNamespace(outputs=[SimpleNamespace(**output)])


def execute(proxy: Proxy, texts: list[str]) -> Any:
    script: dict[str, Any] = {}
    exec(read_code("openrlhf_agent.py").replace("http://localhost:8000", proxy.url), script)
    params = SimpleNamespace(max_tokens=None, logprobs=1)
    return asyncio.run(
        script["AgentExecutor"]().execute("Write. ", "7", params, 200, tokenize, Engine(proxy, texts)),
    )


def test_an_episode_has_the_tokens_of_the_model_as_ranges(text_proxies: list[Proxy]) -> None:
    proxy = text_proxies[0]
    played = execute(proxy, ["a", "bb", "stop"])
    assert played["reward"] == 7
    tokens = played["observation_tokens"]
    assert bytes(tokens).decode() == "Write. seed 7" + "a" + "seed 7 a" + "bb" + "seed 7 a bb" + "stop"
    assert [bytes(tokens[start:end]).decode() for start, end in played["action_ranges"]] == ["a", "bb", "stop"]
    assert sum(one == -0.5 for one in played["rollout_log_probs"]) == 7
    assert not proxy.cut_at_answer


def test_a_lost_rollout_is_played_again_from_its_beginning(text_proxies: list[Proxy]) -> None:
    proxy = text_proxies[0]
    played = execute(proxy, ["bb", "lose", "a", "stop"])
    assert played["reward"] == 5
    assert bytes(played["observation_tokens"]).decode() == "Write. seed 7" + "a" + "seed 7 a" + "stop"
    with pytest.raises(OpenEnvError, match="the simulator is gone"):
        execute(proxy, ["lose"] * 3)
