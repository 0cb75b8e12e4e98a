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
import { startGateway } from "../../../test-support/proxies/gateway.js";
import { openTestSocket } from "../../../test-support/sockets/socket.js";
import { connectVector } from "../../openenv/src/client/index.js";
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
    test("WebSocket sessions are spread over both servers, and each has its own state", async () => {
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

    test("HTTP sessions reach their owner by the response header", async () => {
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

    test("resumable sessions and batch sockets reach their owner on the next connection", async () => {
      await using cluster = await startPair();
      await using gateway = await startGateway(cluster, "passes");
      const clients = await openOnBoth(cluster, async () => {
        const client = await connect(gateway.url, { resume: true });
        await client.reset();
        return client;
      });
      const activeOn = () => [cluster.one.active(), cluster.two.active()];
      const before = activeOn();
      await using envs = await connectVector(gateway.url, { size: 8, resume: true });
      await envs.reset();
      // A balancer that still counts a socket which has closed may lead all of them to one server.
      const sockets = activeOn().filter((active, server) => active > (before[server] ?? 0)).length;
      for (const tally of [1, 2, 3]) {
        for (const client of clients) {
          const result = await client.step(TALLY);
          expect(result.observation).toMatchObject(tallied(tally));
          expect(result.recovered).toBe(tally > 1 ? true : undefined);
        }
        const results = await envs.step(Array(8).fill(TALLY));
        for (const result of results) expect(result?.observation).toMatchObject(tallied(tally));
        gateway.cut();
      }
      // The client has a socket for each server, and each was cut twice.
      expect(envs.recoveries()).toEqual({ connections: 2 * sockets, sessions: 16 });
      await Promise.all(clients.map((client) => client.close()));
      await envs.close();
      await expect.poll(() => cluster.one.active() + cluster.two.active()).toBe(0);
    });

    test.skipIf(kind !== "haproxy")("sessions by address reach their owner, over HTTP and sockets", async () => {
      await using cluster = await startPair();
      let names = 0;
      const sessions = await openOnBoth(cluster, async () => {
        const address = `${cluster.url}/session/name-of-session-${names++}`;
        await openHttp(address);
        return address;
      });
      for (const address of sessions) {
        for (const result of [1, 2]) {
          expect(await stepHttp(address, {})).toMatchObject({ status: 200, body: { observation: tallied(result) } });
        }
        await using socket = await openTestSocket(`${address}/ws`);
        const answer = await socket.ask({ type: "step", data: TALLY });
        expect(answer).toMatchObject({ data: { observation: tallied(3) } });
      }
      expect(cluster.one.active() + cluster.two.active()).toBe(sessions.length);
    });

    test.skipIf(kind !== "haproxy")("sessions that a header names reach their owner", async () => {
      await using cluster = await startPair();
      let names = 0;
      const sessions = await openOnBoth(cluster, async () => {
        const headers = { "x-openenv-session-id": `name-of-session-${names++}` };
        await fetch(`${cluster.url}/reset`, { method: "POST", headers, body: "{}" });
        return headers;
      });
      for (const headers of sessions) {
        for (const result of [1, 2, 3]) {
          expect(await stepHttp(cluster.url, headers)).toMatchObject({
            status: 200,
            body: { observation: tallied(result) },
          });
        }
      }
      expect(cluster.one.active() + cluster.two.active()).toBe(sessions.length);
    });

    test("no name of a session is in its log, also when a request fails", async () => {
      const { server } = await start();
      await using balancer = await balance(addressOf(server));
      const name = "a-secret-name-of-a-session";
      const address = `${balancer.url}/session/${name}`;
      await openHttp(address);
      expect(await stepHttp(address, {})).toMatchObject({ status: 200 });
      expect(await stepHttp(`${address}.`, {})).toMatchObject({ status: 404 });
      const socket = await openTestSocket(`${address}/ws`);
      await socket.ask({ type: "state" });
      await server.close();
      await socket.closed;
      expect((await stepHttp(address, {})).status).toBeGreaterThanOrEqual(500);
      // Its log is read: it says that the server is away.
      if (kind === "haproxy") await expect.poll(() => balancer.output()).toMatch(/is DOWN/);
      expect(balancer.output()).not.toContain(name);
    });

    test("a server that refuses connections does not cost a session", async () => {
      const { server, active } = await start();
      const refusing = `127.0.0.1:${await findFreePort()}`;
      await using balancer = await balance(refusing, addressOf(server));
      const clients = await Promise.all(Array.from({ length: MANY }, () => connect(balancer.url)));
      await Promise.all(clients.map((client) => client.reset()));
      expect(active()).toBe(MANY);
      await Promise.all(clients.map((client) => client.close()));
    });

    test("when every server is full, the client gets the error of the server, and the sessions continue", async () => {
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

    test("the sessions of a removed server get an error, and new ones open on another server", async () => {
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

    test("one rejection of a server does not affect its other sessions", async () => {
      const one = await start({ drainMs: 60_000 });
      const two = await start();
      await using balancer = await balance(addressOf(one.server), addressOf(two.server));
      const sessions = await openOnBoth({ one, two }, () => openHttp(balancer.url));
      const drained = one.server.drain();
      expect((await fetch(`${one.server.url}/health`)).status).toBe(503);
      for (const result of [1, 2]) {
        // The draining server answers 503; the balancer may use the other one instead.
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
      // A new connection goes to the new process.
      const fresh = { connection: "close" };
      const opened = await openOnBoth(cluster, () => open(cluster, { headers: fresh }));
      // HAProxy passes its table on only after it has searched for one itself, for ten seconds from its start.
      await sleep(11_000);
      const before = new Set(sessions.map(({ header }) => header));
      for (const round of [0, 1]) {
        // Connections that are open and idle during the reload.
        for (const { header } of sessions) expect(await hasState(header, {})).toBe(true);
        await cluster.balancer.reload();
        // Its table arrives a moment after it listens.
        await expect
          .poll(async () => (await Promise.all([...before].map((header) => hasState(header, fresh)))).every(Boolean))
          .toBe(true);
        for (const result of [1, 2].map((count) => 2 * round + count)) {
          for (const { header } of sessions) {
            // By turns over connections that have been open since before the reload, as far as there are any.
            const connection = result % 2 === 0 ? fresh : {};
            const answer = await stepHttp(cluster.url, { ...connection, "openenv-session": header });
            expect(answer).toMatchObject({ status: 200, body: { observation: tallied(result) } });
          }
          for (const { client } of opened) {
            const { content } = await client.callTool({ name: "tally" });
            expect(content).toMatchObject([{ text: String(result) }]);
          }
        }
      }
      await Promise.all(opened.map(({ transport }) => transport.terminateSession()));

      async function hasState(header: string, connection: Record<string, string>): Promise<boolean> {
        const response = await fetch(`${cluster.url}/state`, {
          headers: { ...connection, "openenv-session": header },
        });
        await response.text();
        return response.ok;
      }
    });

    test("a restarted balancer ends its sockets with a typed error and sends no session to the wrong server", async () => {
      await using cluster = await startPair();
      const client = await connect(cluster.url);
      await client.reset();
      const sessions = await openOnBoth(cluster, () => openHttp(cluster.url));
      await cluster.balancer.restart();
      await expect(client.step(TALLY)).rejects.toMatchObject({ name: "ConnectionError", outcome: "lost" });
      for (const { header } of sessions) {
        const { status, body } = await stepHttp(cluster.url, { "openenv-session": header });
        // HAProxy remembers in memory where sessions live; with Envoy the clients do.
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
