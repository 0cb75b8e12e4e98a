"""An OpenEnv server in plain Python with `websockets`. Its answers depend on the seed, the actions and nothing else.

An action is {"text": "..."}. It is echoed, and it can be an order: "exit", "kill", "hang", "leak" (64 MiB) or "sleep".
"""

import asyncio
import json
import os
import random
import signal
import time

from websockets.asyncio.server import serve
from websockets.datastructures import Headers
from websockets.http11 import Response

TEXT = {"type": "object", "properties": {"text": {"type": "string"}}, "additionalProperties": False}
NUMBERS = {"text": {"type": "string"}, "number": {"type": "integer"}, "count": {"type": "integer"}}
SEEN = {"type": "object", "properties": NUMBERS}
COUNT = {"type": "object", "properties": {"step_count": {"type": "integer"}, "episode_id": {"type": ["string", "null"]}}}
ANSWERS = {
    "/health": {"status": "healthy"},
    "/metadata": {"name": "tiny_upstream", "description": "Echoes texts.", "version": "1.0.0"},
    "/schema": {"action": TEXT, "observation": SEEN, "state": COUNT},
}
ORDERS = {
    "exit": lambda: os._exit(3),
    "kill": lambda: os.kill(os.getpid(), signal.SIGKILL),
    "hang": lambda: time.sleep(3600),
    "leak": lambda: KEPT.append(b"x" * (64 << 20)),
    "sleep": lambda: time.sleep(0.5),
}
KEPT = []


def answer_http(connection, request):
    path = request.path.partition("?")[0]
    if path == "/ws":
        return None
    known = path in ANSWERS
    body = json.dumps(ANSWERS.get(path, {"detail": "Not Found"})).encode()
    headers = Headers({"Content-Type": "application/json", "Content-Length": str(len(body)), "Connection": "close"})
    return Response(200 if known else 404, "OK" if known else "Not Found", headers, body)


async def play(socket):
    numbers, count, episode = random.Random(0), 0, None
    async for text in socket:
        message = json.loads(text)
        data = message.get("data") or {}
        if message["type"] == "close":
            return
        if message["type"] == "reset":
            numbers, count, episode = random.Random(data.get("seed")), 0, data.get("episode_id")
        elif message["type"] == "step":
            count += 1
            ORDERS.get(data.get("text"), lambda: None)()
        if message["type"] == "state":
            answer = {"step_count": count, "episode_id": episode}
        else:
            seen = {"text": data.get("text", ""), "number": numbers.randrange(1_000_000), "count": count}
            answer = {"observation": seen, "reward": float(count), "done": count >= 100}
        await socket.send(json.dumps({"type": "state" if message["type"] == "state" else "observation", "data": answer}))


async def main():
    host, port = os.environ.get("HOST", "127.0.0.1"), int(os.environ["PORT"])
    async with serve(play, host, port, process_request=answer_http, compression=None):
        print(f"tiny upstream listens at {host}:{port}", flush=True)
        await asyncio.get_running_loop().create_future()


asyncio.run(main())
