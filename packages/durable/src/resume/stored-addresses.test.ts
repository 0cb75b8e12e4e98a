import { createHash } from "node:crypto";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeEach, describe, expect, test } from "vitest";
import * as z from "zod";
import {
  defineContract,
  defineEnvironment,
  defineTools,
  type EnvironmentDefinition,
  type ResetRequest,
  type StepContext,
} from "#core/index.js";
import { ownerName } from "#core/server/sqlite/owner.js";
import type { RunningServer, ServeOptions } from "#core/server/types.js";
import { copyFileJournal } from "../../../../test-support/journals/file-journal.js";
import { useServers } from "../../../../test-support/servers/servers.js";
import { startOwner } from "../../test/journal-contract.js";
import { openSqliteJournal } from "../journals/sqlite/sqlite-journal.js";

const servers = useServers();
const folder = await mkdtemp(join(tmpdir(), "openenv-addresses-"));
afterAll(() => rm(folder, { recursive: true, force: true }));
let journal = "";
let files = 0;
const nextFile = (): string => join(folder, `${++files}.db`);
beforeEach(() => {
  journal = nextFile();
});

const NAME = "run-7_worker-3_5f1c9a";
const BASE = `/session/${NAME}`;
const HASH = createHash("sha256").update(NAME).digest("hex");
const RESET = { type: "reset", data: { seed: 7 } };
const step = (amount: number, id?: string) => ({
  type: "step",
  data: { amount, ...(id !== undefined && { metadata: { "openenv.request_id": id } }) },
});
const STATE = { type: "state" };

const contract = defineContract({
  name: "tally_env",
  action: z.object({ amount: z.int() }),
  observation: z.object({ count: z.int(), luck: z.number() }),
  tools: defineTools({ tally: { description: "Returns the count.", output: z.int() } }),
});
type Tier = "snapshot" | "replay" | "none";
/** The amounts of all steps that ran. */
let ran: number[] = [];
let goOn = (): void => {};
beforeEach(() => {
  ran = [];
});

/** A tally with random numbers, which each tier restores in its own way. A step of 50 ends when the test says so. */
function tally(
  tier: Tier,
  snapshotVersion = 1,
  of = contract,
): { environment: EnvironmentDefinition<typeof contract> } {
  const create = () => {
    let count = 0;
    return {
      reset: ({ rng }: ResetRequest) => ({ observation: { count: (count = 0), luck: rng.next() } }),
      step: async ({ amount }: { amount: number }, { rng }: StepContext) => {
        ran.push(amount);
        if (amount === 50) await new Promise<void>((resolve) => (goOn = resolve));
        if (amount === 13) throw new Error("unlucky");
        return { observation: { count: (count += amount), luck: rng.next() } };
      },
      tools: { tally: () => count },
      ...(tier === "snapshot" && {
        snapshot: () => ({ count }),
        restore: (saved: unknown) => void ({ count } = saved as { count: number }),
      }),
    };
  };
  const options = { seeded: tier === "replay", stepBeforeReset: "allow", snapshotVersion } as const;
  return { environment: defineEnvironment(of, create, options) };
}

const start = (tier: Tier = "snapshot", options: ServeOptions = {}) =>
  servers.start({ journal, ...options }, tally(tier));

/** Stops a server and starts the next one. */
async function restart(server: RunningServer, tier: Tier = "snapshot", options: ServeOptions = {}) {
  await server.close();
  return start(tier, options);
}

/** A server that has what is in the journal now, as if the one before had been killed. */
async function kill(tier: Tier = "snapshot", options: ServeOptions = {}): Promise<RunningServer> {
  const before = journal;
  journal = nextFile();
  await copyFileJournal(before, journal);
  return start(tier, options);
}

type Data = { code?: string; openenv_code?: string; message: string; observation: { count: number } };

/** Sends frames on a separate connection. */
async function ask(server: RunningServer, ...frames: object[]): Promise<Data> {
  const socket = await servers.open(server, `${BASE}/ws`);
  let answer: Record<string, unknown> = {};
  for (const frame of frames) answer = await socket.ask(frame as Record<string, unknown>);
  socket.ws.terminate();
  return answer["data"] as Data;
}

/** A server whose session has taken one step. */
async function begin(tier: Tier = "snapshot", options: ServeOptions = {}): Promise<RunningServer> {
  const server = await start(tier, options);
  await ask(server, RESET, step(1));
  return server;
}

async function post(server: RunningServer, path: string, body: object): Promise<Data> {
  const init = { method: "POST", headers: { "content-type": "application/json" } };
  return (await (await fetch(server.url + BASE + path, { ...init, body: JSON.stringify(body) })).json()) as Data;
}

const rpc = async (server: RunningServer, method: string, params: object = {}) =>
  (await post(server, "/mcp", { jsonrpc: "2.0", id: 1, method, params })) as unknown as {
    result?: { session_id?: string; data?: unknown };
    error?: { message: string };
  };

/** The journal as another process has it. */
const openJournal = (owner = ownerName("")) => openSqliteJournal({ path: journal, durability: "process", owner });

const codeOf = ({ openenv_code, code }: Data): string | undefined => openenv_code ?? code;
const countOf = ({ observation }: Data): number => observation.count;

describe.each(["snapshot", "replay"] as const)("a session by address that is restored by %s", (tier) => {
  test.each([
    ["stopped", restart],
    ["killed", (_server: RunningServer, again: Tier) => kill(again)],
  ])("continues after its server was %s, as if nothing had happened", async (_what, again) => {
    const play = async (disturb: (server: RunningServer) => Promise<RunningServer>) => {
      let server = await start(tier);
      const seen: unknown[] = [await ask(server, { type: "reset", data: { seed: 7, episode_id: "first" } })];
      for (const frame of [step(1), step(2), STATE, step(13), STATE, step(3)]) {
        server = await disturb(server);
        seen.push(await ask(server, frame));
      }
      server = await disturb(server);
      seen.push(await post(server, "/step", { action: { amount: 4 } }));
      server = await disturb(server);
      seen.push((await rpc(server, "tools/call", { name: "tally" })).result?.data);
      server = await disturb(server);
      seen.push(await post(server, "/reset", { seed: 8 }));
      server = await disturb(server);
      seen.push(await ask(server, step(5)));
      await server.close();
      journal = nextFile();
      return seen;
    };
    const undisturbed = await play(async (server) => server);
    expect(undisturbed).toMatchObject([
      { observation: { count: 0 } },
      { observation: { count: 1 } },
      { observation: { count: 3 } },
      { step_count: 2, episode_id: "first" },
      { code: "EXECUTION_ERROR" },
      { step_count: 2 },
      { observation: { count: 6 } },
      { observation: { count: 10 } },
      10,
      { observation: { count: 0 } },
      { observation: { count: 5 } },
    ]);
    expect(await play((server) => again(server, tier))).toEqual(undisturbed);
  });

  test("answers a repeated step from the journal", async () => {
    const server = await start(tier);
    await ask(server, RESET);
    const first = await ask(server, step(4, "a"));
    let next = await kill(tier);
    ran = [];
    expect(await ask(next, STATE, step(4, "a"))).toEqual(first);
    expect(codeOf(await ask(next, step(5, "a")))).toBe("SEQUENCE_CONFLICT");
    expect(ran).toEqual(tier === "replay" ? [4] : []);
    expect(countOf(await ask(next, step(1, "b")))).toBe(5);
    next = await kill(tier);
    expect(countOf(await ask(next, step(4, "a")))).toBe(9);
    next = await kill(tier);
    expect(await ask(next, RESET)).toMatchObject({ observation: { count: 0 } });
    next = await kill(tier);
    expect(countOf(await ask(next, step(4, "a")))).toBe(4);
  });

  test("answers a repeated HTTP request from the journal", async () => {
    const server = await start(tier);
    await post(server, "/reset", {});
    const body = { action: { amount: 4 }, request_id: "step-1" };
    const first = await post(server, "/step", body);
    const next = await kill(tier);
    ran = [];
    expect(await post(next, "/step", body)).toEqual(first);
    expect(ran).toEqual(tier === "replay" ? [4] : []);
    expect(countOf(await post(next, "/step", { ...body, request_id: "step-2" }))).toBe(8);
  });
});

test("a step in flight when its server is killed runs again when it is repeated, and is once in the episode", async () => {
  const server = await begin();
  const socket = await servers.open(server, `${BASE}/ws`);
  socket.send(step(50, "slow"));
  await expect.poll(() => ran).toContain(50);
  const next = await kill();
  const repeated = ask(next, step(50, "slow"));
  await expect.poll(() => ran.filter((amount) => amount === 50)).toHaveLength(2);
  goOn();
  expect(countOf(await repeated)).toBe(51);
  expect(countOf(await ask(next, step(50, "slow")))).toBe(51);
  expect(ran).toEqual([1, 50, 50]);
});

test("a step that ends its process twice is not executed a third time", async () => {
  let server = await begin();
  const crash = async (): Promise<void> => {
    const before = ran.length;
    const socket = await servers.open(server, `${BASE}/ws`);
    await socket.ask(STATE);
    socket.send(step(50));
    await expect.poll(() => ran).toHaveLength(before + 1);
    server = await kill();
  };
  await crash();
  await crash();
  expect(codeOf(await ask(server, STATE, step(50)))).toBe("STEP_CRASHED");
  expect(countOf(await ask(server, step(2)))).toBe(3);
  expect(ran).toEqual([1, 50, 50, 2]);
});

test("a request over HTTP that ends its process twice is not executed a third time", async () => {
  let server = await start();
  await post(server, "/reset", {});
  for (let executions = 1; executions <= 2; executions++) {
    void post(server, "/step", { action: { amount: 50 } }).catch(() => {});
    await expect.poll(() => ran).toHaveLength(executions);
    server = await kill();
  }
  expect(await post(server, "/step", { action: { amount: 50 } })).toMatchObject({ code: "STEP_CRASHED" });
  expect(ran).toHaveLength(2);
});

describe("a session by address that cannot be restored", () => {
  test("answers NO_EPISODE with the reason until the next reset", async () => {
    const server = await begin("none");
    const stopped = await restart(server, "none");
    expect(codeOf(await ask(stopped, step(1)))).toBe("NO_EPISODE");
    await ask(stopped, RESET);
    const next = await kill("none");
    const answer = await ask(next, step(1));
    expect(answer).toMatchObject({
      openenv_code: "NO_EPISODE",
      message: expect.stringContaining("neither snapshot()"),
    });
    expect(codeOf(await ask(next, STATE))).toBe("NO_EPISODE");
    expect(countOf(await ask(next, RESET))).toBe(0);
    expect(countOf(await ask(next, step(2)))).toBe(2);
  });

  test("because its environment has another version names both, and is lost for good", async () => {
    const other = defineContract({ ...contract, action: z.object({ amount: z.int().min(0) }) });
    const hashes = await Promise.all([contract, other].map(async (one) => (await one.fingerprint()).hash));
    const changes = [
      [tally("none"), "could not be restored"],
      [tally("snapshot", 2), "snapshotVersion 1, but the server has 2"],
      [tally("snapshot", 1, other), `the contract ${hashes[0]}, but the server has ${hashes[1]}`],
    ] as const;
    for (const [changed, reason] of changes) {
      await (await begin()).close();
      const next = await servers.start({ journal }, changed);
      const lost = { openenv_code: "NO_EPISODE", message: expect.stringContaining(reason) };
      expect(await ask(next, STATE)).toMatchObject(lost);
      const last = await restart(next);
      expect(await ask(last, step(1))).toMatchObject(lost);
      await last.close();
    }
  });

  test("because no client returned in time answers NO_EPISODE, also after another restart", async () => {
    const server = await begin();
    await server.close();
    await using other = await openJournal();
    await other.end(HASH, (await other.takeOver(HASH))?.epoch ?? 0, "was not resumed in time");
    const next = await start();
    expect(await ask(next, step(1))).toMatchObject({
      openenv_code: "NO_EPISODE",
      message: expect.stringContaining("in time"),
    });
    // A tool client gets a new session, in which the reset comes first, also after a restart.
    expect((await rpc(next, "openenv/session/create")).result).toBeDefined();
    expect(codeOf(await ask(next, step(1)))).toBe("NO_EPISODE");
    const last = await restart(next);
    expect(codeOf(await ask(last, step(1)))).toBe("NO_EPISODE");
    expect(countOf(await ask(last, RESET))).toBe(0);
  });
});

test.each(["snapshot", "none"] as const)("a closed session frees its name, restored or not: %s", async (tier) => {
  const server = await begin(tier);
  const close = async (at: RunningServer): Promise<void> => {
    const socket = await servers.open(at, `${BASE}/ws`);
    socket.send({ type: "close" });
    await socket.closed;
  };
  await close(server);
  expect(await ask(server, STATE)).toMatchObject({ episode_id: null });
  await close(server);
  const next = await restart(server, tier);
  expect(countOf(await ask(next, step(3)))).toBe(3);
  if (tier === "none") return;
  const last = await restart(next, tier);
  await close(last);
  expect(last.capacity().active_sessions).toBe(0);
  expect(countOf(await ask(last, step(4)))).toBe(4);
});

test("a tool client keeps its session and the id of it", async () => {
  const server = await start();
  const { session_id } = (await rpc(server, "openenv/session/create")).result ?? {};
  await ask(server, RESET, step(2));
  const next = await restart(server);
  expect((await rpc(next, "tools/call", { name: "tally", session_id: "another" })).error?.message).toContain(
    "not the session of this address",
  );
  expect((await rpc(next, "tools/call", { name: "tally", session_id })).result).toMatchObject({ data: 2 });
});

test("the journal has the hash of the name, and no client resumes by it", async () => {
  const server = await begin();
  await server.close();
  expect((await readFile(journal)).includes(NAME)).toBe(false);
  await using other = await openJournal();
  expect(await other.list()).toMatchObject([{ id: HASH, tokenHash: HASH }]);
  const next = await start();
  const socket = await servers.open(next, `/ws?openenv=resume&session_id=${HASH}`);
  expect(await socket.ask({ type: "resume", data: { token: NAME } })).toMatchObject({ data: { recovered: false } });
  expect(countOf(await ask(next, step(1)))).toBe(2);
});

test("the rights of a session are restored with it", async () => {
  const options = { mode: "production", orchestratorToken: "orchestrator-secret" } as const;
  const server = await start("snapshot", options);
  const authorization = "Bearer orchestrator-secret";
  const own = await servers.open(server, `${BASE}/ws`, { authorization });
  await own.ask(RESET);
  own.ws.terminate();
  const next = await kill("snapshot", options);
  expect((await rpc(next, "tools/call", { name: "tally" })).result).toMatchObject({ data: 0 });
  expect(codeOf(await ask(next, step(1)))).toBe("FORBIDDEN");
  const again = await servers.open(next, `${BASE}/ws`, { authorization });
  expect(countOf((await again.ask(step(1)))["data"] as Data)).toBe(1);
});

test("a session holds its slot before newcomers after a restart", async () => {
  const server = await begin("snapshot", { maxConcurrentEnvs: 1 });
  const next = await restart(server, "snapshot", { maxConcurrentEnvs: 1 });
  const other = await servers.open(next, "/session/another-name-of-a-run/ws");
  expect(codeOf((await other.ask(RESET))["data"] as Data)).toBe("CAPACITY_REACHED");
  expect(countOf(await ask(next, step(2)))).toBe(3);
});

test("an instance whose session was taken over answers with an error, and the next call continues", async () => {
  const server = await begin();
  await using other = await openJournal();
  expect(await other.takeOver(HASH)).toMatchObject({ epoch: 2 });
  expect(await post(server, "/step", { action: { amount: 5 } })).toMatchObject({ code: "SESSION_ERROR" });
  expect(countOf(await ask(server, step(2)))).toBe(3);
});

test("a session of another server that lives is elsewhere, and continues when that one has ended", async () => {
  const server = await begin();
  await server.close();
  await using owner = startOwner();
  await using other = await openJournal(owner.name);
  await other.takeOver(HASH);
  const next = await start();
  const refused = await Promise.all([ask(next, RESET), post(next, "/step", { action: { amount: 1 } })]);
  expect(refused.map(codeOf)).toEqual(["SESSION_ELSEWHERE", "SESSION_ELSEWHERE"]);
  await owner.kill();
  expect(countOf(await ask(next, step(2)))).toBe(3);
});

test("two clients that come together restore a session once", async () => {
  const next = await restart(await begin());
  const sockets = await Promise.all([1, 2].map(() => servers.open(next, `${BASE}/ws`)));
  const answers = await Promise.all(sockets.map((socket) => socket.ask(step(2))));
  expect(answers.map((answer) => codeOf(answer["data"] as Data) ?? countOf(answer["data"] as Data)).sort()).toEqual([
    3,
    "SESSION_IN_USE",
  ]);
  expect(next.capacity().active_sessions).toBe(1);
});
