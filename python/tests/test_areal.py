"""The workflow of the page in the executor of AReaL, with cuts, and a rollout that is lost. Needs torch."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from conftest import Proxy
from test_own_loop import read_code
from trainers import stand_in

torch = pytest.importorskip("torch")
LARGE = ("torchdata", "ray", "megatron", "sglang", "vllm", "swanlab", "numba", "einops", "flask", "werkzeug")
stand_in("areal", *LARGE, "hydra", "omegaconf", "lark", "aiofiles", "aiohttp", "pybase64", "tenacity")

from areal.api import ModelResponse
from areal.api.cli_args import InferenceEngineConfig
from areal.infra.workflow_executor import WorkflowExecutor


class Engine:
    """A scripted model, which cuts the connection with each answer."""

    def __init__(self, proxy: Proxy, texts: list[str]) -> None:
        self.proxy, self.texts = proxy, iter(texts)

    def get_version(self) -> int:
        return 3

    async def agenerate(self, request: Any) -> ModelResponse:
        self.proxy.cut_at_answer = True
        written = list(next(self.texts).encode())
        count = len(written)
        return ModelResponse(request.input_ids, written, [-0.5] * count, [self.get_version()] * count)


def rollout(proxy: Proxy, texts: list[str]) -> Any:
    script: dict[str, Any] = {"__name__": __name__}
    exec(read_code("own_loop.py", "async def generate"), script)
    exec(read_code("areal_workflow.py").replace("http://localhost:8000", proxy.url), script)
    workflow = script["RemoteWorkflow"](script["play"], SimpleNamespace())
    config = InferenceEngineConfig(max_head_offpolicyness=9, check_trajectory_format=True)
    executor = WorkflowExecutor(config, Engine(proxy, texts))
    executor.initialize(train_data_parallel_size=1)
    try:
        task = executor.submit({"seed": 7}, workflow)
        return executor.wait_for_task(task, 60)
    finally:
        executor.destroy()


def test_a_rollout_has_masks_versions_and_a_reward(text_proxies: list[Proxy]) -> None:
    proxy = text_proxies[0]
    row = rollout(proxy, ["a", "bb", "stop"])
    assert row["rewards"].tolist() == [7]
    [ids], [mask], [versions] = (row[name].tolist() for name in ("input_ids", "loss_mask", "versions"))
    written = bytes(one for one, is_model in zip(ids, mask, strict=True) if is_model)
    assert written.decode() == "abbstop"
    assert versions == [3 if one else -1 for one in mask]
    assert row["logprobs"].tolist() == [[-0.5 if one else 0.0 for one in mask]]
    assert not proxy.cut_at_answer


def test_a_lost_rollout_is_rejected(text_proxies: list[Proxy]) -> None:
    proxy = text_proxies[0]
    assert rollout(proxy, ["a", "lose"]) is None
