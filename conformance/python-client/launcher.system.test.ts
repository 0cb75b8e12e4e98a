import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { buildImage, SERVERS } from "../../test-support/commands/images.js";
import { requireDocker, requirePython } from "../../test-support/requirement.js";

const docker = await requireDocker();
const python = await requirePython();
const run = promisify(execFile);

test.skipIf(!docker.available || !python.available)(
  "the released launcher starts our image, plays and stops it",
  async () => {
    await using image = await buildImage(docker.path, SERVERS.counter, ["EXPOSE 8000"]);
    const { stdout } = await run(python.path, [join(import.meta.dirname, "launcher.py"), image.name]);
    expect(JSON.parse(stdout.trim().split("\n").at(-1) ?? "")).toMatchObject({ count: 2, hello: "python" });
    const left = await run(docker.path, ["ps", "--all", "--quiet", "--filter", `ancestor=${image.name}`]);
    expect(left.stdout).toBe("");
  },
  // The Python package alone takes a while to load.
  300_000,
);
