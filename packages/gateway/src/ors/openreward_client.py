"""Plays an environment through the SDK `openreward`: reads a plan from standard input, prints what it saw as JSON.

`OPENREWARD_API_URL` and `OPENREWARD_SESSION_URL` name the server.
"""

import dataclasses
import json
import os
import sys
import urllib.request

from openreward import OpenReward
from openreward.api.errors import ToolCallError, ToolFailed


def main() -> None:
    plan = json.load(sys.stdin)
    client = OpenReward(api_key="key-of-the-client")
    env = client.environments.get("any", variant=plan.get("variant"))
    tasks = env.get_task_range("train", 0, 3)
    seen = {
        "splits": env.list_splits(),
        "num_tasks": env.num_tasks("train"),
        "listed": len(env.list_tasks("train")),
        "tasks": [task.task_spec for task in tasks],
        "environment": tasks[0].environment_name,
        "tools": [tool.name for tool in env.list_tools()],
        "sessions": [play(env.session(split="train", index=0), plan), play(env.session(task=tasks[0]), plan)],
    }
    assert env.get_task("train", 2).task_spec == tasks[2].task_spec
    print(json.dumps(seen))


def play(opened, plan) -> dict:
    with opened as session:
        prompt = session.get_prompt()
        assert session.get_messages()[0].blocks == prompt
        tools = session.list_tools()
        steps = [call(session, tool, given) for tool, given in plan["calls"]]
        return {
            "prompt": [dataclasses.asdict(block) for block in prompt],
            "tools": [tool.name for tool in tools],
            "schemas": [tool["parameters"] for tool in session.list_tools("openai")],
            "scores": session.supports_score_group(),
            "steps": steps,
            "step_count": count_steps(session.sid),
        }


def call(session, tool, given) -> dict:
    try:
        output = session.call_tool(tool, given)
    except ToolCallError as error:
        return {"refused": error.reason}
    except ToolFailed as error:
        return {"failed": str(error)}
    blocks = [dataclasses.asdict(block) for block in output.blocks]
    return {"blocks": blocks, "reward": output.reward, "finished": output.finished, "metadata": output.metadata}


def count_steps(sid: str) -> int:
    """The same session through a route of OpenEnv."""
    request = urllib.request.Request(os.environ["OPENREWARD_API_URL"] + "/state", headers={"openenv-session": sid})
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)["step_count"]


main()
