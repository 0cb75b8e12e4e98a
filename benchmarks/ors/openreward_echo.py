"""The server side of openreward with one tool that echoes its message. Prints READY and its port."""

import socket

import uvicorn
from openreward.environments import Environment, JSONObject, Server, TextBlock, ToolOutput, tool
from pydantic import BaseModel


class Echo(BaseModel):
    message: str


class EchoEnv(Environment):
    @classmethod
    def list_splits(cls):
        return ["train"]

    @classmethod
    def num_tasks(cls, split: str) -> int:
        return 1

    @classmethod
    def list_tasks(cls, split: str):
        return [{"seed": 0}]

    @classmethod
    def get_task(cls, split: str, index: int) -> JSONObject:
        return {"seed": index}

    def get_prompt(self):
        return [TextBlock(text="Call the tool.")]

    @tool
    async def echo_message(self, params: Echo) -> ToolOutput:
        """Returns a string."""
        return ToolOutput(blocks=[TextBlock(text=params.message)], reward=0.0, finished=False)


listener = socket.create_server(("127.0.0.1", 0))
print(f"READY {listener.getsockname()[1]}", flush=True)
server = Server([EchoEnv])
config = uvicorn.Config(server.app, access_log=False, log_level="warning", timeout_keep_alive=60)
uvicorn.Server(config).run(sockets=[listener])
