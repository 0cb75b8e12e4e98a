import { fileURLToPath } from "node:url";
import { afterEach, expect, test, vi } from "vitest";
import { type Fleet, type FleetOptions, startFleet } from "../index.js";

const PROGRAM = fileURLToPath(new URL("../../../../test-support/upstreams/health-upstream.mjs", import.meta.url));
const COMMAND = `"${process.execPath}" "${PROGRAM}"`;
const NEVER = new AbortController().signal;
const open: AsyncDisposable[] = [];
afterEach(async () => {
  for (const one of open.splice(0)) await one[Symbol.asyncDispose]();
});

interface Line {
  message: string;
  [field: string]: unknown;
}

async function start(options: Omit<FleetOptions, "log">): Promise<{ fleet: Fleet; lines: Line[] }> {
  const lines: Line[] = [];
  const add = (fields: object, message: string): number => lines.push({ ...fields, message });
  const log = { debug: add, info: add, warn: add, error: add };
  const fleet = await startFleet({ ...options, log });
  open.push(fleet);
  return { fleet, lines };
}

async function health(url: string): Promise<{ pid: number; variables: Record<string, string> }> {
  return (await fetch(`${url}/health`)).json() as never;
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

test("processes are started, each has its sessions, and nothing is left", async () => {
  const { fleet } = await start({ command: COMMAND, processes: 2, sessionsPerUpstream: 2 });
  await expect.poll(() => fleet.capacity()).toBe(4);
  const places = await Promise.all([1, 2, 3, 4].map(() => fleet.take(NEVER)));
  expect(places.map(({ upstream }) => upstream.name).sort()).toEqual([
    "process 1",
    "process 1",
    "process 2",
    "process 2",
  ]);
  const { pid, variables } = await health(places[0]?.upstream.url ?? "");
  expect(variables).toMatchObject({ HOST: "127.0.0.1", PORT: new URL(places[0]?.upstream.url ?? "").port });
  const fifth = fleet.take(NEVER);
  places[2]?.[Symbol.dispose]();
  expect((await fifth).upstream).toEqual(places[2]?.upstream);
  const aborted = new AbortController();
  const never = fleet.take(aborted.signal);
  aborted.abort(new Error("the client has left"));
  await expect(never).rejects.toThrow("the client has left");
  await fleet[Symbol.asyncDispose]();
  expect(isRunning(pid)).toBe(false);
  await expect(places[0]?.ended).resolves.toMatch(/^process \d was ended with the server in front of it$/);
  await expect(fleet.take(NEVER)).rejects.toThrow("are closed");
});

test("a process that dies costs its sessions, and is replaced", async () => {
  const { fleet, lines } = await start({ command: COMMAND, processes: 2 });
  await expect.poll(() => fleet.capacity()).toBe(2);
  const changes: number[] = [];
  fleet.onChange(() => changes.push(fleet.capacity()));
  using first = await fleet.take(NEVER);
  using second = await fleet.take(NEVER);
  const { pid } = await health(first.upstream.url);
  process.kill(pid, "SIGKILL");
  expect(await first.ended).toBe("process 1 ended with signal 9");
  await expect.poll(() => changes).toEqual([1, 2]);
  using again = await fleet.take(NEVER);
  expect(again.upstream.name).toBe("process 1");
  expect((await health(again.upstream.url)).pid).not.toBe(pid);
  await fetch(`${second.upstream.url}/exit`);
  expect(await second.ended).toBe("process 2 ended with code 1: the last line");
  const loss = { upstream: "process 2", message: "an upstream has ended" };
  await vi.waitFor(() => expect(lines).toContainEqual(expect.objectContaining(loss)));
  expect(
    lines.find(({ upstream, message }) => upstream === "process 2" && message === loss.message)?.["lines"],
  ).toEqual([expect.stringMatching(/^listens at \d+$/), "the last line"]);
});
