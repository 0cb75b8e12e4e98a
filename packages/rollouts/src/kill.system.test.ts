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

interface Served {
  url: string;
  child: ChildProcess;
  /** What it has written to standard error. */
  logged(): string;
}

function kill({ pid }: ChildProcess): void {
  try {
    // The process group: the supervisor and its worker.
    process.kill(-(pid as number), "SIGKILL");
  } catch {
    // It has ended.
  }
}

async function serve(port: number, store: string, ...args: string[]): Promise<Served> {
  const given = ["serve", ECHO, "--port", String(port), "--store", store, "--log-level", "error", ...args];
  const env = { ...process.env, OPENENV_OPERATOR_TOKEN: "operator" };
  const child = spawn(process.execPath, [BIN, ...given], { detached: true, stdio: ["ignore", "ignore", "pipe"], env });
  children.push(child);
  let said = "";
  child.stderr?.setEncoding("utf8").on("data", (chunk: string) => (said += chunk));
  const url = `http://127.0.0.1:${port}`;
  await vi.waitFor(async () => expect((await fetch(`${url}/health`)).status).toBe(200), {
    timeout: 60_000,
    interval: 100,
  });
  return { url, child, logged: () => said };
}

async function get<T>(url: string): Promise<T> {
  return (await (await fetch(url, { headers: { authorization: "Bearer operator" } })).json()) as T;
}

type Answer = NonNullable<RolloutDetail["events"][number]["answer"]>;

/** What the client got. Its metadata are there twice: in the observation, and next to it if there are any. */
function answerOf({ data }: Record<string, unknown>): Answer {
  const { observation, ...rest } = data as Answer;
  const { metadata: _, ...fields } = observation;
  return { observation: fields, ...rest };
}

test.each([1, 2])(
  "after a kill every episode that is shown equals what its client got: %i workers",
  { timeout: 240_000 },
  async (workers) => {
    const port = await findFreePort("127.0.0.1");
    const run = `run-${workers}`;
    const first = await serve(port, folder, "--workers", String(workers));
    const ledger = new Map<string, Answer[]>();
    const play = async (client: number): Promise<void> => {
      const socket = await openTestSocket(`${first.url}/ws`);
      for (let episode = 0; ; episode++) {
        const group = `${client}.${episode}`;
        const answers: Answer[] = [];
        answers.push(answerOf(await socket.ask({ type: "reset", data: { metadata: { run, group } } })));
        ledger.set(group, answers);
        for (let step = 0; step < 1 + (episode % 7); step++) {
          const data = { message: "x".repeat(1 + ((client + step) % 9)) };
          answers.push(answerOf(await socket.ask({ type: "step", data })));
        }
      }
    };
    const clients = Promise.allSettled(Array.from({ length: 8 }, (_, client) => play(client)));
    await vi.waitFor(() => expect(ledger.size).toBeGreaterThan(400), { timeout: 60_000, interval: 5 });
    kill(first.child);
    await Promise.all([once(first.child, "exit"), clients]);

    const { url, child } = await serve(port, folder);
    const { rows, total } = await get<RolloutPage<EpisodeRow>>(`${url}/rollouts?limit=1000&q=run:${run}`);
    expect(total).toBe(rows.length);
    const shown = rows.filter(({ outcome }) => outcome !== "incomplete");
    // What was recorded before the last moments is there.
    expect(shown.length).toBeGreaterThan(100);
    expect(rows.filter(({ outcome }) => outcome === "running" || outcome === "stuck")).toEqual([]);
    for (const { id, group, steps, reward } of shown) {
      const answers = ledger.get(group ?? "") ?? [];
      const sum = answers.reduce((all, one) => all + (one.reward ?? 0), 0);
      expect([steps, reward?.toFixed(6)]).toEqual([answers.length - 1, sum.toFixed(6)]);
      const { events, complete } = await get<RolloutDetail>(`${url}/rollouts/${id}`);
      expect(complete).toBe(true);
      expect(events.map(({ answer }) => answer)).toEqual(answers);
      expect(events.map((event) => event.reward)).toEqual(answers.map((one) => one.reward));
    }
    kill(child);
    await once(child, "exit");
  },
);

test("a file that is deleted while a server records is noticed, and sessions go on", { timeout: 120_000 }, async () => {
  const store = join(folder, "deleted");
  const { url, child, logged } = await serve(await findFreePort("127.0.0.1"), store);
  await using socket = await openTestSocket(`${url}/ws`);
  const metrics = async () => (await fetch(`${url}/metrics`, { headers: { authorization: "Bearer operator" } })).text();
  expect(await metrics()).toMatch(/^rollouts_up{.*} 1$/m);
  rmSync(join(store, "rollouts.db"));
  await socket.ask({ type: "reset", data: {} });
  expect(await socket.ask({ type: "step", data: { message: "one" } })).toMatchObject({ type: "observation" });
  await vi.waitFor(async () => expect(await metrics()).toMatch(/^rollouts_up{.*} 0$/m), { timeout: 60_000 });
  expect(await socket.ask({ type: "step", data: { message: "two" } })).toMatchObject({ type: "observation" });
  await vi.waitFor(() => expect(logged()).toContain("episodes could not be recorded; sessions continue"), 10_000);
  expect(logged()).toContain("it was deleted or replaced while this process had it open");
  kill(child);
  await once(child, "exit");
});
