import { execFile } from "node:child_process";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);

export interface PythonProject extends AsyncDisposable {
  readonly dir: string;
  /** Every file by its path, for a repository. */
  files(): Promise<Record<string, string>>;
}

/** What the Python package's own `openenv init echo_env` makes: an environment that echoes a message. */
export async function createPythonProject(python: string): Promise<PythonProject> {
  const parent = await mkdtemp(join(tmpdir(), "python-"));
  await run(join(dirname(python), "openenv"), ["init", "echo_env"], { cwd: parent });
  const dir = join(parent, "echo_env");
  return {
    dir,
    async files() {
      const entries = await readdir(dir, { recursive: true, withFileTypes: true });
      const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
      const texts = files.map(async (file) => [file.slice(dir.length + 1), await readFile(file, "utf8")] as const);
      return Object.fromEntries(await Promise.all(texts));
    },
    [Symbol.asyncDispose]: () => rm(parent, { recursive: true, force: true }),
  };
}
