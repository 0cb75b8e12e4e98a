import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

const START_TIMEOUT_MS = 90_000;
const STOP_TIMEOUT_MS = 5_000;
const PYTHON = process.env.OPENENV_PYTHON;
const PACKAGES = ["openenv", "uvicorn", "uvloop", "httptools", "websockets"];

const running = new Set();
process.once("exit", () => {
  for (const child of running) child.kill("SIGKILL");
});
for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => process.exit(130));

/** What of the Python reference is there: `{ versions }`, or `{ missing }` with the reason. */
export function findPython() {
  if (!PYTHON) return { missing: "OPENENV_PYTHON names no Python that has the package openenv" };
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

const SCRIPTS = {
  ours: (environment, flags) => [process.execPath, ...flags, pathOf("ours.mjs"), environment],
  sized: (kind, flags) => [process.execPath, ...flags, pathOf("sized.mjs"), kind],
  wordle: (_environment, flags) => [process.execPath, ...flags, pathOf("wordle.mjs")],
  control: (environment, flags) => [process.execPath, ...flags, pathOf("control.mjs"), environment],
  python: (environment) => [PYTHON, pathOf("python_reference.py"), environment],
  "python async": (environment) => [PYTHON, pathOf("python_reference.py"), `${environment}-async`],
};

/** Starts one of the servers of `controls/` and resolves when it listens. */
export async function startServer(subject, environment, nodeFlags = []) {
  const [command, ...args] = SCRIPTS[subject](environment, nodeFlags);
  const child = spawn(command, args, { stdio: ["ignore", "pipe", "ignore"] });
  running.add(child);
  child.once("exit", () => running.delete(child));
  try {
    const port = await readPort(child, subject);
    return { pid: child.pid, url: `http://127.0.0.1:${port}`, close: () => stop(child) };
  } catch (error) {
    child.kill("SIGKILL");
    throw error;
  }
}

function readPort(child, subject) {
  const timer = setTimeout(() => child.kill("SIGKILL"), START_TIMEOUT_MS);
  return new Promise((resolve, reject) => {
    let text = "";
    child.stdout.setEncoding("utf8").on("data", (part) => {
      const port = /^READY (\d+)$/m.exec((text += part))?.[1];
      if (port) resolve(Number(port));
    });
    child.once("error", reject);
    child.once("exit", (code, signal) => reject(new Error(`${subject} ended before it listened (${signal ?? code})`)));
  }).finally(() => clearTimeout(timer));
}

async function stop(child) {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, "exit");
  child.kill("SIGTERM");
  const timer = setTimeout(() => child.kill("SIGKILL"), STOP_TIMEOUT_MS);
  await ended;
  clearTimeout(timer);
}

function pathOf(script) {
  return fileURLToPath(new URL(`controls/${script}`, import.meta.url));
}
