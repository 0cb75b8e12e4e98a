import { connectStarted, kubernetesProvider } from "@openenv-ts/providers";
import { connect, connectVector } from "openenv-ts/client";
import { describe, expect, test } from "vitest";
import { askCluster, IMAGE, isMissing, isReal, useCluster } from "../../../../test-support/kubernetes/use-cluster.js";

const BLOWS = [
  ["OOMKilled", /Its server has ended \(kubernetes: The container of Pod \S+ exited with code 137 \(OOMKilled\)/],
  ["Evicted", /Its server has ended \(kubernetes: Pod \S+ has ended: Evicted: The node was low on resource: memory\)/],
] as const;

// The first of them loads the client library.
describe.skipIf(isMissing)("a running Pod", { timeout: 120_000 }, () => {
  const cluster = useCluster();
  const start = (replicas?: number) => kubernetesProvider().start({ image: IMAGE, replicas });

  test.skipIf(isReal).each(BLOWS)("%s: its session is lost with the cluster's message", async (blow, message) => {
    await using env = await connectStarted(await start(), undefined, {});
    await env.reset();
    await cluster.api?.strike(/^pods/, blow);
    const lost = { code: "SESSION_LOST", message: expect.stringMatching(message) };
    await expect(env.step({ amount: 1 })).rejects.toMatchObject(lost);
    await expect(env.reset()).rejects.toMatchObject({ message: expect.stringMatching(message) });
  });

  test.skipIf(isReal).each(BLOWS)(
    "%s, of a Deployment: its sessions are lost with the reason, and continue on other Pods",
    async (blow, message) => {
      const options = { size: 4, ownSockets: true, start: { image: IMAGE, replicas: 2 } };
      await using envs = await connectVector(kubernetesProvider(), options);
      await envs.reset();
      await cluster.api?.strike(/^pods/, blow);
      const results = await envs.step(Array(4).fill({ amount: 1 }));
      const lost = results.flatMap((result) => (result && "error" in result ? [result.error] : []));
      expect(lost).toHaveLength(2);
      for (const error of lost) expect(error.message).toMatch(message);
      await expect
        .poll(async () => (await envs.reset()).map((result) => result?.outcome), { timeout: 30_000 })
        .toEqual(["ok", "ok", "ok", "ok"]);
    },
  );

  test.skipIf(isReal)("a client connected by URL gets the typed error, and the log has the reason", async () => {
    await using server = await start();
    await using env = await connect(server.url);
    await env.reset();
    await cluster.api?.strike(/^pods/, "OOMKilled");
    await expect(env.step({ amount: 1 })).rejects.toMatchObject({ code: "SESSION_LOST" });
    await expect.poll(() => server.logs(), { timeout: 10_000 }).toContain("OOMKilled");
  });

  test("removed by another client: its session is lost with the reason", async () => {
    await using env = await connectStarted(await start(), undefined, {});
    await env.reset();
    const { pods, removePod } = await askCluster();
    await removePod((await pods())[0]?.metadata?.name);
    await expect.poll(() => env.sessionLost, { timeout: 60_000 }).toBe(true);
    await expect(env.step({ amount: 1 })).rejects.toMatchObject({
      code: "SESSION_LOST",
      message: expect.stringMatching(/kubernetes: Pod \S+ (is being removed|was removed by another client)/),
    });
  });

  test.skipIf(isReal)("serves sessions through the host of its Ingress", async () => {
    const ingressHost = `localhost:${cluster.api?.ingressPort}`;
    await using server = await kubernetesProvider({ reach: { ingressHost } }).start({ image: IMAGE, replicas: 2 });
    expect(server.url).toBe(`http://${ingressHost}`);
    const sessions = await Promise.all([1, 2, 3, 4].map(() => connect(server.url)));
    for (const [nth, env] of sessions.entries()) {
      await env.reset();
      expect((await env.step({ amount: nth + 1 })).observation).toEqual({ count: nth + 1 });
    }
    await cluster.api?.strike(/^pods/, "OOMKilled");
    await expect.poll(() => sessions.filter((env) => env.sessionLost).length, { timeout: 10_000 }).toBe(2);
    for (const env of sessions) await env.close();
  });

  test.skipIf(isReal)(
    "costs the API server what the design says",
    async () => {
      const before = cluster.api?.answered.length ?? 0;
      const startedAt = Date.now();
      const server = await kubernetesProvider().start({ image: IMAGE, replicas: 3, env: { HELLO: "world" } });
      await server.close();
      const seconds = (Date.now() - startedAt) / 1_000;
      const requests = (cluster.api?.answered ?? []).slice(before).map((one) => one.replace(/\/.*/, ""));
      const count = (request: string) => requests.filter((one) => one === request).length;
      for (const kind of ["services", "secrets", "deployments"])
        expect([kind, count(`POST ${kind}`)]).toEqual([kind, 1]);
      for (const kind of ["services", "secrets", "deployments", "pods", "ingresses"]) {
        expect([kind, count(`DELETE ${kind}`)]).toEqual([kind, 1]);
      }
      // Polled twice a second while they start, become ready, run and end, and once at the beginning of each phase.
      expect(count("GET pods")).toBeLessThanOrEqual(2 * seconds + 6);
    },
    120_000,
  );
});
