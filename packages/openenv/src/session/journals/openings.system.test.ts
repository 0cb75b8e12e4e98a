/** Processes that open a file while others write to it. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
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

test("a process that opens the file undoes no commit of others, and finds no damage", { timeout: 60_000 }, async () => {
  await using project = await createProject({ "writer.mjs": WRITER });
  const path = `${project.dir}/s.lmdb`;
  const writers = ["one", "other"].map((id) => {
    const child = spawn(process.execPath, ["writer.mjs", id], {
      cwd: project.dir,
      stdio: ["pipe", "pipe", "inherit"],
      timeout: 50_000,
    });
    return { child, begun: once(child.stdout, "data"), output: text(child.stdout) };
  });
  await Promise.all(writers.map(({ begun }) => begun));
  for (let nth = 0; nth < OPENINGS; nth++) {
    const isReader = nth % 2 === 1;
    const opening = isReader ? readLmdbJournal(path) : openLmdbJournal({ path, durability: "process", owner: "third" });
    await (await opening).close();
  }
  for (const { child } of writers) child.stdin.end();
  const outputs = await Promise.all(writers.map(({ output }) => output));
  const found = outputs.map((output) => JSON.parse(output.trim().split("\n").at(-1) ?? ""));
  await using journal = await readLmdbJournal(path);
  for (const { id, last, lost } of found) {
    expect({ id, lost }).toEqual({ id, lost: 0 });
    expect(last).toBeGreaterThan(OPENINGS / 10);
    const record = await journal.read(id);
    expect(record?.isDamaged).toBe(false);
    expect(Buffer.from(record?.cells.get("n") ?? "").toString()).toBe(String(last));
  }
});
