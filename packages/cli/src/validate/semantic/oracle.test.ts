import { chmod } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createProject } from "../../../../../test-support/commands/command-line.js";
import { loadOracle } from "./oracle.js";

const INPUT = { task: { answer: 3 }, state: {}, last: {} };

test("an oracle is a function of a module", async () => {
  const module =
    "export const oracle = async ({ answer }) => ({ answer });\nexport const solved = (task, state) => state.ok;";
  await using project = await createProject({ "oracle.js": module });
  const oracle = await loadOracle(join(project.dir, "oracle.js"));
  expect(await oracle.act(INPUT)).toEqual({ answer: 3 });
  expect(oracle.solved?.({}, { ok: 1 })).toBe(true);
});

test("an oracle is an executable that answers lines", async () => {
  const script = `#!/usr/bin/env node
    require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
      const { task } = JSON.parse(line);
      console.log(JSON.stringify(task.answer ? { answer: task.answer } : null));
    });`;
  await using project = await createProject({ "oracle.cjs.sh": script, "package.json": "{}" });
  const file = join(project.dir, "oracle.cjs.sh");
  await chmod(file, 0o755);
  const oracle = await loadOracle(file);
  try {
    expect(await oracle.act(INPUT)).toEqual({ answer: 3 });
    expect(await oracle.act({ ...INPUT, task: {} })).toBeUndefined();
  } finally {
    oracle.close();
  }
});

test.each([
  ["that throws", "oracle.js", "export default () => { throw new Error('no idea'); }", /oracle.js failed: no idea/],
  ["that returns text", "oracle.js", "export default () => 'x'", /returned "x", which is not an action or null/],
  ["that ends without an answer", "oracle", "#!/bin/sh\nexit 3\n", /failed: it ended without an answer/],
  ["that cannot be executed", "oracle", "", /failed: spawn .* EACCES/],
])("an oracle %s is an error of the oracle", async (_, name, text, message) => {
  await using project = await createProject({ [name]: text });
  const file = join(project.dir, name);
  if (text.startsWith("#!")) await chmod(file, 0o755);
  const oracle = await loadOracle(file);
  await expect(oracle.act(INPUT)).rejects.toThrow(message);
  oracle.close();
});

test("a module without a function is not an oracle", async () => {
  await using project = await createProject({ "oracle.js": "export const other = 1" });
  await expect(loadOracle(join(project.dir, "oracle.js"))).rejects.toThrow(/exports no function/);
  await expect(loadOracle(join(project.dir, "none.js"))).rejects.toThrow(/No such file/);
});
