/** Frames on each runtime, and the limits that the servers of Bun and Deno keep. */
import { describe, expect, test } from "vitest";
import { requireBun, requireDeno } from "../../../../../test-support/requirement.js";
import { RESET, startCluster, step } from "../../../../../test-support/servers/cluster.js";
import { openBinarySocket } from "../../../../../test-support/sockets/binary-socket.js";
import { openTestSocket } from "../../../../../test-support/sockets/socket.js";

const [bun, deno] = [await requireBun(), await requireDeno()];
const RUNTIMES = [
  { name: "node", path: process.execPath, available: true },
  { name: "bun", ...bun },
  { name: "deno", ...deno },
] as const;

describe.each(RUNTIMES)("the frames of a server on $name", ({ name, path, available }) => {
  describe.skipIf(!available)("with its own server", { timeout: 60_000 }, () => {
    test("steps two sessions of one batch socket", async () => {
      await using server = await startCluster({}, { runtime: { name, path } });
      await using socket = await openTestSocket(`${server.url}/ws?openenv=batch`);
      const opened = await socket.ask({ type: "open_many", data: { count: 2 } });
      expect(opened).toMatchObject({ openenv: { extensions: ["batch"] } });
      await socket.ask({ type: "reset_many", data: { items: [{ session: 0 }, { session: 1 }] } });
      const items = [0, 1].map((session) => ({ session, data: { amount: session + 2 } }));
      expect(await socket.ask({ type: "step_many", data: { items } })).toMatchObject({
        data: { items: [2, 3].map((count) => ({ data: { observation: { count }, reward: count } })) },
      });
      expect((await server.capacity()).active_sessions).toBe(2);
    });

    test("answers MessagePack with MessagePack", async () => {
      await using server = await startCluster({}, { runtime: { name, path } });
      await using socket = await openBinarySocket(`${server.url}/ws?openenv=binary`);
      const first = await socket.ask(JSON.stringify(RESET));
      expect(first).toMatchObject({ binary: false, frame: { openenv: { extensions: ["binary"] } } });
      expect(await socket.askPacked(step(3))).toMatchObject({ data: { observation: { count: 3 }, reward: 3 } });
    });
  });
});
