"""The classes of the page, in the scheduler of ms-swift with a scripted model."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import Proxy, Server, metric, opened, wait_for
from trainers import stand_in

stand_in("ms-swift", "torch", "transformers", "accelerate", "modelscope", "datasets", "peft", "json_repair")
pytest.importorskip("openenv")

from swift.infer_engine.protocol import (
    ChatCompletionResponse,
    ChatCompletionResponseChoice,
    ChatMessage,
    RequestConfig,
    RolloutInferRequest,
    UsageInfo,
)
from swift.rollout import openenv_wrapper

PAGE = Path(__file__).parents[2] / "docs/guide/train/ms-swift.md"


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    started = Server("text.mjs", OPENENV_OPERATOR_TOKEN="operator")
    yield started
    started.kill()


@pytest.fixture(scope="module")
def page() -> dict[str, Any]:
    [code] = re.findall(r"^```python file=openenv_plugin.py\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    script: dict[str, Any] = {}
    exec(code, script)
    return script


class Tokenizer:
    """A token for each character."""

    @staticmethod
    def decode(ids: list[int], **_: Any) -> str:
        return "".join(map(chr, ids))


class Model:
    """Writes the next message. ``before`` is called first."""

    template = None

    def __init__(self, messages: list[str], before: Any = None) -> None:
        self._messages, self._before = iter(messages), before

    async def infer_async(self, request: Any, config: Any, **_: Any) -> Any:
        if self._before:
            self._before()
        message = ChatMessage("assistant", next(self._messages))
        choice = ChatCompletionResponseChoice(0, message, "stop", token_ids=[*map(ord, message.content)])
        return ChatCompletionResponse("scripted", [choice], UsageInfo(1, 1, 2))


def play(page: dict[str, Any], url: str, model: Model, **options: Any) -> Any:
    scheduler = page["NamedScheduler"](model, tokenizer=Tokenizer(), **options)
    config = {"base_url": url, "reset_kwargs": {"seed": 5}}
    given = [{"role": "user", "content": "-"}]
    request = RolloutInferRequest(messages=given, data_dict={"env_config": config}, uuid="one")
    return asyncio.run(scheduler.run(request, RequestConfig()))


def test_no_step_is_repeated_when_answers_are_cut(
    server: Server, proxy: Proxy, page: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(openenv_wrapper, "_RETRY_DELAY", 0.01)
    messages = [*(f"m{turn}" for turn in range(45)), "stop"]
    cuts = []

    def cut() -> None:
        proxy.cut_at_answer = True
        cuts.append(True)

    output = play(page, proxy.url, Model(messages, cut))
    assert not proxy.cut_at_answer
    assert len(cuts) == 46
    infos = output.rollout_infos
    assert infos["step_rewards"] == [len(message) for message in messages]
    assert infos["total_reward"] == sum(map(len, messages))
    assert (infos["num_turns"], infos["gym_done"]) == (46, True)
    # The last observation that the model read has each message once.
    assert json.loads(output.messages[-2]["content"])["prompt"] == " ".join(["seed 5", *messages[:-1]])
    wait_for(lambda: opened(server.url) == 0)


def test_a_lost_rollout_is_played_again(server: Server, page: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(openenv_wrapper, "_RETRY_DELAY", 0.01)
    output = play(page, server.url, Model(["a", "lose", "bb", "stop"]))
    assert output.rollout_infos["step_rewards"] == [2, 4]
    with pytest.raises(page["RolloutLostError"]):
        play(page, server.url, Model(["lose"] * 3))
    wait_for(lambda: opened(server.url) == 0)


def test_a_rollout_that_the_trainer_ends_leaves_no_session(server: Server, page: dict[str, Any]) -> None:
    before = metric(server.url, "openenv_sessions_opened_total")
    output = play(page, server.url, Model(["a", "bb", "c"]), max_turns=2)
    assert output.rollout_infos["step_rewards"] == [1, 2]
    assert metric(server.url, "openenv_sessions_opened_total") == before + 1
    wait_for(lambda: opened(server.url) == 0)
