import { describe, expect, test } from "vitest";
import { createProject, type Project, startCommand } from "../../../test-support/commands/command-line.js";
import { BALANCERS, startBalancer } from "../../../test-support/deploy/balancers.js";
import { findFreePort } from "../../../test-support/free-port.js";
import { fetchAsOperator, OPERATOR_VARIABLES } from "../../../test-support/operator.js";
import { WHERE } from "../../../test-support/servers/cluster.js";
import { connectVector } from "../../openenv/src/client/index.js";

const SIZE = 150;

for (const [kind, { require }] of Object.entries(BALANCERS)) {
  const component = await require();

  describe.skipIf(!component.available)(`sessions of connectVector through ${kind}`, { timeout: 120_000 }, () => {
    test("spread over three servers, and a server that is added gets its share of the next episodes", async () => {
      await using project = await createProject({ "environment.mjs": WHERE });
      const ports = [await findFreePort(), await findFreePort(), await findFreePort(), await findFreePort()];
      const servers = await Promise.all(ports.slice(0, 3).map((port) => startServer(project, port)));
      try {
        const backends = ports.map((port) => `127.0.0.1:${port}`);
        await using balancer = await startBalancer(kind as keyof typeof BALANCERS, component.path, { backends });
        await using envs = await connectVector(balancer.url, { size: SIZE });
        const reset = async () => {
          const results = await envs.reset();
          expect(results.map((result) => result?.outcome)).toEqual(Array(SIZE).fill("ok"));
          expect(results.some((result) => result?.reopened)).toBe(false);
          return (await Promise.all(ports.map(sessionsAt))).toSorted((one, other) => one - other);
        };
        // HAProxy chooses the server with the fewest connections. Envoy compares two servers that it chooses at random.
        if (kind === "haproxy") expect(await reset()).toEqual([0, 50, 50, 50]);
        else await expect.poll(reset, { timeout: 60_000, interval: 500 }).toEqual([0, 50, 50, 50]);
        const stepped = await envs.step(Array(SIZE).fill({ amount: 1 }));
        expect(stepped.map((result) => result?.observation?.["count"])).toEqual(Array(SIZE).fill(1));

        servers.push(await startServer(project, ports[3] as number));
        await expect.poll(reset, { timeout: 60_000, interval: 500 }).toEqual([36, 38, 38, 38]);
        const again = await envs.step(Array(SIZE).fill({ amount: 1 }));
        expect(again.map((result) => result?.observation?.["count"])).toEqual(Array(SIZE).fill(1));
      } finally {
        await Promise.all(servers.map((server) => server[Symbol.asyncDispose]()));
      }
    });
  });
}

function startServer(project: Project, port: number) {
  const options = { cwd: project.dir, env: { ...OPERATOR_VARIABLES, MAX_CONCURRENT_ENVS: "200" } };
  const server = startCommand(["serve", "environment.mjs", "--port", String(port)], options);
  return server.printed(/at http:\S+/).then(() => server);
}

async function sessionsAt(port: number): Promise<number> {
  const answer = await fetchAsOperator(`http://127.0.0.1:${port}/sessions`).catch(() => undefined);
  return answer === undefined ? 0 : ((await answer.json()) as { sessions: unknown[] }).sessions.length;
}
