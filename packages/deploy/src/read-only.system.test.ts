import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { describe, expect, test } from "vitest";
import { createProject } from "../../../test-support/commands/command-line.js";
import { BALANCERS, run } from "../../../test-support/deploy/balancers.js";
import { render } from "../../../test-support/deploy/render-cases.js";
import { findFreePort } from "../../../test-support/free-port.js";
import { requireBubblewrap, requireEnvoy, requireRedis } from "../../../test-support/requirement.js";
import { WHERE } from "../../../test-support/servers/cluster.js";
import { useServers } from "../../../test-support/servers/servers.js";
import { connect } from "../../openenv/src/connect.js";
import { REDIS } from "./targets/container.js";

const bubblewrap = await requireBubblewrap();
const envoy = await requireEnvoy();
const redis = await requireRedis();
const { start } = useServers();

/** Like a container of a rendered Pod: its files are read-only, but for an empty /tmp and the folders of volumes. */
function readOnly(volumes: readonly string[], command: readonly string[]): string[] {
  const mounts = ["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp"];
  // The repository and the program may be below /tmp.
  for (const folder of [process.cwd(), dirname(resolve(command[0] ?? ""))]) mounts.push("--ro-bind", folder, folder);
  return [...mounts, ...volumes.flatMap((folder) => ["--bind", folder, folder]), "--die-with-parent", ...command];
}

describe.skipIf(!bubblewrap.available)("with a read-only root file system", { timeout: 90_000 }, () => {
  test("a server with two workers and a journal in a volume serves, and refuses one without a volume", async () => {
    const app = `import { serve } from "openenv-ts/server"; import environment from "./environment.mjs"; await serve(environment);`;
    await using project = await createProject({ "environment.mjs": WHERE, "app.mjs": app, "journal/empty": "" });
    const port = await findFreePort();
    const volumes = [join(project.dir, "journal")];
    const serve = (journal: string): string[] => {
      const variables = ["HOST=127.0.0.1", `PORT=${port}`, "WORKERS=2", `JOURNAL=${join(project.dir, journal)}`];
      return readOnly(volumes, ["env", ...variables, process.execPath, join(project.dir, "app.mjs")]);
    };
    const url = `http://127.0.0.1:${port}`;
    const running = await run(bubblewrap.path, serve("journal/sessions.db"), { url });
    try {
      await using env = await connect(url, { resume: true });
      await env.reset();
      expect((await env.step({ amount: 3 })).observation).toMatchObject({ count: 3 });
    } finally {
      await running.end();
    }
    const failed = spawn(bubblewrap.path, serve("sessions.db"), { stdio: ["ignore", "ignore", "pipe"] });
    let stderr = "";
    failed.stderr.on("data", (chunk: Buffer) => (stderr += String(chunk)));
    expect((await once(failed, "close"))[0]).not.toBe(0);
    expect(stderr).toMatch(/sessions\.db/);
  });

  test.skipIf(!envoy.available)("Envoy serves", async () => {
    const server = await start();
    await using project = await createProject();
    const port = await findFreePort();
    const balancer = { host: "127.0.0.1", port, adminPort: await findFreePort() };
    const files = render({ target: "envoy", topology: { balancer }, backends: [`127.0.0.1:${server.port}`] });
    for (const [name, text] of Object.entries(files)) await project.write(name, text);
    const command = [envoy.path, ...BALANCERS.envoy.args(join(project.dir, "envoy.yaml"))];
    const where = { url: `http://127.0.0.1:${port}`, cwd: project.dir };
    const running = await run(bubblewrap.path, readOnly([], command), where);
    await running.end();
  });

  test.skipIf(!redis.available)("Redis starts with its command of the rendered files", async () => {
    await using project = await createProject();
    const data = join(project.dir, "data");
    await mkdir(data);
    const [, ...args] = REDIS.command;
    const command = [redis.path, ...args, "--port", String(await findFreePort()), "--dir", data];
    const child = spawn(bubblewrap.path, readOnly([data], command), { stdio: ["ignore", "pipe", "inherit"] });
    let output = "";
    child.stdout.on("data", (chunk: Buffer) => (output += String(chunk)));
    const ended = once(child, "close");
    try {
      await expect.poll(() => output, { timeout: 30_000 }).toContain("Ready to accept connections");
    } finally {
      child.kill("SIGKILL");
      await ended;
    }
  });
});
