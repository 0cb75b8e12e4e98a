/** Processes that open or read a file while others write to it. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { statSync } from "node:fs";
import { text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { pathToFileURL } from "node:url";
import { expect, test } from "vitest";
import { createProject } from "../../../../../test-support/commands/command-line.js";
import { openLmdbJournal, readLmdbJournal } from "./lmdb.js";

const BUILT = pathToFileURL(`${import.meta.dirname}/../../../dist/session/journals/lmdb.js`).href;
const OPENINGS = 300;

/** Commits to one session until its input ends, and reads after each commit what the file has of it. */
const WRITER = `
import { openLmdbJournal } from ${JSON.stringify(BUILT)};
const id = process.argv[2];
const journal = await openLmdbJournal({ path: "s.lmdb", durability: "process", owner: id });
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

const startWriter = (dir: string, id: string) => {
  const stdio = ["pipe", "pipe", "inherit"] as const;
  const child = spawn(process.execPath, ["writer.mjs", id], { cwd: dir, stdio: [...stdio], timeout: 50_000 });
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

test("a process that opens the file undoes no commit of others, and finds no damage", { timeout: 60_000 }, async () => {
  await using project = await createProject({ "writer.mjs": WRITER });
  const path = `${project.dir}/s.lmdb`;
  const writers = ["one", "other"].map((id) => startWriter(project.dir, id));
  await Promise.all(writers.map(({ begun }) => begun));
  for (let nth = 0; nth < OPENINGS; nth++) {
    const isReader = nth % 2 === 1;
    const opening = isReader ? readLmdbJournal(path) : openLmdbJournal({ path, durability: "process", owner: "third" });
    await (await opening).close();
  }
  const found = await Promise.all(writers.map((writer) => writer.end()));
  await using journal = await readLmdbJournal(path);
  for (const { id, last, lost } of found) {
    expect({ id, lost }).toEqual({ id, lost: 0 });
    expect(last).toBeGreaterThan(OPENINGS / 10);
    const record = await journal.read(id);
    expect(record?.isDamaged).toBe(false);
    expect(Buffer.from(record?.cells.get("n") ?? "").toString()).toBe(String(last));
  }
});

test("the file does not grow while a process that has read it is busy", { timeout: 60_000 }, async () => {
  await using project = await createProject({ "writer.mjs": WRITER });
  const path = `${project.dir}/s.lmdb`;
  const writer = startWriter(project.dir, "one");
  await writer.begun;
  await using journal = await openLmdbJournal({ path, durability: "process", owner: "reader" });
  // All cells of the writer are there, and the pages that it has freed.
  await sleep(500);
  expect(await journal.find("one")).toMatchObject({ ended: null });
  const before = statSync(path).size;
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1_000);
  const growth = statSync(path).size - before;
  expect((await writer.end()).last).toBeGreaterThan(50);
  expect(growth).toBeLessThan(before);
});
