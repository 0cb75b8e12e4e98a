import { existsSync } from "node:fs";
import { join } from "node:path";
import { quoteShell } from "@openenv-ts/deploy";

const DEFAULT_APP = "server.app:app";
const REQUIREMENTS = ["server/requirements.txt", "requirements.txt"];

/** True for a folder without a manifest or whose manifest says nothing about it: a Python project with a server app. */
export function isPythonFolder(dir: string, app?: string): boolean {
  const isProject = existsSync(join(dir, "pyproject.toml"));
  return isProject && (app !== undefined || existsSync(join(dir, "server/app.py")));
}

/** Says that a folder is a Python environment, and gives the command that serves it. */
export function describePython(dir: string, given?: string): string {
  const app = given !== undefined && isPythonApp(given) ? given : DEFAULT_APP;
  const args = ["run", "--isolated", ...packagesOf(dir), "--", "uvicorn", app, "--app-dir", dir, "--port", "8000"];
  return (
    `This is a Python environment. Serve it with uv: uv ${args.map(quoteShell).join(" ")} ` +
    "(in code: uvProvider() of @openenv-ts/providers)."
  );
}

/** True for `module:name`, which uvicorn takes. */
export function isPythonApp(app: string): boolean {
  return /^[A-Za-z_][\w.]*:[A-Za-z_][\w.]*$/.test(app);
}

/** Where uv finds the packages: in the project, else in a list of requirements, else only the Python package. */
function packagesOf(dir: string): string[] {
  if (existsSync(join(dir, "pyproject.toml"))) return ["--project", dir];
  const list = REQUIREMENTS.map((path) => join(dir, path)).find((path) => existsSync(path));
  return list === undefined ? ["--with", "openenv"] : ["--with-requirements", list];
}
