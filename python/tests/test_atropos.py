"""The loop of the page in a group of Atropos: its tokens, masks and scores, and a rollout that is lost."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

from conftest import Proxy
from test_own_loop import read_code
from trainers import stand_in

LARGE = ("torch", "transformers", "wandb", "jsonlines", "pydantic_cli", "tenacity", "markdown", "datasets")
stand_in("atroposlib", *LARGE)

from atroposlib.envs.base import BaseEnv


class Environment(BaseEnv):
    """Made without what it needs of a server of models."""

    def __init__(self, proxies: list[Proxy], texts: list[str]) -> None:
        self.script: dict[str, Any] = {"__name__": __name__}
        exec(read_code("own_loop.py", "async def generate"), self.script)
        self.proxies, self.texts = list(proxies), texts
        self.config = SimpleNamespace(group_size=2, include_messages=False)
        self.running_items = {"one": {"item": 7}}
        self.task_duration, self.task_successful = [], []
        self.succeeded_task_duration, self.failed_task_duration = [], []
        self.sent: list[Any] = []

    async def collect_trajectory(self, item: int) -> Any:
        left, proxy = iter(self.texts), self.proxies.pop()

        async def generate(ids: list[int]) -> Any:
            proxy.cut_at_answer = True
            return self.script["encode"](next(left)), None

        rollout = await self.script["play"](proxy.url, item, generate)
        if rollout.reward is None:
            raise RuntimeError("the rollout was lost")
        tokens = rollout.prompt_ids + rollout.response_ids
        mask = [0] * len(rollout.prompt_ids) + rollout.mask
        masks = [token if one else -100 for token, one in zip(tokens, mask, strict=True)]
        return {"tokens": tokens, "masks": masks, "scores": rollout.reward}, []

    async def postprocess_histories(self, trajectories: Any) -> Any:
        return trajectories

    async def handle_send_to_api(self, scored_data: Any, item: Any = None, *_: Any, **__: Any) -> None:
        self.sent.append(scored_data)

    async def get_next_item(self) -> Any:
        return 7

    async def evaluate(self, *_: Any, **__: Any) -> None:
        pass

    async def setup(self) -> None:
        pass


def test_a_group_is_sent_with_its_masks(text_proxies: list[Proxy]) -> None:
    environment = Environment(text_proxies, ["a", "bb", "stop"])
    asyncio.run(environment.handle_env("one"))
    [group] = environment.sent
    assert group["scores"] == [7, 7]
    assert group["tokens"][0] == group["tokens"][1]
    assert bytes(token for token in group["masks"][0] if token != -100).decode() == "abbstop"
    assert not any(proxy.cut_at_answer for proxy in text_proxies)


def test_a_group_with_a_lost_rollout_is_not_sent(text_proxies: list[Proxy]) -> None:
    environment = Environment(text_proxies, ["a", "lose"])
    asyncio.run(environment.handle_env("one"))
    assert environment.sent == []
    assert environment.task_successful == [0]
