import { spawn } from "node:child_process";
import { text } from "node:stream/consumers";
import { expect, test } from "vitest";
import { createProject, type Project, startCommand } from "../../test-support/commands/command-line.js";
import { startBalancer } from "../../test-support/deploy/balancers.js";
import { findFreePort } from "../../test-support/free-port.js";
import { fetchAsOperator, OPERATOR_VARIABLES } from "../../test-support/operator.js";
import { requireHaproxy, requirePython } from "../../test-support/requirement.js";
import { until } from "../../test-support/servers/cluster.js";

const [python, haproxy] = [await requirePython(), await requireHaproxy()];

const ENVIRONMENT = `
import { defineContract, defineEnvironment } from "openenv-ts";
import * as z from "zod";
const contract = defineContract({
  name: "episode_env",
  action: z.object({ amount: z.int() }),
  observation: z.object({ count: z.int(), pid: z.int() }),
});
export default defineEnvironment(contract, () => {
  let count = 0;
  const look = () => ({ count, pid: process.pid });
  return {
    reset: () => {
      count = 0;
      return { observation: look() };
    },
    step: ({ amount }) => {
      count += amount;
      return { observation: look(), done: count >= 10 };
    },
  };
});
`;

test.skipIf(!python.available || !haproxy.available)(
  "released clients lose no episode when each server behind HAProxy is drained and replaced",
  { timeout: 400_000 },
  async () => {
    await using project = await createProject({ "environment.mjs": ENVIRONMENT });
    const ports = [await findFreePort(), await findFreePort()];
    const servers = await Promise.all(ports.map((port) => startServer(project, port)));
    try {
      const backends = ports.map((port) => `127.0.0.1:${port}`);
      await using balancer = await startBalancer("haproxy", haproxy.path, { backends });
      const script = new URL("departure_client.py", import.meta.url).pathname;
      const clients = spawn(python.path, [script, balancer.url], { stdio: ["pipe", "pipe", "inherit"] });
      const output = text(clients.stdout);
      try {
        // A busy machine takes a minute to import the clients.
        const sessions = async () => (await sessionsAt(ports[0])) + (await sessionsAt(ports[1]));
        await expect.poll(sessions, { timeout: 200_000 }).toBe(4);
        for (const [index, port] of ports.entries()) {
          const old = servers[index];
          old?.process.kill("SIGTERM");
          expect(await old?.exited).toBe(0);
          expect(old?.stderr).not.toContain("did not finish");
          servers[index] = await startServer(project, port);
          await until(() => fetch(`${balancer.url}/health`).then(({ ok }) => ok));
        }
      } finally {
        clients.stdin.end("end\n");
      }
      const { episodes, processes, errors } = JSON.parse(await output) as Record<string, unknown>;
      expect(errors).toEqual([]);
      expect(episodes).toBeGreaterThan(4);
      expect(processes).toBeGreaterThan(1);
    } finally {
      await Promise.all(servers.map((server) => server[Symbol.asyncDispose]()));
    }
  },
);

function startServer(project: Project, port: number) {
  const env = { SHUTDOWN_DRAIN: "60", ...OPERATOR_VARIABLES };
  const server = startCommand(["serve", "environment.mjs", "--port", String(port)], { cwd: project.dir, env });
  return server.printed(/at http:\S+/).then(() => server);
}

async function sessionsAt(port: number | undefined): Promise<number> {
  const answer = await fetchAsOperator(`http://127.0.0.1:${port}/sessions`);
  return ((await answer.json()) as { sessions: unknown[] }).sessions.length;
}
