import { connectStarted, kubernetesProvider } from "@openenv-ts/providers";
import { connect, connectVector } from "openenv-ts/client";
import { describe, expect, test } from "vitest";
import { askCluster, IMAGE, isMissing, isReal, useCluster } from "../../../../test-support/kubernetes/use-cluster.js";

const BLOWS = [
  ["OOMKilled", /Its server has ended \(kubernetes: The container of Pod \S+ ended with code 137 \(OOMKilled\)/],
  ["Evicted", /Its server has ended \(kubernetes: Pod \S+ has ended: Evicted: The node was low on resource: memory\)/],
] as const;

// The first of them loads the client library.
describe.skipIf(isMissing)("a Pod that runs", { timeout: 120_000 }, () => {
  const cluster = useCluster();
  const start = (replicas?: number) => kubernetesProvider().start({ image: IMAGE, replicas });

  test.skipIf(isReal).each(BLOWS)("%s: its session says so in the cluster's words", async (blow, message) => {
    await using env = await connectStarted(await start(), undefined, {});
    await env.reset();
    await cluster.api?.strike(/^pods/, blow);
    const lost = { code: "SESSION_LOST", message: expect.stringMatching(message) };
    await expect(env.step({ amount: 1 })).rejects.toMatchObject(lost);
    await expect(env.reset()).rejects.toMatchObject({ message: expect.stringMatching(message) });
  });

  test.skipIf(isReal).each(BLOWS)(
    "%s, of a Deployment: its sessions say so, and go on elsewhere",
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

  test.skipIf(isReal)("one that is connected by its URL has the typed error, and the log has the reason", async () => {
    await using server = await start();
    await using env = await connect(server.url);
    await env.reset();
    await cluster.api?.strike(/^pods/, "OOMKilled");
    await expect(env.step({ amount: 1 })).rejects.toMatchObject({ code: "SESSION_LOST" });
    await expect.poll(() => server.logs(), { timeout: 10_000 }).toContain("OOMKilled");
  });

  test("that somebody removes: its session says so", async () => {
    await using env = await connectStarted(await start(), undefined, {});
    await env.reset();
    const { pods, removePod } = await askCluster();
    await removePod((await pods())[0]?.metadata?.name);
    await expect.poll(() => env.sessionLost, { timeout: 60_000 }).toBe(true);
    await expect(env.step({ amount: 1 })).rejects.toMatchObject({
      code: "SESSION_LOST",
      message: expect.stringMatching(/kubernetes: Pod \S+ (is being removed|was removed by somebody else)/),
    });
  });

  test.skipIf(isReal)("carries sessions that come by the host of its Ingress", async () => {
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
      const asked = (cluster.api?.answered ?? []).slice(before).map((one) => one.replace(/\/.*/, ""));
      const count = (request: string) => asked.filter((one) => one === request).length;
      for (const kind of ["services", "secrets", "deployments"])
        expect([kind, count(`POST ${kind}`)]).toEqual([kind, 1]);
      for (const kind of ["services", "secrets", "deployments", "pods", "ingresses"]) {
        expect([kind, count(`DELETE ${kind}`)]).toEqual([kind, 1]);
      }
      // Until they run, until they are ready, to follow them and until they are gone: twice a second, and at once for each.
      expect(count("GET pods")).toBeLessThanOrEqual(2 * seconds + 6);
    },
    30_000,
  );
});
