"""A server that speaks WebSocket and HTTP as a test says: wrongly, without end, or not at all."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import hashlib
import json
import socket
import struct
import threading
from collections.abc import Callable
from typing import Any

import pytest

from openenv_ts import OpenEnvError, connect, connect_async

TEXT, BINARY, PING, CONT = 1, 2, 9, 0
KINDS = ["blocking", "asyncio"]
Write = Callable[[bytes], None]


def frame(payload: bytes | str | dict[str, Any], opcode: int = TEXT, fin: bool = True) -> bytes:
    data = json.dumps(payload) if isinstance(payload, dict) else payload
    data = data.encode() if isinstance(data, str) else data
    head = bytes([(128 if fin else 0) | opcode])
    if len(data) < 126:
        return head + bytes([len(data)]) + data
    if len(data) < 65_536:
        return head + b"\x7e" + struct.pack(">H", len(data)) + data
    return head + b"\x7f" + struct.pack(">Q", len(data)) + data


def http(body: bytes | str, status: str = "200 OK", *headers: str) -> bytes:
    data = body.encode() if isinstance(body, str) else body
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(data)}", *headers, "", ""]
    return "\r\n".join(lines).encode() + data


def observation(seq: int | None, **changed: Any) -> dict[str, Any]:
    data = {"observation": {"count": 1}, "reward": 1, "done": False, **changed}
    return {"type": "observation", "data": data, **({} if seq is None else {"seq": seq})}


class HostileServer:
    """``on_step`` answers a step, ``on_open`` is called after the handshake, ``on_http`` answers an HTTP request and
    ``on_handshake`` that of a WebSocket. Everything else is answered as a good server does."""

    def __init__(self, *, resumes: bool = True) -> None:
        self.on_step: Callable[[Write, int | None], None] = lambda write, seq: write(frame(observation(seq)))
        self.on_open: Callable[[Write], None] = lambda _write: None
        self.on_resume: Callable[[Write, bool], None] = self._resume
        self.on_http: Callable[[Write, str], None] = lambda write, _path: write(http("{}"))
        self.on_handshake: Callable[[Write], None] | None = None
        self.on_mcp: Any = {"result": {"tools": []}}
        self.on_batch: Callable[[Write, int, dict[str, Any]], None] = lambda _write, _seq, _message: None
        self.paths: list[str] = []
        self.headers: list[str] = []
        self._resumes = resumes
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._open: list[socket.socket] = []
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self._listener.close()
        for one in self._open:
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()

    def __enter__(self) -> HostileServer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _accept(self) -> None:
        while True:
            try:
                client = self._listener.accept()[0]
            except OSError:
                return
            self._open.append(client)
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        with contextlib.suppress(OSError, ValueError), client, client.makefile("rb") as lines:
            head = b""
            while not head.endswith(b"\r\n\r\n"):
                line = lines.readline()
                if not line:
                    return
                head += line
            text = head.decode()
            self.paths.append(text.split(" ")[1])
            self.headers.append(text)
            if "upgrade: websocket" not in text.lower():
                self.on_http(client.sendall, self.paths[-1])
                return
            if self.on_handshake is not None:
                self.on_handshake(client.sendall)
                return
            [key] = [line.split(": ")[1] for line in text.split("\r\n") if line.lower().startswith("sec-websocket-key")]
            accept = base64.b64encode(hashlib.sha1(f"{key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11".encode()).digest())
            lines_out = ["HTTP/1.1 101 Switching Protocols", "Upgrade: websocket", "Connection: Upgrade"]
            client.sendall("\r\n".join([*lines_out, f"Sec-WebSocket-Accept: {accept.decode()}", "", ""]).encode())
            self.on_open(client.sendall)
            while True:
                self._answer(client.sendall, json.loads(read_frame(lines)))

    def _answer(self, write: Write, message: dict[str, Any]) -> None:
        kind, seq = message["type"], message.get("seq")
        if kind == "resume":
            self.on_resume(write, "token" in message["data"])
        elif kind == "close":
            raise OSError("closed")
        elif kind == "reset":
            write(frame(observation(seq, reward=None)))
        elif kind == "step":
            self.on_step(write, seq)
        elif kind == "mcp":
            write(frame({"type": "mcp", "data": self.on_mcp, "seq": seq}))
        elif kind.endswith("_many"):
            self.on_batch(write, seq, message)

    def _resume(self, write: Write, is_return: bool) -> None:
        if not self._resumes:
            write(frame({"type": "error", "data": {"code": "UNKNOWN_TYPE", "message": "unknown"}}))
            return
        data = {"session_id": "s", "window_s": 10, **({"recovered": True, "last_seq": 99} if is_return else {})}
        write(frame({"type": "resumed", "data": data, "openenv": {"extensions": ["resume", "warnings", "batch"]}}))


def read_frame(lines: Any) -> bytes:
    """A text frame of a client; others are skipped."""
    while True:
        first, second = read(lines, 2)
        size = second & 127
        if size == 126:
            [size] = struct.unpack(">H", read(lines, 2))
        elif size == 127:
            [size] = struct.unpack(">Q", read(lines, 8))
        mask = read(lines, 4)
        data = bytes(one ^ mask[index % 4] for index, one in enumerate(read(lines, size)))
        if first & 15 == TEXT:
            return data


def read(lines: Any, size: int) -> bytes:
    data: bytes = lines.read(size)
    if len(data) < size:
        raise OSError("closed")
    return data


def endlessly(write: Write, data: bytes) -> None:
    """Writes until the client closes the connection."""
    while True:
        write(data)


def play(kind: str, url: str, *, timeout: float = 20.0, **options: Any) -> Any:
    """The error of a step after a reset, and what a second reset returns."""
    if kind == "blocking":
        with connect(url, timeout=timeout, **options) as env:
            env.reset()
            with pytest.raises(OpenEnvError) as raised:
                env.step({})
            return raised.value, env.reset().observation

    async def steps() -> Any:
        async with connect_async(url, timeout=timeout, **options) as env:
            await env.reset()
            with pytest.raises(OpenEnvError) as raised:
                await env.step({})
            return raised.value, (await env.reset()).observation

    return asyncio.run(steps())


def call(kind: str, url: str, timeout: float, method: str, *given: str) -> Any:
    if kind == "blocking":
        return getattr(connect(url, timeout=timeout), method)(*given)
    return asyncio.run(getattr(connect_async(url, timeout=timeout), method)(*given))
