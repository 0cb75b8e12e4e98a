import { connect } from "openenv-ts/client";
import { serve } from "openenv-ts/server";
import { checkEnvironment, checkServer, renderCheckReport } from "openenv-ts/testing";
import { describe, expect, test } from "vitest";
import { Database } from "./database.js";
import { chooseSeeds } from "./judge.js";
import { sqlContract } from "./models.js";
import { renderTable } from "./render.js";
import environment from "./server/environment.js";
import { familyOf, lists, type SqlTask, tasks } from "./tasks.js";
import { solved } from "./validation/oracle.js";

const SESSIONS = 256;
const all = Object.entries(lists).flatMap(([split, list]) => list.map((task, index) => ({ split, index, task })));
const fix = { split: "train", index: lists.train.findIndex(({ kind, family }) => kind === "fix" && family === "app") };
const sorted = { split: "train", index: lists.train.findIndex(({ ordered }) => ordered) };
const submit = (sql: string) => ({ kind: "submit_query" as const, sql });
const taskAt = ({ split, index }: { split: string; index: number }) => lists[split as "train"][index] as SqlTask;

async function start(place: { split: string; index: number }) {
  const env = await connect(environment);
  return { env, task: taskAt(place), first: await env.reset(place) };
}

/** The rows of the gold query on one of the databases of a task, as a query that contains them. */
function hardCode(task: SqlTask, seed: number): string {
  const database = new Database(familyOf(task), seed);
  const { rows } = database.run(task.gold, 200);
  database.close();
  const literal = (value: unknown): string => (typeof value === "string" ? `'${value}'` : String(value ?? "NULL"));
  return `VALUES ${rows.map((row) => `(${row.map(literal).join(", ")})`).join(", ")}`;
}

describe("the tasks", () => {
  test("are in two splits without a common answer, and have all families, kinds and difficulties", () => {
    expect([tasks.count("train"), tasks.count("test")]).toEqual([160, 40]);
    expect(new Set(all.map(({ task }) => task.gold)).size).toBe(200);
    expect(new Set(all.map(({ task }) => task.question)).size).toBe(200);
    for (const list of Object.values(lists)) {
      const kinds = new Set(list.map(({ family, kind }) => `${family} ${kind}`));
      expect(kinds.size).toBe(8);
      expect(new Set(list.map(({ difficulty }) => difficulty))).toEqual(new Set([1, 2, 3]));
    }
  });

  test("are paid for the gold query, and for no wrong one, in every split", { timeout: 60_000 }, async () => {
    const env = await connect(environment);
    for (const { split, index, task } of all) {
      const { observation } = await env.reset({ split, index });
      expect(observation.broken_query).toBe(task.kind === "fix" ? task.fault : null);
      const [seen, hidden] = chooseSeeds(task);
      const wrong = [task.fault, hardCode(task, seen), ...(index % 2 === 0 ? ["SELECT 1"] : [hardCode(task, hidden)])];
      for (const sql of wrong.slice(0, 2)) {
        expect([task.id, (await env.step(submit(sql))).reward]).toEqual([task.id, 0]);
        expect(solved({ split, index }, await env.state())).toBe(false);
      }
      const right = await env.step(submit(task.gold));
      expect([task.id, right.observation.message, right.reward, right.done]).toEqual([task.id, "Right.", 1, true]);
      expect(solved({ split, index }, await env.state())).toBe(true);
      await env.reset({ split, index });
      expect([task.id, (await env.step(submit(wrong[2] ?? ""))).reward]).toEqual([task.id, 0]);
    }
  });

  test("pay 0 to an agent that does nothing, in every split", { timeout: 60_000 }, async () => {
    const env = await connect(environment);
    for (const { split, index, task } of all) {
      const rewards = [(await env.reset({ split, index })).reward];
      for (let nth = 0; nth < 3; nth++) rewards.push((await env.step(submit(""))).reward);
      expect([task.id, rewards]).toEqual([task.id, [0, 0, 0, 0]]);
      expect(solved({ split, index }, await env.state())).toBe(false);
    }
  });

  test("keep the gold query out of all that an agent can read", async () => {
    for (const { split, index, task } of all.slice(0, 60)) {
      const { env, first } = await start({ split, index });
      const sent: unknown[] = [first, await env.tasks.get(split, index), await env.state()];
      for (const sql of [task.fault, "SELECT", "SELECT 1"]) sent.push(await env.step(submit(sql)), await env.state());
      expect(JSON.stringify(sent)).not.toContain(JSON.stringify(task.gold).slice(1, -1));
      expect(JSON.stringify(sent)).not.toMatch(/"(gold|fault|seed|ordered)"/);
    }
  });
});

describe("an episode", () => {
  test("begins with the question, and shows tables, columns, rows and plans", async () => {
    const { env, task, first } = await start(fix);
    expect(first.observation).toEqual({
      question: task.question,
      broken_query: task.fault,
      message: "The database is ready. Tables: users, events, invoices.",
      ...{ columns: [], rows: [], more_rows: false, submissions_left: 3, steps_left: 40 },
    });
    const { observation: tables } = await env.step({ kind: "list_tables" });
    expect(tables).toMatchObject({
      columns: ["table", "rows"],
      rows: [
        ["users", 18],
        ["events", 60],
        ["invoices", 40],
      ],
    });
    const { observation: users } = await env.step({ kind: "describe_table", table: "users" });
    expect(users.rows).toContainEqual(["country", "TEXT"]);
    expect(users.message).toContain("NULL if it is unknown");
    const { observation: rows } = await env.step({ kind: "run_query", sql: "SELECT id FROM events ORDER BY id" });
    expect(rows).toMatchObject({ message: "The first 30 rows; there are more.", more_rows: true, steps_left: 37 });
    const { observation: plan } = await env.step({ kind: "explain", sql: "SELECT * FROM users WHERE id = 3" });
    expect(plan.rows).toEqual([["SEARCH users USING INTEGER PRIMARY KEY (rowid=?)"]]);
  });

  test.each<[string, object, RegExp]>([
    ["a query that fails", { kind: "run_query", sql: "SELECT x FROM users" }, /^Error: no such column: x$/],
    [
      "a table that does not exist",
      { kind: "describe_table", table: "orders" },
      /no table "orders"; tables: users, events/,
    ],
    ["a write", { kind: "run_query", sql: "DELETE FROM users" }, /^Error: not authorized/],
    ["a submission that fails", submit("SELEC 1"), /^Error: near "SELEC": syntax error$/],
    ["another number of columns", submit("SELECT 1"), /number of columns/],
    ["another number of rows", submit("SELECT id, kind FROM events LIMIT 1"), /number of rows/],
  ])("answers %s in the message, and continues", async (_, action, message) => {
    const { env } = await start(fix);
    const { observation, reward, done } = await env.step(action as ReturnType<typeof submit>);
    expect([observation.message, reward, done]).toEqual([expect.stringMatching(message), 0, false]);
  });

  test("judges the order where the question asks for it, and only there", async () => {
    const { env, task } = await start(sorted);
    expect((await env.step(submit(`SELECT * FROM (${task.gold}) ORDER BY 1 DESC, 2`))).observation.message).toMatch(
      /order/,
    );
    const free = { split: "train", index: lists.train.findIndex((one) => !one.ordered) };
    const { env: other, task: unordered } = await start(free);
    expect((await other.step(submit(`SELECT * FROM (${unordered.gold}) ORDER BY 1 DESC`))).reward).toBe(1);
  });

  test("ends with the third wrong submission or the last action, and earns nothing then", async () => {
    const { env, task } = await start(fix);
    const dones = [];
    for (let nth = 0; nth < 3; nth++) dones.push((await env.step(submit("SELECT 1"))).done);
    expect(dones).toEqual([false, false, true]);
    const late = await env.step(submit(task.gold));
    expect(late).toMatchObject({
      reward: 0,
      done: true,
      observation: { message: expect.stringContaining("over") },
    });
    expect((await env.state()).solved).toBe(false);
    await env.reset(fix);
    for (let nth = 0; nth < 39; nth++) expect((await env.step({ kind: "list_tables" })).done).toBe(false);
    expect(await env.step({ kind: "list_tables" })).toMatchObject({ reward: 0, done: true });
    expect((await env.step(submit(task.gold))).reward).toBe(0);
  });

  test("continues after a restore with what was left", async () => {
    await using server = await serve(environment, { port: 0, logLevel: "silent" });
    await using env = await connect(server.url, sqlContract, { resume: true });
    await env.reset(fix);
    await env.step(submit("SELECT 1"));
    const copies = await env.fork(2);
    for (const copy of copies) {
      expect((await copy.state()).submissions_left).toBe(2);
      expect((await copy.step({ kind: "run_query", sql: "SELECT COUNT(*) FROM users" })).observation.rows).toEqual([
        [18],
      ]);
      expect((await copy.step(submit(taskAt(fix).gold))).reward).toBe(1);
      await copy.close();
    }
    expect((await env.state()).solved).toBe(false);
  });

  test("is shown as a table", () => {
    expect(
      renderTable(
        ["name", "n"],
        [
          ["Ada", 12],
          [null, 3],
        ],
      ),
    ).toBe("name | n\n-----|---\nAda  | 12\nNULL | 3");
  });

  test("shows people the question, the broken query, what happened and the rows", async () => {
    const session = await environment.create();
    await session.restore?.({
      task: `train-${fix.index}`,
      stepsLeft: 40,
      submissionsLeft: 3,
      submitted: null,
      isSolved: false,
    });
    const seen = { message: "1 row.", columns: ["n"], rows: [[7]], submissions_left: 3, steps_left: 39 };
    const parts = (await session.render?.({ question: "How many?", broken_query: "SELECT 6", ...seen })) ?? [];
    expect(parts.flatMap((part) => (part.kind === "text" ? part.runs : []))).toEqual([
      { text: "How many?" },
      { text: "SELECT 6", mono: true },
      { text: "1 row.", tone: "neutral" },
      { text: "n\n-\n7", mono: true },
    ]);
    await session.close?.();
  });
});

describe("the environment", () => {
  test("keeps the promises of every environment", async () => {
    const actions = [{ kind: "list_tables" }, { kind: "run_query", sql: "SELECT 1" }, submit("SELECT 1")];
    const report = await checkEnvironment(environment, { actions: actions as ReturnType<typeof submit>[] });
    expect(report.passed, renderCheckReport(report)).toBe(true);
    const status = (check: string) => report.checks.find(({ id }) => id === check)?.status;
    expect(["restores", "seed_used"].map(status)).toEqual(["passed", "passed"]);
  });

  test(`serves ${SESSIONS} sessions at once, each with its own database`, { timeout: 60_000 }, async () => {
    await using server = await serve(environment, { port: 0, logLevel: "silent", maxConcurrentEnvs: SESSIONS });
    const report = await checkServer(server.url);
    expect(report.passed, renderCheckReport(report)).toBe(true);
    const places = Array.from({ length: SESSIONS }, (_, nth) => ({ split: "train", index: nth % lists.train.length }));
    const sessions = await Promise.all(places.map(() => connect(server.url, sqlContract)));
    await Promise.all(sessions.map((env, nth) => env.reset(places[nth] ?? fix)));
    const rewards = await Promise.all(
      sessions.map(async (env, nth) => {
        await env.step({ kind: "list_tables" });
        return (await env.step(submit(taskAt(places[nth] ?? fix).gold))).reward;
      }),
    );
    expect(rewards).toEqual(places.map(() => 1));
    await Promise.all(sessions.map((env) => env.close()));
  });
});
