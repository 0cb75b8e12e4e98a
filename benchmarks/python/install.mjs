import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const PACKAGE = fileURLToPath(new URL("../../python", import.meta.url));
const REQUIREMENT = { ours: PACKAGE, released: "openenv==0.10.0" };
/** What a new environment contains before is not counted. */
const SIZE = `
import importlib.metadata, os, sysconfig
own = {"pip", "setuptools", "wheel"}
names = [one for one in importlib.metadata.distributions() if one.metadata["Name"].lower() not in own]
files = {one.locate_file(file) for one in names for file in one.files or []}
print(len(names), sum(os.path.getsize(file) for file in files if os.path.isfile(file)) / 1e6)
`;

export const title = "pip install into an empty environment";

export async function run(bench) {
  const packages = {};
  const megabytes = {};
  for (const subject of bench.subjects) {
    const home = await mkdtemp(join(tmpdir(), "openenv-install-"));
    try {
      await promisify(execFile)(process.env.OPENENV_PYTHON, ["-m", "venv", home]);
      const python = join(home, "bin/python");
      await promisify(execFile)(python, ["-m", "pip", "install", "--quiet", "--no-compile", REQUIREMENT[subject]]);
      const { stdout } = await promisify(execFile)(python, ["-c", SIZE]);
      const [count, size] = stdout.trim().split(" ").map(Number);
      [packages[subject], megabytes[subject]] = [[count], [size]];
    } finally {
      await rm(home, { recursive: true, force: true });
    }
  }
  return [
    { id: "packages", measure: "packages", unit: "", samples: packages, targets: [{ limit: "at most", value: 3 }] },
    { id: "size", measure: "size", unit: "MB", samples: megabytes, targets: [{ limit: "at most", value: 5 }] },
  ];
}
