"""Spans of the client, and what it sends of them."""

from __future__ import annotations

import json

import pytest

sdk = pytest.importorskip("opentelemetry.sdk.trace")

from opentelemetry import trace
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

import openenv_ts
from openenv_ts._tracing import add_header, span, with_context

exporter = InMemorySpanExporter()


@pytest.fixture(autouse=True, scope="module")
def provider() -> None:
    own = sdk.TracerProvider()
    own.add_span_processor(SimpleSpanProcessor(exporter))
    trace.set_tracer_provider(own)


@pytest.fixture(autouse=True)
def empty() -> None:
    exporter.clear()


def test_no_span_leaves_a_message_and_headers_as_they_are() -> None:
    message = {"type": "step", "data": {"amount": 1}}
    assert with_context(message) is message
    assert add_header({"a": "b"}) == {"a": "b"}


def test_each_session_of_a_batch_has_the_context() -> None:
    items = [{"session": 0, "data": {"amount": 1}}, {"session": 1, "data": {"metadata": {"traceparent": "own"}}}]
    with span("step"):
        sent = with_context({"type": "step_many", "data": {"items": items}})
        state = {"type": "state_many", "data": {"items": [{"session": 0}]}}
        assert with_context(state) is state
    first, second = [item["data"]["metadata"]["traceparent"] for item in sent["data"]["items"]]
    [made] = exporter.get_finished_spans()
    assert first.startswith(f"00-{made.context.trace_id:032x}-{made.context.span_id:016x}-0")
    assert second == "own"


def test_metadata_that_is_not_an_object_is_sent_as_it_is() -> None:
    with span("step"):
        assert with_context({"type": "step", "data": {"metadata": 5}})["data"] == {"metadata": 5}


def test_a_session_has_spans_without_contents(server) -> None:  # type: ignore[no-untyped-def]
    with openenv_ts.connect(server.url) as env:
        first = env.reset(seed=1)
        assert first.warnings == []
        env.step({"amount": 1})
        env.call_tool("add", {"amount": 2})
        with pytest.raises(openenv_ts.RemoteError):
            env.step({"amount": "a secret"})
    spans = exporter.get_finished_spans()
    assert [made.name for made in spans] == ["openenv.reset", "openenv.step", "execute_tool add", "openenv.step"]
    assert spans[-1].attributes == {"error.type": "VALIDATION_ERROR"}
    assert "secret" not in json.dumps([made.to_json() for made in spans])
