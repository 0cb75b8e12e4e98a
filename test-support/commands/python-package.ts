import { execFile } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

export interface PythonFolder extends AsyncDisposable {
  readonly dir: string;
  /** Runs a script that finds the packages of the folder; what it printed last is JSON. */
  run(python: string, script: string): Promise<unknown>;
}

/** A folder with these files, on the search path of the scripts that are run in it. */
export async function createPythonFolder(files: Record<string, string>): Promise<PythonFolder> {
  const dir = await mkdtemp(join(tmpdir(), "openenv-python-"));
  for (const [path, text] of Object.entries(files)) {
    await mkdir(join(dir, path, ".."), { recursive: true });
    await writeFile(join(dir, path), text);
  }
  return {
    dir,
    run: (python, script) => runPython(python, script, dir),
    [Symbol.asyncDispose]: () => rm(dir, { recursive: true, force: true }),
  };
}

/** Runs a script; what it printed last is JSON. */
export async function runPython(python: string, script: string, cwd: string): Promise<unknown> {
  const env = {
    ...process.env,
    PYTHONPATH: cwd,
    // The package remembers there which environments the user has.
    XDG_CACHE_HOME: join(cwd, ".cache"),
    PYTHONDONTWRITEBYTECODE: "1",
    PYTHONWARNINGS: "error::UserWarning:pydantic",
  };
  const { stdout } = await promisify(execFile)(python, ["-c", script], { cwd, env, timeout: 280_000 });
  return JSON.parse(stdout.trim().split("\n").at(-1) ?? "");
}

export interface Venv extends AsyncDisposable {
  readonly python: string;
  /** Installs with pip, without what it depends on: that is there already. */
  install(...sources: string[]): Promise<void>;
}

/** A virtual environment that has what another Python has beside its own. */
export async function createVenv(python: string): Promise<Venv> {
  const run = promisify(execFile);
  const dir = await mkdtemp(join(tmpdir(), "openenv-venv-"));
  await run(python, ["-m", "venv", dir]);
  const own = join(dir, "bin/python");
  const places = "import sysconfig; print(sysconfig.get_path('purelib'))";
  const [here, there] = await Promise.all([own, python].map(async (path) => (await run(path, ["-c", places])).stdout));
  await writeFile(join(here?.trim() ?? "", "tests.pth"), there ?? "");
  return {
    python: own,
    async install(...sources) {
      await run(own, ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps", ...sources]);
    },
    [Symbol.asyncDispose]: () => rm(dir, { recursive: true, force: true }),
  };
}
