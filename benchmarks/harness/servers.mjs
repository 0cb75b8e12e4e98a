import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { startChild } from "./children.mjs";

const PYTHON = process.env.OPENENV_PYTHON;
/** A built clone of an earlier commit, whose server is then the control: a ratio of 1 means as fast as before. */
export const BEFORE = process.env.OPENENV_BENCH_BEFORE;
const PACKAGES = ["openenv", "uvicorn", "uvloop", "httptools", "websockets"];

/** The versions of the Python reference: `{ versions }`, or `{ missing }` with the reason. */
export function findPython() {
  if (!PYTHON) return { missing: "OPENENV_PYTHON is not a Python with the package openenv" };
  const script = `
import importlib.metadata as m, json, sys
def version(name):
    try: return m.version(name)
    except m.PackageNotFoundError: return None
print(json.dumps({"python": sys.version.split()[0], **{name: version(name) for name in sys.argv[1:]}}))`;
  try {
    const versions = JSON.parse(execFileSync(PYTHON, ["-c", script, ...PACKAGES], { encoding: "utf8" }));
    return versions.openenv ? { versions } : { missing: `${PYTHON} has no package openenv` };
  } catch (error) {
    return { missing: `OPENENV_PYTHON does not run: ${error.message.split("\n")[0]}` };
  }
}

const CONTROLS = new URL("../controls/", import.meta.url);
const SCRIPTS = {
  ours: (environment, flags) => [process.execPath, ...flags, pathOf("ours.mjs"), environment],
  sized: (kind, flags) => [process.execPath, ...flags, pathOf("sized.mjs"), kind],
  traced: (kind, flags) => [process.execPath, ...flags, pathOf("../tracing/server.mjs"), kind],
  wordle: (_environment, flags) => [process.execPath, ...flags, pathOf("../wordle/server.mjs")],
  control: (environment, flags) => [
    process.execPath,
    ...flags,
    BEFORE ? findServerBefore() : pathOf("control.mjs"),
    environment,
  ],
  "ours on node": (environment) => [process.execPath, pathOf("ours.mjs"), environment],
  "control on node": (environment) => [process.execPath, pathOf("control.mjs"), environment],
  "ours on bun": (environment) => [process.env.OPENENV_BUN, pathOf("ours.mjs"), environment],
  "control on bun": () => [process.env.OPENENV_BUN, pathOf("native.mjs")],
  "ours on deno": (environment) => [process.env.OPENENV_DENO, "run", "-A", pathOf("ours.mjs"), environment],
  "control on deno": () => [process.env.OPENENV_DENO, "run", "-A", pathOf("native.mjs")],
  "sized on node": (kind) => [process.execPath, pathOf("sized.mjs"), kind],
  "sized on node24": (kind) => [process.env.OPENENV_NODE24, pathOf("sized.mjs"), kind],
  "sized on node26": (kind) => [process.env.OPENENV_NODE26, pathOf("sized.mjs"), kind],
  "sized on bun": (kind) => [process.env.OPENENV_BUN, pathOf("sized.mjs"), kind],
  "sized on deno": (kind) => [process.env.OPENENV_DENO, "run", "-A", pathOf("sized.mjs"), kind],
  openreward: () => [process.env.OPENENV_OPENREWARD_PYTHON, pathOf("../ors/openreward_echo.py")],
  python: (environment) => [PYTHON, pathOf("python_reference.py"), environment],
  "python async": (environment) => [PYTHON, pathOf("python_reference.py"), `${environment}-async`],
};

/** Finds the server of the earlier commit, whose benchmarks may still be in the folder `experiments`. */
function findServerBefore() {
  const files = ["benchmarks", "experiments"].map((folder) => join(BEFORE, folder, "controls/ours.mjs"));
  return files.find(existsSync) ?? files[0];
}

/** Starts a server that is measured and resolves when it listens. */
export function startServer(subject, environment, nodeFlags = [], env = {}) {
  const findPort = (text) => /^READY (\d+)$/m.exec(text)?.[1];
  return startChild(SCRIPTS[subject](environment, nodeFlags), { findPort, env });
}

function pathOf(script) {
  return fileURLToPath(new URL(script, CONTROLS));
}
