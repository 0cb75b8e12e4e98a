/** A new environment with the lowest and the newest zod that openenv-ts takes, and with one that it does not. */
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { runCommand } from "../../../test-support/command-line.js";
import { INSTALL_FLAGS, npm } from "../../../test-support/npm.js";
import { PACKAGE_ROOT } from "./package-source.js";

/** npm installs for real. */
const TIME_LIMIT = { timeout: 300_000 };

let home: string;
let dir: string;
let range: string;

beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), "openenv-zod-"));
  expect(await runCommand(["init", "star-map"], { cwd: home })).toMatchObject({ code: 0 });
  dir = join(home, "star-map");
  range = (await readManifest(PACKAGE_ROOT)).peerDependencies?.["zod"] ?? "";
}, TIME_LIMIT.timeout);
afterAll(() => rm(home, { recursive: true, force: true, maxRetries: 5 }));

test.each(["lowest", "newest"])(
  "the %s zod of the range: types, tests and the build pass",
  TIME_LIMIT,
  async (which) => {
    const wanted = which === "lowest" ? range.replace("^", "") : range;
    await npm(dir, "install", `zod@${wanted}`, "--ignore-scripts", ...INSTALL_FLAGS);
    const { version } = await readManifest(join(dir, "node_modules/zod"));
    if (which === "lowest") expect(version).toBe(wanted);
    // One copy: another one would be a type error where schemas meet.
    await expect(readManifest(join(dir, "node_modules/openenv-ts/node_modules/zod"))).rejects.toThrow("ENOENT");
    expect((await npm(dir, "test")).stdout).toMatch(/Tests\s+3 passed/);
    await npm(dir, "run", "build");
  },
);

test("zod 3 is refused with what to do", TIME_LIMIT, async () => {
  await npm(dir, "install", "zod@3.25.76", "--ignore-scripts", "--legacy-peer-deps", ...INSTALL_FLAGS);
  for (const command of ["validate", "serve"]) {
    await expect(npm(dir, "exec", "--", "openenv", command)).rejects.toThrow(
      /error: openenv-ts needs zod \^4\.6\.0 and found zod 3 or older; run: npm install zod@4/,
    );
  }
});

async function readManifest(folder: string) {
  const text = await readFile(join(folder, "package.json"), "utf8");
  return JSON.parse(text) as { version: string; peerDependencies?: Record<string, string> };
}
