import { once } from "node:events";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  callCommand,
  counterModule,
  createProject,
  type Project,
  type Running,
  runCommand,
  startCommand,
} from "../../../../test-support/commands/command-line.js";
import { fetchAsOperator, OPERATOR_VARIABLES } from "../../../../test-support/operator.js";
import type { SummaryRow } from "../../../bench/src/burst/results/summary.js";
import type { ServerView } from "../../../openenv/src/protocol/web.js";
import { findFreePort } from "../../../openenv/src/util/free-port.js";

const CLI = join(import.meta.dirname, "../../bin/openenv.js");
const BENCHMARK = join(import.meta.dirname, "../../../../envs/benchmark");
const LIMIT = { timeout: 120_000 };

let project: Project;
const servers: Running[] = [];

async function startServer(target: string, env: Record<string, string> = {}): Promise<string> {
  const server = startCommand(["serve", target, "--port", "0", "--log-level", "silent"], {
    cwd: project.dir,
    env: { ...OPERATOR_VARIABLES, ...env },
  });
  servers.push(server);
  return (await server.printed(/at (http:\S+)/))[1] as string;
}

let url: string;
beforeAll(async () => {
  project = await createProject({ "counter.ts": counterModule() });
  url = await startServer(BENCHMARK, { MAX_CONCURRENT_ENVS: "300" });
});
afterAll(async () => {
  for (const server of servers) await server[Symbol.asyncDispose]();
  await project[Symbol.asyncDispose]();
});

function bench(...args: string[]) {
  return runCommand(["bench", ...args], { cwd: project.dir });
}

/** The sessions that the server holds, and how many of them are in a call. */
async function sessionsOf(server: string): Promise<[all: number, inCall: number]> {
  const { sessions } = (await (await fetchAsOperator(`${server}/web/server`)).json()) as ServerView;
  return [sessions.length, sessions.filter(({ busy_s }) => busy_s !== null).length];
}

/** What a request took, in milliseconds from the start of its burst. */
function sumOfParts(row: Record<string, unknown>): number {
  return ["start_ms", "connect_ms", "reset_ms", "step_ms"].reduce((sum, part) => sum + (row[part] as number), 0);
}

/** Rows of raw.jsonl. */
function readRaw(dir: string): Record<string, unknown>[] {
  const text = readFileSync(join(project.dir, dir, "raw.jsonl"), "utf8");
  return text
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as Record<string, unknown>);
}

describe("openenv bench", () => {
  test("sends OPENENV_TOKEN to a server with a client token, from every process, and names it", LIMIT, async () => {
    const guarded = await startServer("counter.ts", { OPENENV_CLIENT_TOKEN: "letmein" });
    const burst = [guarded, "--action", '{"amount":1}', "-n", "8", "--reps", "1"];
    const loop = [guarded, "--action", '{"amount":1}', "--throughput", "--connections-grid", "4", "--seconds", "0.2"];
    const env = { OPENENV_TOKEN: "letmein" };
    for (const args of [[...burst, "--compare"], loop]) {
      const given = [...args, "--processes", "2", "--output-dir", `token-${args.length}`];
      const { code, stderr } = await callCommand(["bench", ...given], { cwd: project.dir, env });
      expect({ code, stderr }).toMatchObject({ code: 0 });
    }
    const refused = await bench(...burst);
    expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining("Set OPENENV_TOKEN")]);
  });

  test("bursts over both transports leave a row a request, and a summary of each burst and of all", LIMIT, async () => {
    const args = ["-n", "64", "-w", "0.05", "--reps", "2", "--compare", "--output-dir", "both", "--json"];
    const { code, stdout, stderr } = await bench(url, ...args);
    expect({ code, stderr }).toMatchObject({
      code: 0,
      stderr: expect.stringMatching(/^ws .* 64 at 50 ms, 1\/2: 100/m),
    });
    const { rows, max_batches } = JSON.parse(stdout);
    expect(rows.map(({ mode, rep, succeeded }: Record<string, unknown>) => [mode, rep, succeeded])).toEqual([
      ["ws", "first", 64],
      ["http", "first", 64],
      ["ws", 1, 64],
      ["http", 1, 64],
      ["ws", 2, 64],
      ["http", 2, 64],
      ["ws", "all", 128],
      ["http", "all", 128],
    ]);
    expect(rows[0]).toMatchObject({
      distinct_sessions: 64,
      distinct_pids: 1,
      distinct_hosts: 1,
      same_sessions: 64,
      errors: "",
    });
    expect(max_batches.map(({ bySuccess }: Record<string, unknown>) => bySuccess)).toEqual([64, 64]);
    const raw = readRaw("both");
    expect(raw).toHaveLength(384);
    expect(raw.filter(({ rep }) => rep === "first")).toHaveLength(128);
    for (const row of raw) {
      expect(row).toMatchObject({ success: true, error_type: null, session_hash: expect.stringMatching(/^\w{16}$/) });
      expect(row["step_ms"]).toBeGreaterThanOrEqual(49);
      expect(sumOfParts(row)).toBeCloseTo(row["total_ms"] as number, 1);
    }
    // Nothing of a burst is left on the server: it still takes as many as it may hold.
    await expect.poll(() => sessionsOf(url), { timeout: 20_000 }).toEqual([0, 0]);
    const after = await bench(url, "-n", "300", "-w", "0", "--reps", "1", "--output-dir", "after");
    expect(after.stderr).toMatch(/300 at 0 ms, 1\/1: 100\.0 %/);
  });

  test("several generator processes make one burst, counted from its start", LIMIT, async () => {
    const args = ["-n", "65", "-w", "0.01", "--reps", "1", "--processes", "2", "--json", "--output-dir", "forked"];
    const { code, stdout } = await bench(url, ...args);
    expect(code).toBe(0);
    expect(JSON.parse(stdout).rows[0]).toMatchObject({ made: 65, succeeded: 65, distinct_sessions: 65 });
    const raw = readRaw("forked");
    expect(new Set(raw.map(({ request }) => request)).size).toBe(65);
    for (const row of raw) expect(sumOfParts(row)).toBeCloseTo(row["total_ms"] as number, 1);
    const last = Math.max(...raw.filter(({ rep }) => rep === 1).map(({ total_ms }) => total_ms as number));
    expect(JSON.parse(stdout).rows[1].wall_seconds).toBeCloseTo(last / 1000, 2);
  });

  test("refusals of a full server are counted by type", LIMIT, async () => {
    const full = await startServer(BENCHMARK, { MAX_CONCURRENT_ENVS: "10" });
    const args = ["-n", "32", "-w", "6", "--reps", "1", "--compare", "--json", "--output-dir", "full"];
    const { code, stdout } = await bench(full, ...args);
    expect(code).toBe(0);
    const { rows, max_batches } = JSON.parse(stdout);
    expect(rows[0]).toMatchObject({ mode: "ws", succeeded: 10, same_sessions: 10, errors: "CAPACITY_REACHED:22" });
    expect(max_batches[0]).toMatchObject({ bySuccess: null, byLatency: null });
    const refused = readRaw("full").filter(({ error_type }) => error_type === "CAPACITY_REACHED");
    expect(refused).toHaveLength(44);
    expect(refused[0]).toMatchObject({ success: false, step_ms: null, pid: null });
    expect(rows[2]).toMatchObject({ mode: "ws", rep: 1, errors: "CAPACITY_REACHED:22" });
    // Over HTTP who finds the server full gets an environment of this request alone, or one that was not continued ends.
    expect(rows[1]).toMatchObject({ mode: "http", made: 32, errors: expect.stringMatching(/^(SESSION_ERROR:\d+)?$/) });
    expect(rows[1].same_sessions).toBeLessThan(32);
  });

  test("Ctrl-C leaves what was measured", LIMIT, async () => {
    const args = ["bench", url, "-n", "8", "--wait-grid", "0.01,120", "--reps", "1", "--output-dir", "broken-off"];
    await using running = startCommand(args, { cwd: project.dir });
    await running.printed(/8 at 10 ms, 1\/1: 100\.0 %/);
    // Not those of the burst before, which may not have ended yet.
    await expect.poll(() => sessionsOf(url), { timeout: 20_000 }).toEqual([8, 8]);
    running.process.kill("SIGINT");
    expect(await running.exited).toBe(130);
    expect(running.stderr).toContain("Interrupted; the partial results are in broken-off");
    const raw = readRaw("broken-off");
    expect(raw.filter(({ wait_seconds, success }) => wait_seconds === 0.01 && success)).toHaveLength(16);
    expect(raw.filter(({ error_type }) => error_type === "INTERRUPTED")).toHaveLength(8);
    const summary = readFileSync(join(project.dir, "broken-off/summary.csv"), "utf8");
    expect(summary.trim().split("\n")).toHaveLength(4);
    expect(summary).not.toContain("INTERRUPTED");
  });

  test("steps in a closed loop are counted with what they cost the server", LIMIT, async () => {
    const args = ["--throughput", "--connections-grid", "1,8", "--seconds", "3", "--output-dir", "steps", "--json"];
    const { code, stdout } = await bench(url, ...args);
    expect(code).toBe(0);
    const { rows } = JSON.parse(stdout);
    expect(rows).toHaveLength(2);
    for (const row of rows) {
      expect(row).toMatchObject({ error_type: null });
      expect(row.steps).toBeGreaterThan(10);
      expect(row.p99_ms).toBeGreaterThanOrEqual(row.p50_ms);
      if (process.platform === "linux") expect(row.server_processes).toBe(2);
    }
    expect(existsSync(join(project.dir, "steps/throughput.csv"))).toBe(true);
  });

  test("an environment of another kind is measured with --action, and said to be one without", LIMIT, async () => {
    const counter = await startServer("counter.ts");
    const args = ["-n", "4", "--reps", "1", "--output-dir", "counter"];
    const { code, stderr } = await bench(counter, ...args);
    expect({ code, stderr }).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/over \w+ failed: VALIDATION_ERROR: (?!.*VALIDATION_ERROR).*--action/s),
    });
    expect(existsSync(join(project.dir, "counter"))).toBe(false);
    const told = await bench(counter, ...args, "--action", '{"amount":1}');
    expect({ code: told.code, stderr: told.stderr }).toMatchObject({
      code: 0,
      stderr: expect.stringContaining("100.0 %"),
    });
  });

  test("--cold starts a new server for each burst, and leaves none", LIMIT, async () => {
    const port = await findFreePort("127.0.0.1");
    const cold = `"${process.execPath}" "${CLI}" serve "${BENCHMARK}" --workers 2 --log-level silent --port ${port}`;
    const address = `http://127.0.0.1:${port}`;
    const args = [address, "--cold", cold, "-n", "16", "-w", "0.01", "--reps", "2", "--json", "--output-dir", "cold"];
    const { code, stdout, stderr } = await bench(...args);
    expect({ code, stderr }).toMatchObject({ code: 0 });
    const { rows } = JSON.parse(stdout) as { rows: SummaryRow[] };
    // There is no separate first burst, because each is one.
    expect(rows.map(({ rep, succeeded }) => [rep, succeeded])).toEqual([
      [1, 16],
      [2, 16],
      ["all", 32],
    ]);
    if (process.platform === "linux") {
      expect(rows[0]?.server_cpu_seconds).toBeGreaterThan(0);
      expect(rows[2]?.sessions_per_cpu_second).toBeGreaterThan(0);
    }
    const processes = (rep: number) =>
      new Set(readRaw("cold").flatMap((row) => (row["rep"] === rep ? [row["pid"]] : [])));
    expect([...processes(1)].filter((pid) => processes(2).has(pid))).toEqual([]);
    await expect(fetch(address)).rejects.toThrow();
  });

  test("--cold says when the server does not start", LIMIT, async () => {
    const failing = await bench("http://127.0.0.1:9", "--cold", "exit 3", "-n", "1", "--output-dir", "failing");
    expect(failing).toMatchObject({ code: 1, stderr: expect.stringMatching(/`exit 3` ended \(3\) before http/) });
    if (process.platform !== "linux") return;
    const taken = await bench(url, "--cold", "exit 0", "-n", "1", "--output-dir", "in-use");
    expect(taken).toMatchObject({ code: 1, stderr: expect.stringMatching(/port \d+ is in use.*stop it first/) });
  });

  test("a server that its first burst ends has rows without a success", LIMIT, async () => {
    let connections = 0;
    // The first connection only looks whether it is there.
    const server = createServer((socket) => {
      if (++connections > 1) server.close();
      socket.destroy();
    }).listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    const args = ["-n", "4", "-w", "0", "--reps", "1", "--output-dir", "ended", "--json"];
    const { code, stdout, stderr } = await bench(`http://127.0.0.1:${port}`, ...args);
    expect({ code, stderr }).toMatchObject({ code: 1, stderr: expect.stringContaining("no request succeeded") });
    const { rows } = JSON.parse(stdout);
    expect(rows.map(({ rep, made, succeeded }: SummaryRow) => [rep, made, succeeded])).toEqual([
      ["first", 4, 0],
      [1, 4, 0],
      ["all", 4, 0],
    ]);
    expect(rows[1].errors).toBe("CONNECTION_REFUSED:4");
  });

  test("hosts that were expected and did not answer fail the run when they are required", LIMIT, async () => {
    const args = [url, "-n", "2", "-w", "0", "--reps", "1", "--expected-hosts", "2"];
    expect((await bench(...args, "--output-dir", "hosts")).code).toBe(0);
    const { code, stderr } = await bench(...args, "--require-hosts", "--output-dir", "hosts-required");
    expect({ code, stderr }).toMatchObject({ code: 1, stderr: expect.stringContaining("only 1 of 2 expected hosts") });
  });

  test("the report compares folders in tables and pictures", LIMIT, async () => {
    for (const dir of ["one", "two"]) {
      const args = ["--requests-grid", "4,16", "-w", "0.02", "--reps", "1", "--hardware", "4 cores"];
      expect((await bench(url, ...args, "--output-dir", dir)).code).toBe(0);
    }
    const { code, stdout, stderr } = await bench("report", "one", "two", "--output-dir", "report");
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    const text = readFileSync(join(project.dir, "report/REPORT.md"), "utf8");
    expect(text).toMatch(/\| one \| 20 ms \| ≥ 16 \|.*\|\n\| two \| 20 ms \| ≥ 16 \|/);
    expect(text).toMatch(/\| one \| 20 ms \| ≥ 16 \| ≥ 4 \|/);
    expect(stdout).toContain(`${[...text.matchAll(/!\[/g)].length} figures`);
    expect(text).toContain("(figures/scaling.svg)");
    expect(text).toMatch(
      /\| one \| 20 ms \| 4 \| first \|.*\n\| one \| 20 ms \| 4 \| 1 \|.*\n\| one \| 20 ms \| 16 \| 1 \|/,
    );
    const figures = readdirSync(join(project.dir, "report/figures"));
    for (const [, name] of text.matchAll(/\(figures\/(.*?)\.svg\)/g)) {
      expect(figures).toEqual(expect.arrayContaining([`${name}.svg`, `${name}.png`]));
      const png = readFileSync(join(project.dir, `report/figures/${name}.png`));
      expect(png.subarray(1, 4).toString()).toBe("PNG");
    }
  });

  test.each([
    [[], 2, /No server to measure: pass its URL/],
    [["http://127.0.0.1:9"], 1, /CONNECTION_REFUSED/],
    [["ftp://127.0.0.1:9"], 1, /not the URL of a server/],
    [["http://127.0.0.1:9", "--requests-grid", "1,x"], 2, /'1,x'.*Must be an integer/],
    [["http://127.0.0.1:9", "-w", "-1"], 2, /'-1'.*seconds/],
    [["http://127.0.0.1:9", "--action", "[]"], 2, /JSON object/],
    [["http://127.0.0.1:9", "--require-hosts"], 2, /--expected-hosts/],
    [["http://127.0.0.1:9", "-n", "1000000", "--processes", "1"], 2, /ulimit -n.*--processes/],
    [["http://127.0.0.1:9", "--cold", "true", "--throughput"], 2, /omit --throughput/],
    [["http://127.0.0.1:9", "http://127.0.0.1:10", "--cold", "true"], 2, /one server for each URL.*2 URLs, 1 command/],
    [["http://192.0.2.1:8000", "--cold", "true"], 2, /not an address of this machine/],
    [["report", "."], 2, /has no results/],
  ])("%j is refused with what to do", async (args, expected, message) => {
    const { code, stderr } = await callCommand(["bench", ...args], { cwd: project.dir });
    expect(stderr).toMatch(message);
    expect(code).toBe(expected);
  });

  test("a folder with results is not written over", LIMIT, async () => {
    const args = [url, "-n", "1", "-w", "0", "--reps", "1", "--output-dir", "taken"];
    expect((await bench(...args)).code).toBe(0);
    expect(await bench(...args)).toMatchObject({ code: 2, stderr: expect.stringContaining("--output-dir") });
  });
});
