"""Spans of OpenTelemetry around resets and steps, in a program that has its API."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping

from ._frames import JsonObject
from .errors import OpenEnvError

try:
    from opentelemetry import trace
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator
except ImportError:
    _has_api = False
else:
    _has_api = True


@contextlib.contextmanager
def span(method: str, data: object = None) -> Iterator[None]:
    """The span of a reset or a step, or of the tool that the step calls. It has no contents."""
    if not _has_api:
        yield
        return
    tool = data.get("tool_name") if isinstance(data, dict) and data.get("type") == "call_tool" else None
    name = f"openenv.{method}" if tool is None else f"execute_tool {tool}"
    own = {} if tool is None else {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": str(tool)}
    with trace.get_tracer("openenv_ts").start_as_current_span(
        name, kind=trace.SpanKind.CLIENT, attributes=own, record_exception=False, set_status_on_exception=False
    ) as current:
        try:
            yield
        except OpenEnvError as error:
            current.set_attribute("error.type", error.code)
            current.set_status(trace.StatusCode.ERROR)
            raise


def add_header(headers: Mapping[str, str]) -> dict[str, str]:
    """The headers of a handshake, with the current span."""
    return {**_current(), **headers}


def _current() -> dict[str, str]:
    """The ``traceparent`` of the current span; empty where there is none."""
    carrier: dict[str, str] = {}
    if _has_api:
        TraceContextTextMapPropagator().inject(carrier)
    return {name: carrier[name] for name in ("traceparent",) if name in carrier}


def with_context(message: JsonObject) -> JsonObject:
    """A reset or a step with the current span in its metadata; in a batch, each item gets it."""
    if not _has_api:
        return message
    kind = str(message["type"])
    context = _current() if kind.startswith(("reset", "step")) else {}
    data = message.get("data")
    if not context or not isinstance(data, dict):
        return message
    if not kind.endswith("_many"):
        return {**message, "data": _add(data, context)}
    items = [{**item, "data": _add(item["data"], context)} for item in data["items"]]
    return {**message, "data": {"items": items}}


def _add(data: JsonObject, context: dict[str, str]) -> JsonObject:
    metadata = data.get("metadata")
    if metadata is not None and not isinstance(metadata, dict):
        return data
    return {**data, "metadata": {**context, **(metadata or {})}}
