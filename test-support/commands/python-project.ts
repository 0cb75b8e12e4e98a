import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);

export interface PythonProject extends AsyncDisposable {
  readonly dir: string;
}

/** What the Python package's own `openenv init echo_env` makes: an environment that echoes a message. */
export async function createPythonProject(python: string): Promise<PythonProject> {
  const parent = await mkdtemp(join(tmpdir(), "python-"));
  await run(join(dirname(python), "openenv"), ["init", "echo_env"], { cwd: parent });
  const dir = join(parent, "echo_env");
  return {
    dir,
    [Symbol.asyncDispose]: () => rm(parent, { recursive: true, force: true }),
  };
}

/** A Python environment of two packages, which starts in a second: it echoes each action. */
export const SMALL_PYTHON_PROJECT: Readonly<Record<string, string>> = {
  "pyproject.toml": `[project]
name = "small"
version = "1"
requires-python = ">=3.10"
dependencies = ["uvicorn", "websockets"]
`,
  "openenv.yaml": "spec_version: 1\nname: small\nruntime: fastapi\napp: small:app\n",
  "small.py": `
import json

async def app(scope, receive, send):
    if scope["type"] == "http":
        await send({"type": "http.response.start", "status": 404, "headers": []})
        await send({"type": "http.response.body", "body": b"{}"})
    if scope["type"] != "websocket":
        return
    await receive()
    await send({"type": "websocket.accept"})
    while (message := await receive())["type"] == "websocket.receive":
        frame = json.loads(message["text"])
        if frame["type"] == "close":
            return await send({"type": "websocket.close", "code": 1000})
        data = {"observation": frame.get("data", {}), "reward": None, "done": False}
        await send({"type": "websocket.send", "text": json.dumps({"type": "observation", "data": data})})
`,
};
