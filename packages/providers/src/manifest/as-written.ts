import { type Document, isScalar } from "yaml";
import { isPythonApp } from "./python.js";

/** A manifest before its check, with the forms that people write turned into those of the schema. */
export interface WrittenManifest {
  value: Record<string, unknown>;
  /** True if its fields say that the environment is written in Python. */
  isPython: boolean;
}

/** Other names of `app`, in the manifest or in a mapping `runtime`. */
const APP_NAMES = ["app", "entry_point", "entrypoint"];
const PYTHON = /python|fastapi|uvicorn|starlette|asgi/i;

/**
 * Accepts a version and a port without regard to quotes, and the mappings and names that manifests of Python environments
 * have: the Python package checks no types.
 */
export function readAsWritten(
  document: Document,
  given: Record<string, unknown>,
  isPythonFolder: boolean,
): WrittenManifest {
  const value = { ...given };
  const version = document.get("version", true);
  // The text, because the number of 1.10 is 1.1.
  if (isScalar(version) && typeof version.value === "number") value["version"] = version.source;
  const { runtime } = given;
  const details = isMapping(runtime) ? runtime : {};
  const app = [given, details].flatMap((fields) => APP_NAMES.map((name) => fields[name])).find(isPythonTarget);
  const names = [runtime, ...Object.values(details)].filter((name) => typeof name === "string");
  const isNode = runtime === "node";
  const isPython = !isNode && (app !== undefined || names.some((name) => PYTHON.test(name)) || isPythonFolder);
  if (isPython) {
    if (app !== undefined) value["app"] = moduleOf(app);
    for (const name of APP_NAMES.slice(1)) delete value[name];
    value["runtime"] = "fastapi";
    if (value["port"] === undefined && details["port"] !== undefined) value["port"] = details["port"];
    if (isMapping(given["environment"])) delete value["environment"];
  }
  if (typeof value["port"] === "string" && /^\d+$/.test(value["port"])) value["port"] = Number(value["port"]);
  return { value, isPython };
}

function isMapping(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isPythonTarget(app: unknown): app is string {
  return typeof app === "string" && (isPythonApp(app) || /^[\w./-]+\.py$/.test(app));
}

/** `server/app.py` is the module `server.app`, whose application is called `app`. */
function moduleOf(app: string): string {
  return isPythonApp(app)
    ? app
    : `${app
        .replace(/^(?:\.?\/)+/, "")
        .replace(/\.py$/, "")
        .replaceAll("/", ".")}:app`;
}
