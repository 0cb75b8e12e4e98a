/** Two processes of each runtime behind the rendered HAProxy: where sessions go, and which of them end with a killed process. */
import { describe, expect, test } from "vitest";
import { openHttp, stepHttp } from "../../../test-support/deploy/balanced-sessions.js";
import { startBalancer } from "../../../test-support/deploy/balancers.js";
import { startGateway } from "../../../test-support/proxies/gateway.js";
import { requireHaproxy, requireRuntimes } from "../../../test-support/requirement.js";
import { startCluster, type TestCluster, until } from "../../../test-support/servers/cluster.js";
import { openTestSocket } from "../../../test-support/sockets/socket.js";
import { connect } from "../../openenv/src/connect.js";

const haproxy = await requireHaproxy();
const RUNTIMES = await requireRuntimes();

const ADD = { amount: 1 };

interface Seen {
  pid: number;
  count: number;
}

describe.each(RUNTIMES)("two servers on $name behind haproxy", ({ name, path, available }) => {
  describe.skipIf(!available || !haproxy.available)("as rendered", { timeout: 120_000 }, () => {
    /** Each is one process; on Node its supervisor would replace it. */
    async function startPair() {
      const variables = name === "node" ? { WORKERS: "1" } : {};
      const options = { runtime: { name, path } };
      const servers = [await startCluster(variables, options), await startCluster(variables, options)];
      const backends = servers.map(({ url }) => new URL(url).host);
      const balancer = await startBalancer("haproxy", haproxy.path, { backends });
      return {
        url: balancer.url,
        servers,
        async [Symbol.asyncDispose]() {
          await balancer[Symbol.asyncDispose]();
          for (const server of servers) await server[Symbol.asyncDispose]();
        },
      };
    }

    /** Opens sessions until both processes have one. */
    async function openOnBoth<T extends { seen: Seen }>(open: (index: number) => Promise<T>): Promise<T[]> {
      const opened: T[] = [];
      await until(async () => {
        opened.push(await open(opened.length));
        return opened.length >= 4 && new Set(opened.map(({ seen }) => seen.pid)).size === 2;
      });
      return opened;
    }

    test("sessions are spread, and each connection that resumes one reaches its process", async () => {
      await using pair = await startPair();
      await using gateway = await startGateway(pair, "passes");
      const clients = await openOnBoth(async () => {
        const env = await connect(gateway.url, { resume: true });
        return { env, seen: (await env.reset()).observation as unknown as Seen };
      });
      for (const count of [1, 2, 3]) {
        for (const { env, seen } of clients) {
          const { observation, recovered } = await env.step(ADD);
          expect(observation).toMatchObject({ pid: seen.pid, count });
          expect(recovered).toBe(count > 1 ? true : undefined);
        }
        gateway.cut();
      }
      for (const { env } of clients) await env.close();
    });

    test("a killed process ends its sessions with clear errors, and those of the other continue", async () => {
      await using pair = await startPair();
      const sockets = await openOnBoth(async () => {
        const socket = await openTestSocket(`${pair.url}/ws`);
        return { socket, seen: seenIn(await socket.ask({ type: "reset" })) };
      });
      const byHeader = await openOnBoth(async () => {
        const headers = { "openenv-session": (await openHttp(pair.url)).header };
        return { headers, seen: seenIn({ data: (await stepHttp(pair.url, headers, ADD)).body }) };
      });
      const byAddress = await openOnBoth(async (index) => {
        const address = `${pair.url}/session/name-of-session-${index}`;
        await openHttp(address);
        return { address, seen: seenIn({ data: (await stepHttp(address, {}, ADD)).body }) };
      });
      for (const { address, seen } of byAddress) {
        // The same session over a socket.
        await using socket = await openTestSocket(`${address}/ws`);
        const answer = await socket.ask({ type: "step", data: ADD });
        expect(answer).toMatchObject({ data: { observation: { pid: seen.pid, count: 2 } } });
      }

      const killed = sockets[0]?.seen.pid as number;
      process.kill(killed, "SIGKILL");
      for (const { socket, seen } of sockets) {
        if (seen.pid === killed) expect((await socket.closed).code).toBe(1006);
      }
      // Until Node's supervisor sees the exit, its port accepts connections; then it resets them, with their requests.
      const ended = ({ command }: TestCluster) =>
        name === "node" ? command.printed(/a worker exited.*"listening"/s) : command.exited;
      await Promise.race(pair.servers.map(ended));
      for (const { socket, seen } of sockets) {
        if (seen.pid === killed) continue;
        const answer = await socket.ask({ type: "step", data: ADD });
        expect(answer).toMatchObject({ data: { observation: { pid: seen.pid, count: 1 } } });
      }
      for (const { headers, seen } of byHeader) {
        const expected =
          seen.pid === killed
            ? { status: 404, body: { code: "SESSION_ERROR" } }
            : { status: 200, body: { observation: { pid: seen.pid, count: 2 } } };
        expect(await stepHttp(pair.url, headers, ADD)).toMatchObject(expected);
      }
      for (const { address, seen } of byAddress) {
        const expected =
          seen.pid === killed
            ? { status: 500, body: { openenv_code: "NO_EPISODE" } }
            : { status: 200, body: { observation: { pid: seen.pid, count: 3 } } };
        expect(await stepHttp(address, {}, ADD)).toMatchObject(expected);
      }
      await using env = await connect(pair.url);
      await env.reset();
      expect((await env.step(ADD)).observation).toMatchObject({ count: 1 });
    });
  });
});

function seenIn(frame: object): Seen {
  return (frame as { data: { observation: Seen } }).data.observation;
}
