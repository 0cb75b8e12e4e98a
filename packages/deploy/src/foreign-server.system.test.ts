import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { counterModule, createProject, startCommand } from "../../../test-support/commands/command-line.js";
import { BALANCERS, run } from "../../../test-support/deploy/balancers.js";
import { findFreePort } from "../../../test-support/free-port.js";
import { connect } from "../../openenv/src/connect.js";
import { renderEnvoy } from "./balancers/envoy.js";
import { renderHaproxy } from "./balancers/haproxy.js";
import { JOB_DEPLOYMENT, JOB_FOLDER, JOB_PORT } from "./limits.js";
import { parseTopology } from "./topology.js";

const RENDER = { haproxy: renderHaproxy, envoy: renderEnvoy };

for (const kind of ["haproxy", "envoy"] as const) {
  const component = await BALANCERS[kind].require();

  describe.skipIf(!component.available)(`${kind} of a job`, { timeout: 180_000 }, () => {
    test("sends no session to the server of another job that listens at one of its addresses", async () => {
      const folder = await mkdtemp(join(tmpdir(), "openenv-job-"));
      await using project = await createProject({
        "own.ts": counterModule(),
        "foreign.ts": counterModule("amount * 100"),
      });
      const serve = (file: string, deployment: string) =>
        startCommand(["serve", file, "--port", "0"], { cwd: project.dir, env: { OPENENV_DEPLOYMENT: deployment } });
      await using own = serve("own.ts", "slurm-1");
      await using foreign = serve("foreign.ts", "slurm-2");
      const backends = await Promise.all(
        [own, foreign].map(async (server) => {
          const [, port] = await server.printed(/ at http:\S+:(\d+)\n/);
          return { host: "127.0.0.1", port: Number(port) };
        }),
      );
      const port = await findFreePort();
      const topology = parseTopology({ nodes: 2, balancer: { host: "127.0.0.1" } });
      const text = RENDER[kind](topology, { isJob: true, backends })
        .replaceAll(JOB_PORT, String(port))
        .replaceAll(JOB_FOLDER, folder)
        .replace(JOB_DEPLOYMENT, "slurm-1");
      const config = join(folder, kind === "envoy" ? "envoy.yaml" : "haproxy.cfg");
      await writeFile(config, text);
      const url = `http://127.0.0.1:${port}`;
      const balancer = await run(component.path, BALANCERS[kind].args(config), { url });
      try {
        // A server may count before its first check.
        await expect
          .poll(
            async () => (await Promise.all(Array.from({ length: 8 }, () => play(url)))).every((count) => count === 2),
            { timeout: 60_000 },
          )
          .toBe(true);
        const counts = await Promise.all(Array.from({ length: 40 }, () => play(url)));
        expect(new Set(counts)).toEqual(new Set([2]));
      } finally {
        await balancer.end();
        await rm(folder, { recursive: true, force: true });
      }
    });
  });
}

async function play(url: string): Promise<unknown> {
  // Forty clients connect at once, on a machine that may be busy.
  await using client = await connect(url, { connectTimeoutMs: 60_000 });
  await client.reset();
  return ((await client.step({ amount: 2 })).observation as { count: number }).count;
}
