import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test, vi } from "vitest";
import type { EpisodeRow, RolloutDetail, RolloutPage } from "#core/protocol/rollouts.js";
import { findFreePort } from "#core/util/free-port.js";
import { openTestSocket } from "../../../test-support/sockets/socket.js";

const BIN = join(import.meta.dirname, "../../cli/bin/openenv.js");
const ECHO = join(import.meta.dirname, "../../../envs/echo");
const folder = mkdtempSync(join(tmpdir(), "openenv-kill-"));
const children: ChildProcess[] = [];
afterAll(() => {
  for (const child of children) kill(child);
  rmSync(folder, { recursive: true, force: true });
});

function kill({ pid }: ChildProcess): void {
  try {
    // The process group: the supervisor and its worker.
    process.kill(-(pid as number), "SIGKILL");
  } catch {
    // It has ended.
  }
}

async function serve(port: number, ...args: string[]): Promise<{ url: string; child: ChildProcess }> {
  const given = ["serve", ECHO, "--port", String(port), "--store", folder, "--log-level", "error", ...args];
  const env = { ...process.env, OPENENV_OPERATOR_TOKEN: "operator" };
  const child = spawn(process.execPath, [BIN, ...given], { detached: true, stdio: "ignore", env });
  children.push(child);
  const url = `http://127.0.0.1:${port}`;
  await vi.waitFor(async () => expect((await fetch(`${url}/health`)).status).toBe(200), {
    timeout: 60_000,
    interval: 100,
  });
  return { url, child };
}

async function get<T>(url: string): Promise<T> {
  return (await (await fetch(url, { headers: { authorization: "Bearer operator" } })).json()) as T;
}

test.each([1, 2])(
  "after a kill every episode that is shown equals what its client got: %i workers",
  { timeout: 240_000 },
  async (workers) => {
    const port = await findFreePort("127.0.0.1");
    const run = `run-${workers}`;
    const first = await serve(port, "--workers", String(workers));
    const ledger = new Map<string, number[]>();
    const play = async (client: number): Promise<void> => {
      const socket = await openTestSocket(`${first.url}/ws`);
      for (let episode = 0; ; episode++) {
        const group = `${client}.${episode}`;
        const rewards: number[] = [];
        await socket.ask({ type: "reset", data: { metadata: { run, group } } });
        ledger.set(group, rewards);
        for (let step = 0; step < 1 + (episode % 7); step++) {
          const { data } = await socket.ask({ type: "step", data: { message: "x".repeat(1 + ((client + step) % 9)) } });
          rewards.push((data as { reward: number }).reward);
        }
      }
    };
    const clients = Promise.allSettled(Array.from({ length: 8 }, (_, client) => play(client)));
    await vi.waitFor(() => expect(ledger.size).toBeGreaterThan(400), { timeout: 60_000, interval: 5 });
    kill(first.child);
    await Promise.all([once(first.child, "exit"), clients]);

    const { url, child } = await serve(port);
    const { rows, total } = await get<RolloutPage<EpisodeRow>>(`${url}/rollouts?limit=1000&q=run:${run}`);
    expect(total).toBe(rows.length);
    const shown = rows.filter(({ outcome }) => outcome !== "incomplete");
    // What was recorded before the last moments is there.
    expect(shown.length).toBeGreaterThan(100);
    expect(rows.filter(({ outcome }) => outcome === "running" || outcome === "stuck")).toEqual([]);
    for (const { id, group, steps, reward } of shown) {
      const rewards = ledger.get(group ?? "") ?? [];
      expect([steps, reward?.toFixed(6)]).toEqual([
        rewards.length,
        rewards.reduce((sum, one) => sum + one, 0).toFixed(6),
      ]);
      const { events, complete } = await get<RolloutDetail>(`${url}/rollouts/${id}`);
      expect(complete).toBe(true);
      expect(events.slice(1).map((event) => event.reward)).toEqual(rewards);
    }
    kill(child);
    await once(child, "exit");
  },
);
