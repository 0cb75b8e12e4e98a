"""The coroutine of the page in groups of ART, with cuts, and a rollout that is lost."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

from conftest import Proxy
from test_own_loop import read_code
from trainers import stand_in

stand_in("openpipe-art", "litellm", "weave", "polars", "transformers", "torch", "setproctitle", "nest_asyncio", "tblib")

import art
from openai.types.chat.chat_completion import Choice


class Client:
    """An OpenAI client with a scripted model, which cuts a connection with each answer."""

    def __init__(self, proxy: Proxy, texts: list[str]) -> None:
        self.proxy, self.texts = proxy, iter(texts)
        self.chat = SimpleNamespace(completions=self)
        self.asked: list[Any] = []

    async def create(self, *, model: str, messages: list[Any]) -> Any:
        self.asked = messages
        self.proxy.cut_at_answer = True
        message = {"role": "assistant", "content": next(self.texts)}
        choice = {"finish_reason": "stop", "index": 0, "message": message}
        return SimpleNamespace(choices=[Choice.model_validate(choice)])


def gather(proxies: list[Proxy], texts: list[list[str]], most: int) -> Any:
    """Groups of two rollouts."""
    clients = [Client(proxy, one) for proxy, one in zip(proxies, texts, strict=False)]

    def start(client: Client) -> Any:
        script: dict[str, Any] = {}
        exec(read_code("art_rollout.py").replace("http://localhost:8000", client.proxy.url), script)
        return script["rollout"](client, "scripted", 7)

    async def all_groups() -> Any:
        groups = [art.TrajectoryGroup([start(one) for one in clients[at : at + 2]]) for at in range(0, len(clients), 2)]
        return await art.gather_trajectory_groups(groups, pbar_desc=None, max_exceptions=most)

    return clients, asyncio.run(all_groups())


def test_groups_have_the_answers_of_the_model_and_rewards(text_proxies: list[Proxy]) -> None:
    clients, groups = gather(text_proxies, [["a", "bb", "stop"], ["stop"], ["bb", "stop"], ["a", "stop"]], 0)
    # A group has them in the order in which they ended.
    assert [sorted(one.reward for one in group) for group in groups] == [[4, 7], [5, 6]]
    [first] = [one.messages_and_choices for one in groups[0] if one.reward == 7]
    assert [one.message.content for one in first if isinstance(one, Choice)] == ["a", "bb", "stop"]
    prompts = [one["content"] for one in first if not isinstance(one, Choice)]
    assert prompts == ["seed 7", "seed 7 a", "seed 7 a bb"]
    assert [one["role"] for one in clients[0].asked] == ["user", "assistant", "user", "assistant", "user"]
    assert not any(proxy.cut_at_answer for proxy in text_proxies)


def test_a_lost_rollout_is_an_exception_and_no_trajectory(text_proxies: list[Proxy]) -> None:
    _, groups = gather(text_proxies, [["a", "lose"], ["stop"]], 1)
    [group] = groups
    assert [one.reward for one in group] == [4]
    [lost] = group.exceptions
    assert "ConnectionLostError" in lost.type
