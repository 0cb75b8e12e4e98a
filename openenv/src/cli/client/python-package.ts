import type { Names } from "../names.js";
import { docstring, renderPythonModels } from "./render-python.js";
import type { ClientTypes } from "./types.js";

/** What the first line of a generated file says; one without it is never overwritten. */
export const PYTHON_MARK = "# Written by `openenv client python`; a change is lost when it is run again.";

/** The files of the Python package, by their path below the folder that holds it. */
export function renderPythonPackage(types: ClientTypes, names: Names): Record<string, string> {
  const { module, prefix } = names;
  return {
    [`${module}/__init__.py`]: renderInit(types, names),
    [`${module}/client.py`]: renderClient(types, names),
    [`${module}/models.py`]: renderPythonModels(
      types,
      `${PYTHON_MARK}\n"""${prefix}Action and what belongs to it."""\n`,
    ),
    [`${module}/py.typed`]: "",
  };
}

/** What makes the package installable; for a folder that has no such file yet. */
export function renderPyproject(names: Names, version: string): string {
  const { module } = names;
  return `[build-system]
requires = ["setuptools>=61"]
build-backend = "setuptools.build_meta"

[project]
name = "openenv-${module}"
version = "${version}"
description = "Client of the OpenEnv environment ${module}"
requires-python = ">=3.10"
dependencies = ["openenv>=0.10.0"]

[tool.setuptools]
packages = ["${module}"]

[tool.setuptools.package-data]
${module} = ["py.typed"]
`;
}

function renderInit(types: ClientTypes, { prefix, title }: Names): string {
  const models = [types.action, types.observation, types.state, ...types.models].map(({ name }) => name).sort();
  const all = [`${prefix}Env`, ...models].sort();
  return `${PYTHON_MARK}
"""${docstring(title)}, an OpenEnv environment."""

from .client import ${prefix}Env
${renderImport("models", models)}

__all__ = [
${all.map((name) => `    "${name}",\n`).join("")}]
`;
}

function renderImport(module: string, names: readonly string[]): string {
  const line = `from .${module} import ${names.join(", ")}`;
  return line.length <= 88 ? line : `from .${module} import (\n${names.map((name) => `    ${name},\n`).join("")})`;
}

function renderClient(types: ClientTypes, { prefix, module }: Names): string {
  const { action, observation, state } = types;
  return `${PYTHON_MARK}
"""The client of ${module}."""

from typing import Any

from openenv.core import EnvClient
from openenv.core.client_types import StepResult

${renderImport("models", [action.name, observation.name, state.name])}


class ${prefix}Env(EnvClient[${action.name}, ${observation.name}, ${state.name}]):
    """One session of ${module}.

    Example:
        >>> with ${prefix}Env(base_url="http://localhost:8000").sync() as env:
        ...     result = env.reset()
        ...     print(result.observation)
    """

    def _step_payload(self, action: ${action.name}) -> dict[str, Any]:
        # What was left out is the server's to fill in.
        return action.model_dump(mode="json", by_alias=True, exclude_unset=True)

    def _parse_result(self, payload: dict[str, Any]) -> StepResult[${observation.name}]:
        seen = payload.get("observation") or {}
        reward = payload.get("reward")
        done = payload.get("done", False)
        metadata = payload.get("metadata") or seen.get("metadata") or {}
        observation = ${observation.name}.model_validate(
            {**seen, "reward": reward, "done": done, "metadata": metadata}
        )
        return StepResult(
            observation=observation, reward=reward, done=done, metadata=metadata
        )

    def _parse_state(self, payload: dict[str, Any]) -> ${state.name}:
        return ${state.name}.model_validate(payload)
`;
}
