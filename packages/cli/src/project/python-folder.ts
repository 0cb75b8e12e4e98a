import { existsSync } from "node:fs";
import { join } from "node:path";
import { ConfigError } from "openenv-ts/internal";

/** Whether a folder without a Node environment has a Python one: a Python project with a server app. */
export function isPythonFolder(dir: string, app: string | undefined): boolean {
  const isProject = existsSync(join(dir, "pyproject.toml"));
  return isProject && (app !== undefined || existsSync(join(dir, "server/app.py")));
}

/** An error that gives the command that serves the Python environment of this folder. */
export function rejectPython(dir: string, app = "server.app:app"): ConfigError {
  const folder = /^[\w./@:+-]+$/.test(dir) ? dir : `'${dir.replaceAll("'", `'\\''`)}'`;
  return new ConfigError(
    "This is a Python environment, which Node cannot serve. Serve it with uv: " +
      `uv run --isolated --project ${folder} -- uvicorn ${app} --app-dir ${folder} --port 8000 ` +
      "(in code: uvProvider() of @openenv-ts/providers).",
  );
}
