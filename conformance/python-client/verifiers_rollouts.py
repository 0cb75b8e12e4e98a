"""Runs an evaluation of verifiers against each server; prints the results as one JSON list.

The arguments are a folder for its files, the URL of the model, and `name=url` for each server. The name is also the name
of the model.
"""

import asyncio
import json
import sys

import httpx
import verifiers.v1 as vf
from verifiers.v1.cli.eval.runner import run_eval
from verifiers.v1.configs.cli.eval import EvalConfig
from verifiers.v1.dialects.chat import message_to_wire

__all__ = ["ChatHarness"]


class ChatHarness(vf.Harness[vf.HarnessConfig]):
    """Calls the model once for each turn in this process, because the harnesses of the package install packages."""

    SUPPORTS_RESUME = True
    EXECUTES_CODE = False
    NEEDS_CONTAINER = False

    async def launch(self, ctx, trace, runtime, endpoint, secret, mcp_urls, data):
        messages = [message_to_wire(message) for message in data.prompt]
        async with httpx.AsyncClient() as http:
            response = await http.post(
                f"{endpoint}/chat/completions",
                headers={"Authorization": f"Bearer {secret}"},
                json={"model": ctx.model, "messages": messages},
            )
        return vf.ProgramResult(0 if response.is_success else 1, "", response.text)


async def play(folder, model_url, name, url):
    player = {
        "harness": {"id": "verifiers_rollouts"},
        "runtime": {"type": "subprocess"},
    }
    config = EvalConfig.model_validate(
        {
            "env": {"taskset": {"id": "openenv", "base_url": url}, "player": player},
            "model": name,
            "client": {"base_url": model_url},
            "serve": None,
            "rich": None,
            "push": False,
            "output_dir": folder,
        }
    )
    [episode] = await run_eval(config)
    [trace] = episode.traces
    return {
        "ok": episode.ok,
        "errors": [error.message for error in [*episode.errors, *trace.errors]],
        "stop": trace.stop_condition,
        "rewards": {name: reward.score for name, reward in trace.rewards.items()},
        "prompts": [
            json.loads(node.message.content)
            for node in trace.nodes
            if node.message.role == "user"
        ],
    }


async def main():
    folder, model_url, *servers = sys.argv[1:]
    results = [
        await play(folder, model_url, *server.split("=", 1)) for server in servers
    ]
    print(json.dumps(results))


if __name__ == "__main__":
    asyncio.run(main())
