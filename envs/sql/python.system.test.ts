/** The same data and gold queries, run by the SQLite of Python: the rows have to be the same. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { rng } from "openenv-ts";
import { describe, expect, test } from "vitest";
import { requirePython } from "../../test-support/requirement.js";
import { Database, renderScript } from "./database.js";
import type { Value } from "./families.js";
import { chooseSeeds } from "./judge.js";
import { familyOf, lists } from "./tasks.js";

const python = await requirePython();

describe.skipIf(!python.available)("Python's sqlite3", () => {
  test("returns the rows of every gold and every broken query, on both databases of its task", {
    timeout: 60_000,
  }, async () => {
    const cases = Object.values(lists)
      .flat()
      .flatMap((task) => chooseSeeds(task).map((seed) => ({ task, family: familyOf(task), seed })))
      .flatMap(({ task, ...rest }) => [task.gold, task.fault].map((sql) => ({ ...rest, sql, ordered: task.ordered })));
    const scripts = cases.map(({ family, seed, sql }) => ({
      script: renderScript(family, family.rows(rng(seed))),
      sql,
    }));
    const theirs = await runThere(scripts);
    expect(theirs.length).toBe(800);
    for (const [at, { family, seed, sql, ordered }] of cases.entries()) {
      const database = new Database(family, seed);
      const { rows } = database.run(sql, 1_000);
      database.close();
      const arrange = (of: Value[][]): string[] => {
        const lines = of.map((row) => JSON.stringify(row));
        return ordered ? lines : lines.sort();
      };
      expect(arrange(rows), sql).toEqual(arrange(theirs[at] ?? []));
    }
  });
});

async function runThere(cases: { script: string; sql: string }[]): Promise<Value[][][]> {
  const program = fileURLToPath(new URL("python_rows.py", import.meta.url));
  const child = spawn(python.path, [program], { timeout: 50_000, env: { ...process.env, PYTHONUTF8: "1" } });
  let [output, errors] = ["", ""];
  child.stdout.setEncoding("utf8").on("data", (text: string) => (output += text));
  child.stderr.setEncoding("utf8").on("data", (text: string) => (errors += text));
  child.stdin.on("error", () => {}).end(JSON.stringify(cases));
  const [code] = await once(child, "close");
  if (code !== 0) throw new Error(`Python did not run the queries (${code}): ${errors}`);
  return JSON.parse(output) as Value[][][];
}
