"""The tools of an environment without tools: one for its action, or one for each variant of an action that is a union.
Names and arguments are those that the TypeScript package gives them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from .results import Tool

RESERVED = ("reset", "step", "state", "close")
PREFIX = "#/$defs/"


@dataclass(frozen=True)
class ActionTool:
    tool: Tool
    #: The field of the action that the name of the tool stands for: the discriminator of a union.
    fixed: dict[str, Any]


def to_action_tools(action: dict[str, Any]) -> list[ActionTool]:
    definitions = action.get("$defs") or {}
    variants = list(_variants(action, definitions, None))
    if len(variants) < 2 or any(not isinstance(schema.get("properties"), dict) for schema, _, _ in variants):
        schema = variants[0][0] if len(variants) == 1 else action
        return [_to_tool(schema, "step", "Takes one action in the environment.", {}, definitions)]
    tools: list[ActionTool] = []
    for schema, name, fixed in variants:
        valid = re.sub(r"[^A-Za-z0-9_-]+", "_", name if fixed else _to_snake(name))[:50] or "action"
        wanted = f"{valid}_action" if valid in RESERVED else valid
        taken, unique, number = {one.tool.name for one in tools}, wanted, 2
        while unique in taken:
            unique, number = f"{wanted}_{number}", number + 1
        tools.append(_to_tool(schema, unique, f'Takes the action "{name}" in the environment.', fixed, definitions))
    return tools


def _variants(
    given: dict[str, Any], definitions: dict[str, Any], discriminator: str | None, depth: int = 0
) -> Iterator[tuple[dict[str, Any], str, dict[str, Any]]]:
    schema, reference = given, None
    for _ in range(100):
        target = schema.get("$ref")
        if not isinstance(target, str) or not target.startswith(PREFIX):
            break
        reference = target[len(PREFIX) :]
        schema = definitions.get(reference, {})
    alternatives = schema.get("oneOf") or schema.get("anyOf")
    if isinstance(alternatives, list) and depth < 8:
        key = (schema.get("discriminator") or {}).get("propertyName")
        for one in alternatives:
            yield from _variants(one, definitions, key, depth + 1)
        return
    field = (schema.get("properties") or {}).get(discriminator) or {}
    fixed = {discriminator: field["const"]} if discriminator is not None and "const" in field else {}
    name = str(next(iter(fixed.values()), reference or schema.get("title") or "action"))
    yield schema, name, fixed


def _to_tool(
    schema: dict[str, Any], name: str, about: str, fixed: dict[str, Any], definitions: dict[str, Any]
) -> ActionTool:
    hidden = {"metadata", *fixed}
    properties = {key: one for key, one in (schema.get("properties") or {}).items() if key not in hidden}
    shown = {key: one for key, one in schema.items() if key not in ("title", "description", "$defs")}
    shown["properties"] = properties
    if "required" in shown:
        shown["required"] = [key for key in shown["required"] if key not in hidden]
    used = _used_definitions(properties, definitions, {})
    if used:
        shown["$defs"] = used
    return ActionTool(Tool(name, schema.get("description") or about, shown), fixed)


def _used_definitions(part: Any, definitions: dict[str, Any], used: dict[str, Any]) -> dict[str, Any]:
    if isinstance(part, dict):
        target = part.get("$ref")
        name = target[len(PREFIX) :] if isinstance(target, str) and target.startswith(PREFIX) else None
        if name in definitions and name not in used:
            used[name] = definitions[name]
            _used_definitions(definitions[name], definitions, used)
    for inner in part.values() if isinstance(part, dict) else part if isinstance(part, list) else ():
        _used_definitions(inner, definitions, used)
    return used


def _to_snake(name: str) -> str:
    return re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", name).lower()
