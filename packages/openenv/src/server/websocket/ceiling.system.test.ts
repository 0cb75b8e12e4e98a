import { existsSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { requireRuntimes } from "../../../../../test-support/requirement.js";
import { openAll, RESET, startCluster, step, until } from "../../../../../test-support/servers/cluster.js";
import {
  type Flood,
  flood,
  peakMemory,
  sendUnfinished,
  sendUnfinishedBodies,
} from "../../../../../test-support/sockets/attacks.js";
import { renderCostly } from "../../../../../test-support/sockets/costly-messages.js";
import { pipelineRequests, renderRequest } from "../../../../../test-support/sockets/pipelined-requests.js";
import { openTestSocket } from "../../../../../test-support/sockets/socket.js";
import { MAX_MESSAGE_ITEMS } from "../../protocol/codec/json.js";
import { BODIES_BYTES, MEMORY_CEILING_BYTES } from "../limits/memory.js";

const MB = 1024 * 1024;
const BYSTANDERS = 20;
/** Actions of the environment: a step that does not end, and a step that answers with a megabyte. */
const ENDLESS = 15;
const LARGE = 16;

/** A slow request, followed by many that wait for its answer. */
function* manyRequests(): Generator<string> {
  yield renderRequest("/step", { action: { amount: ENDLESS } });
  for (let sent = 0; sent < 500_000; sent += 1_000) yield renderRequest("/health").repeat(1_000);
}

const RUNTIMES = await requireRuntimes();

describe.each(RUNTIMES)("a server on $name", ({ name, path, available }) => {
  test.skipIf(!available || !existsSync("/proc/self/status"))(
    "stays below the memory ceiling under unfinished, one-byte, pipelined, unread and costly messages at once, and closes no other session",
    async () => {
      const isNode = name === "node";
      await using server = await startCluster({ MAX_CONCURRENT_ENVS: "400" }, { runtime: { name, path } });
      const bystanders = await openAll(server.url, BYSTANDERS);
      const pid = bystanders[0]?.pid as number;
      const stepAll = async (): Promise<unknown[]> => {
        const answers = bystanders.map(({ socket }) => socket.ask(step(1)));
        return (await Promise.all(answers)).map(({ type }) => type);
      };
      const started: AsyncDisposable[] = [];
      const floods: Flood[] = [];
      // Deno refuses connections once its memory for answers is used up, also those of the attackers.
      const refused = (error: Error): undefined => {
        if (name !== "deno" || !error.message.includes("503")) throw error;
      };
      const attack = async (...given: Parameters<typeof flood>): Promise<void> => {
        const opened = await flood(...given).catch(refused);
        if (opened !== undefined) floods.push(opened);
      };
      const port = Number(new URL(server.url).port);

      const peers = isNode ? 90 : 10;
      const bodies = 20;
      // Bun and Deno do not count unfinished frames, and hold bodies that were refused.
      const ceiling = MEMORY_CEILING_BYTES + (isNode ? 0 : peers * 16 * MB + bodies * 15 * MB - BODIES_BYTES);
      const unfinished = await sendUnfinished(server.url, { peers, bytes: 15 * MB });
      for (const { socket } of unfinished.peers) socket.resume();
      started.push(unfinished, await sendUnfinishedBodies(port, { peers: bodies, body: Buffer.alloc(15 * MB, 0x20) }));
      const oneByte = { count: 6_000_000, payload: Buffer.from("1"), before: [RESET, step(ENDLESS)] };
      for (let i = 0; i < 20; i++) await attack(server.url, oneByte);
      // These peers read nothing: 12 MB of answers each.
      const payload = Buffer.from(JSON.stringify(step(LARGE)));
      for (let i = 0; i < 90; i++) await attack(server.url, { count: 12, payload, before: [RESET] });
      // These acknowledge nothing: 40 MB of answers are stored for each until the memory for them is used up.
      const begin = { type: "resume", data: { token_hash: "0".repeat(64) } };
      for (let i = 0; i < 10; i++) {
        const socket = await openTestSocket(`${server.url}/ws?openenv=resume`).catch(refused);
        if (socket === undefined) continue;
        started.push(socket);
        socket.send(begin, { ...RESET, seq: 1, ack: 0 });
        for (let seq = 2; seq <= 40; seq++) socket.send({ ...step(LARGE), seq, ack: 0 });
      }
      // Deno keeps all pipelined requests behind a slow one, without a limit.
      const requests = Array.from({ length: name === "deno" ? 0 : 40 }, () => pipelineRequests(port, manyRequests()));
      const costly = renderCostly("empty lists", { items: MAX_MESSAGE_ITEMS - 100, bytes: 15 * MB });
      const frame = Buffer.from(`{"type":"step","data":{"amount":1,"any":${costly}}}`.padEnd(15 * MB));
      await attack(server.url, { count: 20, payload: frame, before: [RESET], onAnswer: () => {} });
      const request = renderRequest("/step", { action: { amount: 1, any: JSON.parse(costly) as unknown } });
      requests.push(pipelineRequests(port, Array<string>(20).fill(request)).resume());

      const hasClosed = (): boolean => !isNode || unfinished.peers.some(({ socket }) => socket.destroyed);
      let rounds = 0;
      await until(async () => {
        expect(await stepAll()).toEqual(bystanders.map(() => "observation"));
        await sleep(300);
        return ++rounds >= 20 && hasClosed();
      });
      expect(peakMemory(pid)).toBeLessThan(ceiling);

      for (const socket of requests) socket.destroy();
      for (const each of [...started, ...floods]) await each[Symbol.asyncDispose]();
      expect(await stepAll()).toEqual(bystanders.map(() => "observation"));
      expect(peakMemory(pid)).toBeLessThan(ceiling);
      expect(server.command.stderr).not.toMatch(/worker does not respond|worker exited|heap/);
      for (const { socket } of bystanders) await socket[Symbol.asyncDispose]();
    },
    240_000,
  );
});
