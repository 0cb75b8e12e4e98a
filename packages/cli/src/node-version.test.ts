import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { describe, expect, test } from "vitest";

const PACKAGES = join(import.meta.dirname, "../..");

describe.each([
  ["openenv", join(PACKAGES, "cli/bin/openenv.js")],
  ["create-openenv-ts", join(PACKAGES, "create-openenv-ts/bin/create-openenv-ts.js")],
])("%s", (name, bin) => {
  test.each(["18.20.8", "20.18.3"])("says on Node %s which version it needs", (version) => {
    expect(start(bin, version)).toMatchObject({
      status: 2,
      stderr: `error: ${name} needs Node 20.19 or newer, and this is ${version}\n`,
    });
  });

  test.each(["20.19.0", "22.0.0"])("starts on Node %s", (version) => {
    expect(start(bin, version)).toMatchObject({ status: 0, stderr: "" });
  });
});

/** Starts a command on this Node, which reports another version. */
function start(bin: string, version: string) {
  const versions = `{ value: { ...process.versions, node: "${version}" } }`;
  const code = `data:text/javascript,Object.defineProperty(process, "versions", ${versions})`;
  return spawnSync(process.execPath, ["--import", code, bin, "--help"], { encoding: "utf8" });
}
