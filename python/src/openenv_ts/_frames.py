"""What the frames of a server say."""

from __future__ import annotations

import json
import re
from typing import Any

from .errors import protocol_error, reading

JsonObject = dict[str, Any]


@reading
def parse(frame: bytes) -> JsonObject:
    answer = json.loads(frame)
    if not isinstance(answer, dict) or not isinstance(answer.get("data"), dict):
        raise protocol_error("an answer is not a frame")
    return answer


def must_move(answer: JsonObject) -> bool:
    """Whether the server asks for the reset to be made on another one."""
    return error_code(answer) == "RESET_ELSEWHERE"


def is_refusal(answer: JsonObject) -> bool:
    """Whether the server has opened no session."""
    return error_code(answer) in ("CAPACITY_REACHED", "FACTORY_ERROR", "SESSION_ERROR")


def error_code(answer: JsonObject) -> object:
    data = answer.get("data")
    return data.get("code") if answer.get("type") == "error" and isinstance(data, dict) else None


def to_handle(session_id: str | None) -> str | None:
    """The session in the server's log: the whole id lets a client continue it, and is not for a log."""
    return session_id and re.sub(r"^w\d+-", "", session_id)[:8]


def page_of(url: str, handle: str | None, member: int | None = None) -> str | None:
    """The page of a session, or of one of a batch. A name in the address would give access to it."""
    if handle is None:
        return None
    base = re.sub(r"/session/[^/]+$", "", url)
    return f"{base}/web/#/session/{handle}{'' if member is None else f'.{member}'}"
