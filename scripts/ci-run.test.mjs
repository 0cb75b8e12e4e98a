import { execFile } from "node:child_process";
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, onTestFinished, test } from "vitest";
import { ROOT } from "./root.mjs";

const RUN = join(ROOT, ".ci/run");

test("a component with a script in OPENENV_INFRA is required, and one without any set-up is not", async () => {
  const folder = mkdtempSync(join(tmpdir(), "openenv-infra-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  for (const name of ["python-openenv", "haproxy", "slurm"]) {
    writeFileSync(join(folder, `${name}.sh`), "#!/bin/sh\n");
    chmodSync(join(folder, `${name}.sh`), 0o755);
  }
  const listed = await list(folder);
  expect(listed).toContain(`python: required, has the script ${folder}/python-openenv.sh\n`);
  expect(listed).toContain(`haproxy: required, has the script ${folder}/haproxy.sh\n`);
  expect(listed).toContain(`slurm: required, has the script ${folder}/slurm.sh\n`);
  expect(listed).toContain("uv: required\n");
  expect(listed).toContain("docker: no set-up on this machine, its tests are skipped\n");
});

test("an OPENENV_INFRA that does not exist is an error", async () => {
  await expect(list(RUN)).rejects.toThrow(`OPENENV_INFRA is not a folder: ${RUN}`);
});

async function list(folder) {
  const { stdout } = await promisify(execFile)("bash", [RUN, "--list"], {
    env: { ...process.env, OPENENV_INFRA: folder },
  });
  return stdout;
}
