/** Stored answers of one client must not keep other clients from sessions that outlive their sockets. */
import { afterEach, expect, test, vi } from "vitest";
import * as z from "zod";
import { defineContract, defineEnvironment, type EnvironmentDefinition } from "#core/index.js";
import type { RunningServer, ServeOptions } from "#core/server/types.js";
import { useServers } from "../../../../test-support/servers/servers.js";
import { BEGIN, codeOf, openResumable, returnTo } from "../../../../test-support/sockets/resumable.js";
import type { TestSocket } from "../../../../test-support/sockets/socket.js";

const { start, open } = useServers();

const contract = defineContract({
  name: "large_env",
  action: z.object({ size: z.int() }),
  observation: z.object({ text: z.string() }),
});
const environment = defineEnvironment(contract, () => ({
  reset: () => ({ observation: { text: "" } }),
  step: ({ size }) => ({ observation: { text: "x".repeat(size) } }),
  snapshot: () => null,
  restore: () => {},
}));
const serve = (options: ServeOptions = {}) =>
  start(options, { environment: environment as unknown as EnvironmentDefinition<typeof contract> } as never);
const step = (size: number, seq: number, ack = 0) => ({ type: "step", data: { size }, seq, ack });

afterEach(() => {
  vi.restoreAllMocks();
});

/** Opens a session at every door that needs memory for answers; returns the codes of those that are refused. */
async function tryDoors(server: RunningServer): Promise<unknown[]> {
  const resumed = await open(server, "/ws?openenv=resume");
  const answers = [await resumed.ask(BEGIN)];
  const addressed = await open(server, "/session/run-7_worker-3_5f1c9a/ws");
  answers.push(await addressed.ask({ type: "reset" }));
  const { session_id } = (answers[0] as { data: { session_id: string } }).data;
  const forked = await fetch(`${server.url}/sessions/${session_id}/fork`, {
    method: "POST",
    headers: { "content-type": "application/json", "openenv-session-token": "a-token-of-the-client" },
    body: JSON.stringify({ count: 1 }),
  });
  answers.push((await forked.json()) as Record<string, unknown>);
  return answers.map((answer) => answer["code"] ?? (answer["data"] as { code?: string } | undefined)?.code);
}

test("63 answers of 4.3 MB that a client does not acknowledge leave the doors open for the others", async () => {
  const server = await serve();
  const { socket } = await openResumable(open, server);
  for (let seq = 2; seq < 65; seq++) socket.send(step(4_300_000, seq));
  const codes: unknown[] = [];
  for (let seq = 2; seq < 65; seq++) codes.push(codeOf(await socket.receive()));
  const stored = codes.filter((code) => code === undefined).length;
  // A 32nd of 256 MB, and the answer that goes beyond it; those after it came before their turn.
  expect([stored, codes[stored], codes.at(-1)]).toEqual([2, "SEQUENCE_OVERFLOW", "SEQUENCE_GAP"]);
  expect(await tryDoors(server)).toEqual([undefined, undefined, undefined]);
  // It continues with an acknowledgement.
  expect(codeOf(await socket.ask(step(1, stored + 2, stored + 1)))).toBe(undefined);
});

test("when the memory is used up, the largest session that was not resumed in the guaranteed time ends", async () => {
  const server = await serve({ resumeBytes: 1_000_000, resumeGuarantee: 30 });
  const fill = async (size: number): Promise<{ socket: TestSocket; id: string }> => {
    const opened = await openResumable(open, server);
    await opened.socket.ask(step(size, 2, 1));
    return opened;
  };
  const connected = await fill(300_000);
  const smaller = await fill(250_000);
  const largest = await fill(500_000);
  for (const { socket } of [smaller, largest]) socket.ws.terminate();
  await expect.poll(async () => (await server.sessions()).filter(({ attached }) => attached).length).toBe(1);
  const newcomer = async () => (await open(server, "/ws?openenv=resume")).ask(BEGIN);
  expect(await newcomer()).toMatchObject({
    data: { code: "CAPACITY_REACHED", message: expect.stringContaining("RESUME_BYTES") },
  });
  const real = performance.now.bind(performance);
  vi.spyOn(performance, "now").mockImplementation(() => real() + 31_000);
  expect(await newcomer()).toMatchObject({ type: "resumed" });
  const [, lost] = await returnTo(open, server, [largest.id]);
  expect(lost).toMatchObject({ recovered: false, reason: expect.stringContaining("stored answers were removed") });
  const [, kept] = await returnTo(open, server, [smaller.id]);
  expect(kept).toMatchObject({ recovered: true });
  expect(codeOf(await connected.socket.ask(step(1, 3, 2)))).toBe(undefined);
});
