import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { startBalancer } from "../../test-support/deploy/balancers.js";
import { findFreePort } from "../../test-support/free-port.js";
import { requireHaproxy, requirePython } from "../../test-support/requirement.js";
import { startCluster } from "../../test-support/servers/cluster.js";

const [python, haproxy] = [await requirePython(), await requireHaproxy()];

const SIZE = 30;
const PACKAGE = fileURLToPath(new URL("../../python/src", import.meta.url));

test.skipIf(!python.available || !haproxy.available)(
  "the Python vector environment spreads its sessions over the servers behind HAProxy, also over one that is added",
  { timeout: 300_000 },
  async () => {
    const ports = [await findFreePort(), await findFreePort(), await findFreePort()];
    const start = (port: number | undefined) => startCluster({ MAX_CONCURRENT_ENVS: "100" }, { port: port ?? 0 });
    await using first = await start(ports[0]);
    await using second = await start(ports[1]);
    const backends = ports.map((port) => `127.0.0.1:${port}`);
    await using balancer = await startBalancer("haproxy", haproxy.path, { backends });
    const script = fileURLToPath(new URL("spread_client.py", import.meta.url));
    const env = { ...process.env, PYTHONPATH: PACKAGE, PYTHONDONTWRITEBYTECODE: "1" };
    const client = spawn(python.path, [script, balancer.url, String(SIZE)], {
      stdio: ["pipe", "pipe", "inherit"],
      env,
    });
    const ended = new Promise((resolve) => client.once("exit", resolve));
    try {
      const episodes = createInterface(client.stdout)[Symbol.asyncIterator]();
      /** Reads episodes until one has as many sessions on each of so many servers. */
      const untilEven = async (servers: number): Promise<void> => {
        for (;;) {
          const { value, done } = await episodes.next();
          if (done) throw new Error("the client has ended");
          const counts = new Map<number, number>();
          for (const pid of JSON.parse(String(value)) as number[]) counts.set(pid, (counts.get(pid) ?? 0) + 1);
          if (counts.size === servers && [...counts.values()].every((count) => count === SIZE / servers)) return;
        }
      };
      await untilEven(2);
      await using _third = await start(ports[2]);
      await untilEven(3);
      client.stdin.end("end\n");
      expect(await ended).toBe(0);
    } finally {
      client.kill();
      await ended;
    }
    for (const { command } of [first, second]) expect(command.stderr).not.toMatch(/worker exited/);
  },
);
