import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, expect, test } from "vitest";

const MAIN = join(import.meta.dirname, "main.mjs");
const ONE = "grid/node-1-worker/1";
const TWO = "grid/node-2-workers/1";
/** The second setup accepts four sessions, so it stops at the batch of eight. */
const PLAN = {
  quick: { batches: [4, 8, 16], waits: { 1: 1 } },
  timeout: 20,
  subjects: {
    "node-1-worker": { start: "node", workers: 1, perSecond: 100 },
    "node-2-workers": { start: "node", workers: 1, capacity: 4, perSecond: 100 },
  },
  published: { source: "https://example.com", setups: { none: { cores: 1, batch: { 10: 1 } } } },
};

let dir;
beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), "openenv-study-"));
  writeFileSync(join(dir, "plan.json"), JSON.stringify(PLAN));
});
afterAll(() => rmSync(dir, { recursive: true, force: true }));

/** Each study has a process group, so that the servers of one that was killed end with it. */
function startStudy(...args) {
  const options = ["--quick", "--only", "grid", "--plan", join(dir, "plan.json"), "--output-dir", dir, ...args];
  // Without an engine: an image needs a base that not every machine can pull.
  const env = { ...process.env, DOCKER_HOST: "unix:///nonexistent/docker.sock" };
  return spawn(process.execPath, [MAIN, ...options], { env, stdio: ["ignore", "pipe", "pipe"], detached: true });
}

async function runStudy(...args) {
  const study = startStudy(...args);
  const [output, errors] = await Promise.all([text(study.stdout), text(study.stderr), once(study, "exit")]);
  expect(study.exitCode, errors).toBe(0);
  return { output, errors };
}

const readRows = () => JSON.parse(readFileSync(join(dir, "rows.json"), "utf8"));

test("a study that was killed continues with the row that it was measuring", { timeout: 240_000 }, async () => {
  const study = startStudy();
  let seen = "";
  for await (const part of study.stderr.setEncoding("utf8")) {
    seen += part;
    if (seen.includes(`${TWO}\n`)) break;
  }
  process.kill(-study.pid, "SIGKILL");
  if (study.exitCode === null && study.signalCode === null) await once(study, "exit");
  const before = readRows();
  expect(Object.keys(before)).toEqual([ONE]);

  const { errors } = await runStudy();
  expect(errors).not.toContain(`${ONE}\nws`);
  expect(readRows()).toEqual({ ...before, [TWO]: expect.objectContaining({ commit: before[ONE].commit }) });
});

test("the report has a row for each setup, and nothing of a batch that was not tried", () => {
  const report = readFileSync(join(dir, "STUDY.md"), "utf8");
  expect(report).toMatch(/^\| node-1-worker \| 1 s \| ≥ 16 \|.* end of the grid: no larger batch was tried \|$/m);
  expect(report).toMatch(/^\| node-2-workers \| 1 s \| 4 \|.* capacity of the server: 50.0 % at 8 /m);
  expect(report).toContain("`node-2-workers` completed 4 sessions with steps of 1 s");
  const csv = readFileSync(join(dir, "study.csv"), "utf8");
  expect(csv).toContain("max-batch-1s,sessions,1,node-1-worker,16\nmax-batch-1s,sessions,1,node-2-workers,4\n");
  expect(csv).toMatch(/^p99-16-1s,s,1,node-1-worker,[\d.]+$/m);
  expect(csv).not.toMatch(/^p99-(8|16)-1s,.*node-2-workers/m);
  for (const kind of ["light", "dark"]) {
    const cells = [
      ...readFileSync(join(dir, `figures/workers-${kind}.svg`), "utf8").matchAll(/aria-label="(batch[^"]*)"/g),
    ];
    const tried = new Set(cells.map(([, label]) => `${/batch: (\d+)/.exec(label)?.[1]} ${/node-\d/.exec(label)?.[0]}`));
    expect([...tried].toSorted()).toEqual(["16 node-1", "4 node-1", "4 node-2", "8 node-1", "8 node-2"]);
  }
});

test("--list says what is done and what is left; a row of another commit is left", { timeout: 60_000 }, async () => {
  const list = async () => (await runStudy("--list")).output.replace(/\d+:\d\d h/g, "T");
  expect(await list()).toBe(`done     T  ${ONE}\ndone     T  ${TWO}\n${sum(2, 0)}`);
  const rows = readRows();
  rows[ONE].commit = "0000000";
  writeFileSync(join(dir, "rows.json"), JSON.stringify(rows));
  expect(await list()).toBe(`done     T  ${TWO}\nleft     T  ${ONE}\n${sum(1, 1)}`);
  // No time for it: nothing is measured, and the report says that its rows are of two commits.
  await runStudy("--hours", "0");
  expect(readFileSync(join(dir, "STUDY.md"), "utf8")).toContain("the rows are not of one commit");
  expect(readRows()).toEqual(rows);
});

test("each part without a component has its section, with a finding, a picture and rows", {
  timeout: 300_000,
}, async () => {
  const parts = join(dir, "parts");
  await runStudy("--only", "messages,containers,wordle", "--output-dir", parts);
  const report = readFileSync(join(parts, "STUDY.md"), "utf8");
  const [, ...sections] = report.split(/^## /m);
  const csv = readFileSync(join(parts, "study.csv"), "utf8");
  for (const [index, name] of ["messages", "containers", "wordle"].entries()) {
    expect(sections[index]).toMatch(/\n\n(?:- .*\d.*\.\n)+\n<picture>/);
    expect(sections[index]).not.toMatch(/NaN|undefined/);
    for (const kind of ["light", "dark"]) {
      expect(sections[index]).toContain(`figures/${name}-${kind}.svg`);
      expect(readFileSync(join(parts, `figures/${name}-${kind}.svg`), "utf8")).toContain("</svg>");
    }
    expect(csv).toMatch(new RegExp(`^${name}-[\\w-]+,.*,1,[^,]+,[\\d.]+$`, "m"));
  }
  expect(csv).toContain("wordle-finished,sessions,1,ours,64\n");

  await runStudy("--add", parts);
  expect(readRows()).toMatchObject(JSON.parse(readFileSync(join(parts, "rows.json"), "utf8")));
  expect(readFileSync(join(dir, "STUDY.md"), "utf8")).toContain(sections[0]);
  writeFileSync(join(parts, "rows.json"), JSON.stringify({ messages: { commit: "0000000" } }));
  const refused = startStudy("--add", parts);
  expect(await text(refused.stderr)).toContain("messages is of 0000000, the study of ");
});

const sum = (done, left) => `${done} rows done in T, ${left} left for T, 0 cannot be measured here (T)\n`;
