"""An action that is a union: a tool for each variant. The TypeScript package has the same names and arguments."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from conftest import Server

from openenv_ts._action_tools import to_action_tools
from openenv_ts.trl import for_trl


def variant(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {"metadata": {}, **properties}, "required": list(properties)}


def test_a_plain_union_has_tools_named_by_its_classes() -> None:
    definitions = {
        "HotKey": variant(keys={"$ref": "#/$defs/Keys"}),
        "Close": variant(x={}),
        "Keys": {"type": "array"},
    }
    action = {"$defs": definitions, "anyOf": [{"$ref": "#/$defs/HotKey"}, {"$ref": "#/$defs/Close"}]}
    tools = {one.tool.name: one for one in to_action_tools(action)}
    assert list(tools) == ["hot_key", "close_action"]
    assert tools["hot_key"].tool.input_schema == {
        "type": "object",
        "properties": {"keys": {"$ref": "#/$defs/Keys"}},
        "required": ["keys"],
        "$defs": {"Keys": {"type": "array"}},
    }
    assert tools["close_action"].fixed == {}


def test_what_is_no_union_of_objects_is_one_tool() -> None:
    for action in (variant(x={}), {"anyOf": [variant(x={}), {"type": "string"}]}, {"$ref": "#/$defs/Missing"}):
        assert [one.tool.name for one in to_action_tools(action)] == ["step"]


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    started = Server("union.mjs")
    yield started
    started.kill()


def test_a_model_calls_each_variant_of_a_discriminated_union(server: Server) -> None:
    with for_trl(server.url) as spec:
        environment = spec.environment_factory()
        assert environment.reset() == "How many rows?"
        query: Any = environment.query
        assert "What to run" in str(query.__doc__)
        assert query(sql="select 1") == "ran select 1"
        answer: Any = environment.answer
        assert answer(value=3) == "thanks"
        assert [func(prompts=[], completions=[], environments=[environment]) for func in spec.reward_funcs] == [[3.0]]
