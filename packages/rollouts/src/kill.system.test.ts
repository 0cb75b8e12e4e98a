import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { appendFileSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test, vi } from "vitest";
import type { EpisodeRow, RolloutDetail, RolloutPage } from "#core/protocol/rollouts.js";
import { findFreePort } from "#core/util/free-port.js";
import { requireMount } from "../../../test-support/requirement.js";
import { openTestSocket } from "../../../test-support/sockets/socket.js";

const BIN = join(import.meta.dirname, "../../cli/bin/openenv.js");
const ECHO = join(import.meta.dirname, "../../../envs/echo");
const unshare = await requireMount();
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

interface ServeOptions {
  workers?: number;
  /** A command that becomes the server, with the command of the server as its arguments. */
  inside?: readonly string[];
  env?: Record<string, string>;
}

async function serve(port: number, store: string, options: ServeOptions = {}): Promise<Served> {
  const { workers = 1, inside = [], env: more } = options;
  const given = ["--port", String(port), "--store", store, "--log-level", "error", "--workers", String(workers)];
  const [command, ...args] = [...inside, process.execPath, BIN, "serve", ECHO, ...given];
  const env = { ...process.env, OPENENV_OPERATOR_TOKEN: "operator", ...more };
  const child = spawn(command as string, args, { detached: true, stdio: ["ignore", "ignore", "pipe"], env });
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

const headers = { authorization: "Bearer operator" };

async function get<T>(url: string): Promise<T> {
  return (await (await fetch(url, { headers })).json()) as T;
}

/** Waits until a server can write episodes, or cannot. */
async function untilUp(url: string, up: 0 | 1): Promise<void> {
  const metrics = async () => (await fetch(`${url}/metrics`, { headers })).text();
  const line = new RegExp(`^rollouts_up{.*} ${up}$`, "m");
  await vi.waitFor(async () => expect(await metrics()).toMatch(line), { timeout: 60_000, interval: 100 });
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
    const first = await serve(port, folder, { workers });
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
  await untilUp(url, 1);
  rmSync(join(store, "rollouts.db"));
  await socket.ask({ type: "reset", data: {} });
  expect(await socket.ask({ type: "step", data: { message: "one" } })).toMatchObject({ type: "observation" });
  await untilUp(url, 0);
  expect(await socket.ask({ type: "step", data: { message: "two" } })).toMatchObject({ type: "observation" });
  await vi.waitFor(() => expect(logged()).toContain("episodes could not be recorded; sessions continue"), 10_000);
  expect(logged()).toContain("it was deleted or replaced while this process had it open");
  kill(child);
  await once(child, "exit");
});

test("an answer of 100 MB costs the recording of its episode alone", { timeout: 120_000 }, async () => {
  const env = { MAX_MESSAGE_BYTES: "200000000" };
  const { url, child } = await serve(await findFreePort("127.0.0.1"), join(folder, "large"), { env });
  await using socket = await openTestSocket(`${url}/ws`);
  const sizes = { before: 1, large: 100_000_000, after: 1 };
  for (const [group, size] of Object.entries(sizes)) {
    await socket.ask({ type: "reset", data: { metadata: { group } } });
    const { data } = await socket.ask({ type: "step", data: { message: "x".repeat(size) } });
    expect((data as { observation: { message_length: number } }).observation.message_length).toBe(size);
  }
  const outcomes = async () =>
    (await get<RolloutPage<EpisodeRow>>(`${url}/rollouts?sort=started`)).rows.map(({ group, outcome }) => [
      group,
      outcome,
    ]);
  await vi.waitFor(
    async () =>
      expect(await outcomes()).toEqual([
        ["before", "cut"],
        ["large", "incomplete"],
        ["after", "running"],
      ]),
    20_000,
  );
  kill(child);
  await once(child, "exit");
});

test.skipIf(!unshare.available)(
  "a full disk costs the recording of episodes and no step, what is stored is shown, and room is used again",
  { timeout: 180_000 },
  async () => {
    const store = join(folder, "small");
    mkdirSync(store);
    const inside = [unshare.path, "-rm", "sh", "-c", 'mount -t tmpfs -o size=4m tmpfs "$0" && exec "$@"', store];
    const { url, child, logged } = await serve(await findFreePort("127.0.0.1"), store, { inside });
    await using socket = await openTestSocket(`${url}/ws`);
    const play = async (group: string, message: string): Promise<void> => {
      await socket.ask({ type: "reset", data: { metadata: { group } } });
      expect(await socket.ask({ type: "step", data: { message } })).toMatchObject({ type: "observation" });
    };
    const groups = async () =>
      (await get<RolloutPage<EpisodeRow>>(`${url}/rollouts?sort=started`)).rows.map(({ group, outcome }) => [
        group,
        outcome,
      ]);
    await play("before", "one");
    await untilUp(url, 1);
    await vi.waitFor(async () => expect((await groups()).map(([group]) => group)).toEqual(["before"]), 20_000);
    // The file system is only in the namespace of the server.
    const filler = `/proc/${child.pid}/root${store}/filler`;
    const fill = (): void => {
      for (;;) appendFileSync(filler, Buffer.alloc(4096));
    };
    expect(fill).toThrow("ENOSPC");
    await play("full", "x".repeat(200_000));
    await play("also full", "x".repeat(200_000));
    await untilUp(url, 0);
    expect(await groups()).toContainEqual(["before", expect.stringMatching(/^(cut|running)$/)]);
    const reason = "its disk is full: free some space, or lower OPENENV_STORE_MAX_BYTES";
    await vi.waitFor(() => expect(logged()).toContain(reason), 10_000);
    rmSync(filler);
    await play("after", "two");
    await untilUp(url, 1);
    await play("last", "three");
    await vi.waitFor(async () => {
      const shown = await groups();
      // Only the end of the first one could not be written, so it is complete.
      expect(shown).toContainEqual(["before", "cut"]);
      expect(shown).toContainEqual(["full", "incomplete"]);
      expect(shown).toContainEqual(["also full", "incomplete"]);
      expect(shown).toContainEqual(["after", "cut"]);
    }, 20_000);
    kill(child);
    await once(child, "exit");
  },
);
