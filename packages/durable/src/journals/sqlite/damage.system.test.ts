/** A file that a fault has changed: no session continues from another state, and no process ends. */
import { spawnSync } from "node:child_process";
import { describe, expect, test } from "vitest";
import { connect } from "#core/connect.js";
import { SqliteDatabase } from "#core/server/sqlite/database.js";
import { createProject } from "../../../../../test-support/commands/command-line.js";
import { findFreePort } from "../../../../../test-support/free-port.js";
import { findRuntimes, JOURNAL_MODULE } from "../../../../../test-support/journals/file-journal.js";
import { serveProject } from "../../../../../test-support/servers/killable.js";
import { readSqliteJournal } from "./sqlite-journal.js";

/**
 * Damages copies of a journal, one after the other, takes over all sessions of each, and continues those that it gets.
 * It prints a round before the file is opened: so the last one is known if the process ends.
 */
const ATTACK = `
import { readFileSync, writeFileSync, writeSync } from "node:fs";
const [seed, kind, rounds, built] = process.argv.slice(2);
const { openSqliteJournal } = await import(built);
const [LAST, PAGE, HASH] = [24, 8192, "ab".repeat(32)];
const open = (path) => openSqliteJournal({ path, durability: "process", owner: "owner", isFirst: true });
const ids = Array.from({ length: 40 }, (_, s) => "session-" + s);
const imageOf = (s, i) => Buffer.alloc(s % 7 === 0 ? 9000 : 100 + s, i);
const journal = await open("whole.db");
await Promise.all(ids.map((id) => journal.create(id, HASH)));
for (let i = 0; i <= LAST; i++) {
  const changesOf = (s) => ({ put: [["image", imageOf(s, i)], ["a" + i, Buffer.alloc(300, i)]], remove: ["a" + (i - 5)] });
  await Promise.all(ids.map((id, s) => journal.commit(id, 1, changesOf(s))));
}
await journal.close();
const whole = readFileSync("whole.db");
const toText = (cells) => JSON.stringify([...cells].map(([name, value]) => [name, Buffer.from(value).toString("hex")]).sort());
const expected = ids.map((_, s) => {
  const answers = [4, 3, 2, 1, 0].map((back) => LAST - back).map((i) => ["a" + i, Buffer.alloc(300, i)]);
  return toText([["image", imageOf(s, LAST)], ...answers]);
});

let state = Number(seed);
const random = (below) => Math.floor(((state = (state * 1103515245 + 12345) & 0x7fffffff) / 0x80000000) * below);
const DAMAGES = {
  byte: (bytes, at) => void (bytes[at] ^= 1 << random(8)),
  header: (bytes, at) => void (bytes[at - (at % PAGE) + random(200)] = random(256)),
  sector: (bytes, at) => void bytes.fill(random(256), at - (at % 512), at - (at % 512) + 512),
  page: (bytes, at) => void whole.copy(bytes, at - (at % PAGE), random(whole.length / PAGE) * PAGE).valueOf(),
  end: (bytes, at) => bytes.subarray(0, Math.max(2 * PAGE, at)),
};
const found = { files: 0, refused: 0, exact: 0 };
const wrong = [];
for (let round = 0; round < Number(rounds); round++) {
  const [copy, at] = [Buffer.from(whole), random(whole.length)];
  const bytes = DAMAGES[kind](copy, at) ?? copy;
  writeSync(1, "round " + round + " at " + at + "\\n");
  const path = "damaged-" + round + ".db";
  writeFileSync(path, bytes);
  let damaged;
  try {
    damaged = await open(path);
  } catch (error) {
    found.files++;
    if (error.code !== "INVALID_CONFIG" || !error.message.includes(path)) wrong.push([at, String(error)]);
    continue;
  }
  const listed = (await damaged.list()).map(({ id }) => id).sort();
  if (String(listed) !== String([...ids].sort())) wrong.push([at, "lists " + listed]);
  const taken = new Set();
  for (const [s, id] of ids.entries()) {
    const record = await damaged.takeOver(id);
    if (record === undefined || record.isDamaged) {
      found.refused++;
      const reason = (await damaged.find(id))?.ended?.reason ?? "";
      if (record === undefined && !reason.includes("damaged")) wrong.push([at, id + " has no reason"]);
      continue;
    }
    found.exact++;
    taken.add(id);
    if (toText(record.cells) !== expected[s] || record.epoch !== 2 || record.tokenHash !== HASH) wrong.push([at, id]);
    await damaged.commit(id, 2, { put: [["image", Buffer.alloc(500, 1)], ["b", Buffer.alloc(3000, 2)]], remove: ["a" + LAST] });
  }
  // What was written went to free pages only.
  for (const id of taken) {
    const record = await damaged.takeOver(id);
    if (record?.isDamaged !== false || record.cells.get("b").length !== 3000) wrong.push([at, id + " later"]);
  }
  await damaged.close();
}
writeSync(1, JSON.stringify({ found, wrong: wrong.slice(0, 5) }));
`;

const KINDS = ["byte", "header", "sector", "page", "end"];

describe.each(await findRuntimes())("a file on $runtime", ({ runtime, command, isThere }) => {
  test.skipIf(!isThere).each(KINDS)(
    "that is damaged is refused, or each of its sessions is exact or refused: %s",
    { timeout: 240_000 },
    async (kind) => {
      await using project = await createProject({ "attack.mjs": ATTACK });
      // Another runtime has another SQLite, and the same code that looks for damage.
      const rounds = (kind === "byte" ? 200 : 100) / (runtime === "this Node" ? 1 : 5);
      const seed = KINDS.indexOf(kind) + 1;
      const args = ["attack.mjs", seed, kind, rounds, JOURNAL_MODULE];
      const [program = "", ...before] = command;
      const { status, signal, stdout, stderr } = spawnSync(program, [...before, ...args.map(String)], {
        cwd: project.dir,
        encoding: "utf8",
      });
      expect({ status, signal, at: stdout.trim().split("\n").at(-2), stderr }).toMatchObject({ status: 0, stderr: "" });
      const { found, wrong } = JSON.parse(stdout.split("\n").at(-1) ?? "");
      expect(wrong).toEqual([]);
      expect(found.files * 40 + found.refused + found.exact).toBe(rounds * 40);
      expect(found.files + found.refused).toBeGreaterThan(5);
      // Most bytes are those of values.
      if (kind === "byte") expect(found.exact).toBeGreaterThan(found.refused);
    },
  );
});

const TALLY = `
import { defineContract, defineEnvironment } from "openenv-ts";
import * as z from "zod";
const tally = defineContract({
  name: "tally_env",
  action: z.object({ amount: z.int().default(1), padding: z.int().default(0) }),
  observation: z.object({ count: z.int() }),
});
export default defineEnvironment(tally, () => {
  let count = 0;
  let notes = "";
  const look = () => ({ observation: { count } });
  return {
    reset: () => ((count = 0), look()),
    step: ({ amount, padding }) => ((count += amount), (notes = "-".repeat(padding)), look()),
    snapshot: () => ({ count, notes }),
    restore: (saved) => void ({ count } = saved),
  };
});
`;

test("each damaged session is refused with its reason, and the others continue", {
  timeout: 60_000,
}, async () => {
  const settings = { JOURNAL: "sessions.db", LOG_LEVEL: "warn" };
  await using project = await createProject({ "environment.mjs": TALLY });
  const port = await findFreePort();
  await using first = await serveProject(project, port, settings);
  /** With a padding, the state is too large for the head of the session. */
  const play = async (padding: number) => {
    const env = await connect(first.url, { resume: true, timeoutMs: 60_000 });
    await env.reset();
    await env.step({ amount: 2, padding });
    return env;
  };
  const path = `${project.dir}/${settings.JOURNAL}`;
  const envs: Awaited<ReturnType<typeof play>>[] = [];
  const ids: string[] = [];
  for (let nth = 0; nth < 6; nth++) {
    envs.push(await play(nth < 2 ? 3000 : 0));
    await using journal = await readSqliteJournal(path);
    ids.push(...(await journal.list()).map(({ id }) => id).filter((id) => !ids.includes(id)));
  }
  const post = async (path: string, body: object = {}) => {
    const init = { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) };
    return (await fetch(`${first.url}/session/damaged-0123456789/${path}`, init)).json();
  };
  await post("reset");
  expect(await post("step", { action: { amount: 2 } })).toMatchObject({ observation: { count: 2 } });
  await first.signal("SIGKILL");

  await damage(path, ids);

  await using second = await serveProject(project, port, settings);
  for (const [nth, env] of envs.slice(0, 5).entries()) {
    const lost = await env.tryStep({ amount: 1 });
    const message = expect.stringContaining("what the journal has of it is damaged");
    expect([nth, lost]).toMatchObject([nth, { outcome: "lost", error: { code: "SESSION_LOST", message } }]);
  }
  expect(await envs[5]?.step({ amount: 1 })).toMatchObject({ observation: { count: 3 }, recovered: true });
  const lost = await post("step", { action: { amount: 1 } });
  expect(lost).toMatchObject({ code: "EXECUTION_ERROR", openenv_code: "NO_EPISODE" });
  expect(JSON.stringify(lost)).toContain("damaged");
  expect(await post("reset")).toMatchObject({ observation: { count: 0 } });
  expect(await post("step", { action: { amount: 5 } })).toMatchObject({ observation: { count: 5 } });
  // The log has the first digits of an id.
  for (const id of [ids[0], ids[1], ids[4]]) await expect.poll(() => second.command.stderr).toContain(id?.slice(0, 11));
  await Promise.all(envs.map((env) => env.close()));
});

/** Five sessions by their ids, and the one by address. */
async function damage(path: string, [one = "", two = "", three = "", four = "", five = ""]: string[]) {
  const db = await SqliteDatabase.open(path, "write");
  const keyOf = (id: string): number => db.prepare("SELECT k FROM sessions WHERE id = ?").get(id)?.["k"] as number;
  const cellOf = (id: string): string => `name = 'image' AND n >> 20 = ${keyOf(id)}`;
  const flip = (table: string, column: string, where: string): void => {
    const value = db.read(`SELECT ${column} FROM ${table} WHERE ${where}`) as Uint8Array;
    const changed = value.map((byte, i) => (i === value.length >> 1 ? byte ^ 1 : byte));
    expect(db.prepare(`UPDATE ${table} SET ${column} = ? WHERE ${where}`).run(changed).changes).toBe(1);
  };
  flip("cells", "value", cellOf(one));
  expect(db.prepare(`DELETE FROM cells WHERE ${cellOf(two)}`).run().changes).toBe(1);
  db.exec(`UPDATE sessions SET epoch = epoch + 1 WHERE k = ${keyOf(three)}`);
  db.exec(`UPDATE sessions SET owner = 'another' WHERE k = ${keyOf(four)}`);
  db.exec(`DELETE FROM heads WHERE k = ${keyOf(five)}`);
  flip("heads", "head", `k = ${db.read("SELECT k FROM sessions WHERE id = token")}`);
  db.close();
}
