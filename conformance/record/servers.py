"""Serves the recorded environments with the installed Python package, each case on a server of its own.

Takes one command a line and answers it with one line, not always in order; both are JSON objects with the same `id`:
`start` (a name, with `options`) answers `url`; `counts` (a URL) answers `active` and `attached` sessions; `traffic`
(a URL) answers what a server saw, once its connections have ended; `play` (a case, with the URL as `options`) answers
what the calls of a client returned or raised; `stop` (a URL) answers when the server has ended.
"""

import asyncio
import json
import logging
import os
import socket
import sys
from contextlib import contextmanager

import uvicorn
from clients import play
from environments import ENVIRONMENTS
from openenv.core.env_server import HTTPEnvServer, create_app
from openenv.core.env_server.types import ConcurrencyConfig

STDIN, STDOUT = sys.stdin, sys.stdout
# Of every handshake, or different at each.
UNSEEN_HEADERS = ("connection", "content-length", "sec-websocket-key", "sec-websocket-version")
# Answers that other transcripts have in full.
LONG_ANSWERS = ("/openapi.json", "/schema")
LONG_ANSWER = "<see http transcripts>"


class Traffic:
    """An ASGI application that keeps what another one gets and answers."""

    def __init__(self, app):
        self.app = app
        self.connections = []
        self.open = 0

    async def __call__(self, scope, receive, send):
        if scope["type"] == "lifespan":
            return await self.app(scope, receive, send)
        messages = []
        self.connections.append((scope, messages))

        async def receive_and_keep():
            message = await receive()
            messages.append(message)
            return message

        async def keep_and_send(message):
            messages.append(message)
            await send(message)

        self.open += 1
        try:
            await self.app(scope, receive_and_keep, keep_and_send)
        finally:
            self.open -= 1


def describe(number, scope, messages):
    """A connection in the words of the transcripts."""
    headers = {name.decode(): value.decode() for name, value in scope["headers"]}
    headers["host"] = "HOST"
    query = scope["query_string"].decode()
    seen = {
        "n": number,
        "kind": scope["type"],
        "path": scope["path"] + (query and f"?{query}"),
        "request_headers": {name: value for name, value in headers.items() if name not in UNSEEN_HEADERS},
    }
    if scope["type"] == "websocket":
        return {**seen, "frames": [frame for message in messages for frame in describe_frame(message)]}
    body, answer = (
        b"".join(message["body"] for message in messages if message["type"] == type)
        for type in ("http.request", "http.response.body")
    )
    [status] = [message["status"] for message in messages if message["type"] == "http.response.start"]
    return {
        **seen,
        "method": scope["method"],
        "body": json.loads(body) if body else None,
        "status": status,
        "response": LONG_ANSWER if scope["path"] in LONG_ANSWERS else json.loads(answer),
    }


def describe_frame(message):
    if message["type"] == "websocket.receive":
        yield {"client": json.loads(message["text"])}
    elif message["type"] == "websocket.send":
        yield {"server": json.loads(message["text"])}
    elif message["type"] == "websocket.close":
        yield {"server_close": message["code"]}


class Served(uvicorn.Server):
    """One server; it leaves the signals to the process."""

    def __init__(self, name, options):
        os.environ["ENABLE_WEB_INTERFACE"] = str(options["web"]).lower()
        concurrency = ConcurrencyConfig(max_concurrent_envs=options["capacity"], session_timeout=options["timeout"])
        app = create_app(**ENVIRONMENTS[name], concurrency_config=concurrency, mode=options["mode"])
        [socket_route] = [route for route in app.routes if getattr(route, "path", "") == "/ws"]
        self.sessions = next(
            cell.cell_contents
            for cell in socket_route.endpoint.__closure__
            if isinstance(cell.cell_contents, HTTPEnvServer)
        )
        self.traffic = Traffic(app)
        pings = {} if options["ping"] is None else {"ws_ping_interval": options["ping"], "ws_ping_timeout": 2}
        super().__init__(uvicorn.Config(self.traffic, log_config=None, access_log=False, **pings))

    @contextmanager
    def capture_signals(self):
        yield

    async def start(self):
        listener = socket.socket()
        listener.bind(("127.0.0.1", 0))
        self.ended = asyncio.create_task(self.serve(sockets=[listener]))
        while not self.started:
            await asyncio.sleep(0.005)
        return f"http://127.0.0.1:{listener.getsockname()[1]}"


class Servers:
    def __init__(self):
        self._servers = {}
        self._building = asyncio.Lock()
        self._playing = asyncio.Lock()

    async def start(self, name, options):
        # In a thread, because the web interface takes a second to build and others are playing.
        async with self._building:
            server = await asyncio.to_thread(Served, name, options)
        url = await server.start()
        self._servers[url] = server
        return {"url": url}

    async def counts(self, url):
        sessions = self._servers[url].sessions
        return {"active": sessions.active_sessions, "attached": len(sessions._session_websocket_attachments)}

    async def traffic(self, url):
        traffic = self._servers[url].traffic
        while traffic.open:
            await asyncio.sleep(0.01)
        return {"seen": [describe(n, *kept) for n, kept in enumerate(traffic.connections, start=1)]}

    async def play(self, case, url):
        # The command line that validates takes the standard streams for itself.
        async with self._playing:
            return {"results": await asyncio.to_thread(play, case, url)}

    async def stop(self, url):
        server = self._servers.pop(url)
        server.should_exit = True
        await server.ended
        return {}

    async def answer(self, id, options=None, **command):
        [(name, argument)] = command.items()
        arguments = (argument,) if options is None else (argument, options)
        try:
            result = await getattr(self, name)(*arguments)
        except Exception as error:
            result = {"error": repr(error)}
        print(json.dumps({"id": id, **result}), flush=True, file=STDOUT)


async def main():
    servers = Servers()
    running = set()
    while line := await asyncio.to_thread(STDIN.readline):
        task = asyncio.create_task(servers.answer(**json.loads(line)))
        running.add(task)
        task.add_done_callback(running.discard)
    # Threads of slow environments would hold the end of the process.
    os._exit(0)


if __name__ == "__main__":
    # Of environments that fail when they should.
    logging.disable()
    asyncio.run(main())
