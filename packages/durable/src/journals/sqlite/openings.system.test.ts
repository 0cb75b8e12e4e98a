/** Processes that open or read a file while others write to it. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { statSync } from "node:fs";
import { text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { createProject } from "../../../../../test-support/commands/command-line.js";
import { JOURNAL_MODULE } from "../../../../../test-support/journals/file-journal.js";
import { openSqliteJournal, readSqliteJournal } from "./sqlite-journal.js";

/** Openings end at this number or time, whichever is first: a busy machine needs tens of seconds for all. */
const OPENINGS = { most: 300, least: 20, forMs: 20_000 };
const TIME_LIMIT = { timeout: 120_000 };

/** Commits to one session until its input ends, and reads after each commit what the file has of it. */
const WRITER = `
const [id, built, path] = process.argv.slice(2);
const { openSqliteJournal } = await import(built);
const journal = await openSqliteJournal({ path, durability: "process", owner: id });
const epoch = await journal.create(id, "ab".repeat(32));
let isOver = false;
process.stdin.on("end", () => (isOver = true)).resume();
let [last, lost] = [0, 0];
while (!isOver) {
  const put = [["n", Buffer.from(String(++last))], ["a" + (last % 50), Buffer.alloc((last * 7919) % 5000)]];
  await journal.commit(id, epoch, { put, remove: [] });
  const { cells, isDamaged } = journal.read(id);
  if (isDamaged || Number(Buffer.from(cells.get("n"))) !== last) lost++;
  if (last === 1) console.log("writes");
}
console.log(JSON.stringify({ id, last, lost }));
await journal.close();
`;

describe("a file", () => {
  const file = "s.db";
  const startWriter = (dir: string, id: string) => {
    const stdio = ["pipe", "pipe", "inherit"] as const;
    const child = spawn(process.execPath, ["writer.mjs", id, JOURNAL_MODULE, file], {
      cwd: dir,
      stdio: [...stdio],
      timeout: TIME_LIMIT.timeout,
    });
    const output = text(child.stdout);
    return {
      begun: once(child.stdout, "data"),
      /** Resolves with what it found. */
      async end(): Promise<{ id: string; last: number; lost: number }> {
        child.stdin.end();
        return JSON.parse((await output).trim().split("\n").at(-1) ?? "");
      },
    };
  };

  test("keeps the commits of others when a process opens it, and no damage is found", TIME_LIMIT, async () => {
    await using project = await createProject({ "writer.mjs": WRITER });
    const path = `${project.dir}/${file}`;
    const writers = ["one", "other"].map((id) => startWriter(project.dir, id));
    await Promise.all(writers.map(({ begun }) => begun));
    const end = performance.now() + OPENINGS.forMs;
    let nth = 0;
    for (; nth < OPENINGS.most && performance.now() < end; nth++) {
      const isReader = nth % 2 === 1;
      const opening = isReader
        ? readSqliteJournal(path)
        : openSqliteJournal({ path, durability: "process", owner: "third" });
      await (await opening).close();
    }
    expect(nth).toBeGreaterThanOrEqual(OPENINGS.least);
    const found = await Promise.all(writers.map((writer) => writer.end()));
    await using journal = await readSqliteJournal(path);
    for (const { id, last, lost } of found) {
      expect({ id, lost }).toEqual({ id, lost: 0 });
      expect(last).toBeGreaterThan(OPENINGS.least);
      const record = await journal.read(id);
      expect(record?.isDamaged).toBe(false);
      expect(Buffer.from(record?.cells.get("n") ?? "").toString()).toBe(String(last));
    }
  });

  test("does not grow while a process that has read it is busy", TIME_LIMIT, async () => {
    await using project = await createProject({ "writer.mjs": WRITER });
    const path = `${project.dir}/${file}`;
    const writer = startWriter(project.dir, "one");
    await writer.begun;
    await using journal = await openSqliteJournal({ path, durability: "process", owner: "reader" });
    // All cells of the writer are there, and the pages that it has freed.
    await sleep(500);
    expect(await journal.find("one")).toMatchObject({ ended: null });
    const before = statSync(path).size;
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1_000);
    const growth = statSync(path).size - before;
    expect((await writer.end()).last).toBeGreaterThan(50);
    // Moving the log into the file does not count as growth. A reader that keeps pages made it grow by 50 MB.
    expect(growth).toBeLessThan(before + 5_000_000);
  });
});
