import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import {
  MANY,
  openHttp,
  openOnBoth,
  stepHttp,
  TALLY,
  tallied,
} from "../../../test-support/deploy/balanced-sessions.js";
import { BALANCERS, startBalancer } from "../../../test-support/deploy/balancers.js";
import { useMcp } from "../../../test-support/environments/mcp.js";
import { findFreePort } from "../../../test-support/free-port.js";
import { connect } from "../../openenv/src/connect.js";
import { connectTools } from "../../openenv/src/connect-tools.js";
import type { RunningServer } from "../../openenv/src/server/types.js";

const { start, open } = useMcp();

for (const [kind, { require }] of Object.entries(BALANCERS)) {
  const component = await require();
  const balance = (...backends: string[]) =>
    startBalancer(kind as keyof typeof BALANCERS, component.path, { backends });
  const startPair = async () => {
    const one = await start();
    const two = await start();
    const balancer = await balance(addressOf(one.server), addressOf(two.server));
    return { one, two, url: balancer.url, balancer, [Symbol.asyncDispose]: () => balancer[Symbol.asyncDispose]() };
  };

  describe.skipIf(!component.available)(`through ${kind}`, { timeout: 60_000 }, () => {
    test("WebSocket sessions spread over both servers, and each plays in its own", async () => {
      await using cluster = await startPair();
      const clients = await openOnBoth(cluster, async () => {
        const client = await connect(cluster.url);
        await client.reset();
        return client;
      });
      expect(cluster.one.active() + cluster.two.active()).toBe(clients.length);
      for (const client of clients) {
        expect((await client.step(TALLY)).observation).toMatchObject(tallied(1));
        expect((await client.step(TALLY)).observation).toMatchObject(tallied(2));
      }
      await Promise.all(clients.map((client) => client.close()));
    });

    test("HTTP sessions reach their owner by the header of the answer", async () => {
      await using cluster = await startPair();
      const sessions = await openOnBoth(cluster, () => openHttp(cluster.url));
      for (const { header } of sessions) {
        for (const result of [1, 2, 3]) {
          const body = await stepHttp(cluster.url, { "openenv-session": header });
          expect(body).toMatchObject({ status: 200, body: { observation: tallied(result) } });
        }
      }
    });

    test("HTTP sessions reach their owner by cookies, as browsers send them", async () => {
      await using cluster = await startPair();
      const sessions = await openOnBoth(cluster, () => openHttp(cluster.url));
      for (const { cookie } of sessions) {
        for (const result of [1, 2]) {
          expect(await stepHttp(cluster.url, { cookie })).toMatchObject({
            status: 200,
            body: { observation: tallied(result) },
          });
        }
      }
    });

    test("sessions of MCP over Streamable HTTP reach their owner", async () => {
      await using cluster = await startPair();
      const opened = await openOnBoth(cluster, () => open(cluster));
      for (const { client } of opened) {
        for (const tally of [1, 2, 3]) {
          const { content } = await client.callTool({ name: "tally" });
          expect(content).toMatchObject([{ text: String(tally) }]);
        }
      }
      await Promise.all(opened.map(({ transport }) => transport.terminateSession()));
      await expect.poll(() => cluster.one.active() + cluster.two.active()).toBe(0);
    });

    test("sessions of plain JSON-RPC and the sockets that join them reach their owner", async () => {
      await using cluster = await startPair();
      const clients = await openOnBoth(cluster, () => connectTools(cluster.url, { mode: "production" }));
      for (const client of clients) {
        await client.reset();
        for (const tally of [1, 2, 3]) expect((await client.callTool("tally")).data).toBe(tally);
      }
      await Promise.all(clients.map((client) => client.close()));
      await expect.poll(() => cluster.one.active() + cluster.two.active()).toBe(0);
    });

    test("a server that refuses connections costs nobody a session", async () => {
      const { server, active } = await start();
      const refusing = `127.0.0.1:${await findFreePort()}`;
      await using balancer = await balance(refusing, addressOf(server));
      const clients = await Promise.all(Array.from({ length: MANY }, () => connect(balancer.url)));
      await Promise.all(clients.map((client) => client.reset()));
      expect(active()).toBe(MANY);
      await Promise.all(clients.map((client) => client.close()));
    });

    test("when every server is full the client gets the server's own refusal, and the sessions play on", async () => {
      const { server, active } = await start({ maxConcurrentEnvs: 2 });
      await using balancer = await balance(addressOf(server));
      const clients = await Promise.all([connect(balancer.url), connect(balancer.url)]);
      await Promise.all(clients.map((client) => client.reset()));
      const refused = { code: "CAPACITY_REACHED", message: expect.stringContaining("2 of 2 sessions are open") };
      await expect(connect(balancer.url).then((client) => client.reset())).rejects.toMatchObject(refused);
      for (const client of clients) {
        expect((await client.step(TALLY)).observation).toMatchObject(tallied(1));
        await client.close();
      }
      await expect.poll(active).toBe(0);
    });

    test("the sessions of a server that is gone are told so, and new ones open elsewhere", async () => {
      await using cluster = await startPair();
      const sessions = await openOnBoth(cluster, () => openHttp(cluster.url));
      await cluster.one.server.close();
      const outcomes = await Promise.all(
        sessions.map(({ header }) => stepHttp(cluster.url, { "openenv-session": header })),
      );
      const lost = outcomes.filter(({ status }) => status !== 200);
      expect(lost.length).toBeGreaterThan(0);
      expect(lost.length).toBeLessThan(sessions.length);
      for (const { status, body } of lost) {
        expect(status).toBe(404);
        expect(body).toMatchObject({ code: "SESSION_ERROR" });
      }
      const { status } = await stepHttp(cluster.url, { "openenv-session": (await openHttp(cluster.url)).header });
      expect(status).toBe(200);
    });

    test("one refusal of a server costs its other sessions nothing", async () => {
      const one = await start({ drainMs: 60_000 });
      const two = await start();
      await using balancer = await balance(addressOf(one.server), addressOf(two.server));
      const sessions = await openOnBoth({ one, two }, () => openHttp(balancer.url));
      const drained = one.server.drain();
      expect((await fetch(`${one.server.url}/health`)).status).toBe(503);
      for (const result of [1, 2]) {
        // Of the server that drains a 503; the balancer may ask the other instead.
        for (const { cookie } of sessions)
          await (await fetch(`${balancer.url}/health`, { headers: { cookie } })).text();
        for (const { header } of sessions) {
          const answer = await stepHttp(balancer.url, { "openenv-session": header });
          expect(answer).toMatchObject({ status: 200, body: { observation: tallied(result) } });
        }
      }
      await one.server.close();
      await drained;
    });

    test.skipIf(kind !== "haproxy")("a reload loses no session of HTTP or MCP", async () => {
      await using cluster = await startPair();
      const sessions = await openOnBoth(cluster, () => openHttp(cluster.url));
      // A connection that is kept would end with the old process.
      const fresh = { connection: "close" };
      const opened = await openOnBoth(cluster, () => open(cluster, { headers: fresh }));
      // HAProxy hands its table over only after it has itself looked for one, for ten seconds from its start.
      await sleep(11_000);
      const before = new Set(sessions.map(({ header }) => header));
      for (const round of [0, 1]) {
        await cluster.balancer.reload();
        // Its table comes a moment after it listens.
        await expect.poll(async () => (await Promise.all([...before].map(hasState))).every(Boolean)).toBe(true);
        for (const result of [1, 2].map((count) => 2 * round + count)) {
          for (const { header } of sessions) {
            const answer = await stepHttp(cluster.url, { ...fresh, "openenv-session": header });
            expect(answer).toMatchObject({ status: 200, body: { observation: tallied(result) } });
          }
          for (const { client } of opened) {
            const { content } = await client.callTool({ name: "tally" });
            expect(content).toMatchObject([{ text: String(result) }]);
          }
        }
      }
      await Promise.all(opened.map(({ transport }) => transport.terminateSession()));

      async function hasState(header: string): Promise<boolean> {
        const response = await fetch(`${cluster.url}/state`, {
          headers: { ...fresh, "openenv-session": header },
        });
        await response.text();
        return response.ok;
      }
    });

    test("a balancer that restarts ends its sockets with a typed error and sends no one to a stranger", async () => {
      await using cluster = await startPair();
      const client = await connect(cluster.url);
      await client.reset();
      const sessions = await openOnBoth(cluster, () => openHttp(cluster.url));
      await cluster.balancer.restart();
      await expect(client.step(TALLY)).rejects.toMatchObject({ name: "ConnectionError", outcome: "lost" });
      for (const { header } of sessions) {
        const { status, body } = await stepHttp(cluster.url, { "openenv-session": header });
        // HAProxy keeps in memory where sessions live; for Envoy the clients do.
        if (kind === "haproxy" && status === 404) expect(body).toMatchObject({ code: "SESSION_ERROR" });
        else expect(body).toMatchObject({ observation: tallied(1) });
      }
      await using again = await connect(cluster.url);
      await again.reset();
    });
  });
}

function addressOf({ port }: RunningServer): string {
  return `127.0.0.1:${port}`;
}
