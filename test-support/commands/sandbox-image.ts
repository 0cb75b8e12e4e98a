import { execFile } from "node:child_process";
import { cp, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { promisify } from "node:util";
import { docker } from "./npm-image.js";

const run = promisify(execFile);
const SANDBOX_IMAGE = "openenv-test-sandbox:local";
const PLACES =
  "import json, os, sys, sysconfig; " +
  "print(json.dumps([os.path.realpath(sys.executable), sysconfig.get_paths()['stdlib']]))";
/** Not needed to run programs, and large. */
const LEFT_OUT = /^(__pycache__|test|tests|idlelib|ensurepip|(site|dist)-packages|config-.*)$/;

/**
 * The base image, with the Python and the bubblewrap of this machine where it has no apt-get to install them with; it stays
 * for other tests.
 */
export async function createSandboxImage(base: string, bubblewrap: string): Promise<string> {
  const command = ["run", "--rm", "--entrypoint", "sh", base, "-c", "command -v apt-get || true"];
  if ((await docker(...command)) !== "") return base;
  const [python, library] = JSON.parse((await run("python3", ["-c", PLACES])).stdout) as [string, string];
  const extensions = join(library, "lib-dynload");
  const binaries = [python, bubblewrap, ...(await readdir(extensions)).map((name) => join(extensions, name))];
  const dir = await mkdtemp(join(tmpdir(), "sandbox-image-"));
  const root = join(dir, "root");
  try {
    await cp(python, join(root, "usr/local/bin/python3"));
    await cp(bubblewrap, join(root, "usr/local/bin/bwrap"));
    // Python looks for its library next to the folder that it is in.
    const filter = (path: string): boolean => !LEFT_OUT.test(basename(path));
    await cp(library, join(root, "usr/local/lib", basename(library)), { recursive: true, dereference: true, filter });
    for (const path of await findLibraries(binaries)) await cp(path, join(root, path), { dereference: true });
    await writeFile(join(dir, "Dockerfile"), `FROM ${base}\nCOPY root /\n`);
    await docker("build", "--quiet", "--tag", SANDBOX_IMAGE, dir);
    return SANDBOX_IMAGE;
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
}

/** The shared libraries that these files name. */
async function findLibraries(files: readonly string[]): Promise<Set<string>> {
  const { stdout } = await run("ldd", [...files]);
  return new Set(stdout.match(/(?<=^\s+|=> )\/\S+(?= \()/gm));
}
