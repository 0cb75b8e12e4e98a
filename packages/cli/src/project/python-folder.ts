import { existsSync } from "node:fs";
import { join } from "node:path";
import { ConfigError } from "openenv-ts/internal";

/** Whether a folder without an environment for Node has one for Python: a project with the app that its server runs. */
export function isPythonFolder(dir: string, app: string | undefined): boolean {
  const isProject = existsSync(join(dir, "pyproject.toml"));
  return isProject && (app !== undefined || existsSync(join(dir, "server/app.py")));
}

/** What is wrong with serving the Python environment of this folder here, and the command that does it. */
export function rejectPython(dir: string, app = "server.app:app"): ConfigError {
  const folder = /^[\w./@:+-]+$/.test(dir) ? dir : `'${dir.replaceAll("'", `'\\''`)}'`;
  return new ConfigError(
    "This is a Python environment, which Node cannot serve. uv can: " +
      `uv run --isolated --project ${folder} -- uvicorn ${app} --app-dir ${folder} --port 8000 ` +
      "(in a program, uvProvider() of @openenv-ts/providers).",
  );
}
