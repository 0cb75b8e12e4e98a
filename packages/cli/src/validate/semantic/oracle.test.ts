import { chmod } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createProject } from "../../../../../test-support/commands/command-line.js";
import { processesOfGroup } from "../../../../../test-support/commands/processes.js";
import { loadOracle } from "./oracle.js";

const INPUT = { task: { answer: 3 }, state: {}, last: {} };

test("an oracle is a function of a module", async () => {
  const module =
    "export const oracle = async ({ answer }) => ({ answer });\nexport const solved = (task, state) => state.ok;";
  await using project = await createProject({ "oracle.js": module });
  const oracle = await loadOracle(join(project.dir, "oracle.js"));
  expect(await oracle.act(INPUT)).toEqual({ answer: 3 });
  expect(await oracle.solved?.({}, { ok: 1 })).toBe(true);
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
  ["that ends without an answer", "oracle", "#!/bin/sh\nexit 3\n", /failed: it exited with code 3 without an answer$/],
  ["that prints an error", "oracle", "#!/bin/sh\necho no key >&2\nexit 3\n", /code 3 without an answer\nno key$/],
  ["that is killed", "oracle", "#!/bin/sh\nkill -9 $$\n", /failed: it was killed by SIGKILL without an answer$/],
  ["that cannot be executed", "oracle", "", /failed: spawn .* EACCES/],
])("an oracle %s is an error of the oracle", async (_, name, text, message) => {
  await using project = await createProject({ [name]: text });
  const file = join(project.dir, name);
  if (text.startsWith("#!")) await chmod(file, 0o755);
  const oracle = await loadOracle(file);
  await expect(oracle.act(INPUT)).rejects.toThrow(message);
  oracle.close();
});

test("no process of an executable is left when the oracle is closed", async () => {
  const script = `#!/bin/sh\nread line; sleep 600 & echo "{\\"pid\\": $$}"; wait`;
  await using project = await createProject({ oracle: script });
  const file = join(project.dir, "oracle");
  await chmod(file, 0o755);
  const oracle = await loadOracle(file);
  const group = Number((await oracle.act(INPUT))?.["pid"]);
  expect(processesOfGroup(group)).toHaveLength(2);
  oracle.close();
  await expect.poll(() => processesOfGroup(group)).toEqual([]);
});

test.each([
  ["that resolves to a value", "async (task, state) => state.ok", { ok: 0 }, false],
  ["that throws", "() => { throw new Error('no state'); }", {}, /solved of the oracle .*oracle.js failed: no state/],
  ["that rejects", "async () => { throw 'no state'; }", {}, /solved of the oracle .*oracle.js failed: no state/],
])("a declared success %s", async (_, solved, state, result) => {
  const module = `export const oracle = () => undefined; export const solved = ${solved};`;
  await using project = await createProject({ "oracle.js": module });
  const answer = (await loadOracle(join(project.dir, "oracle.js"))).solved?.({}, state);
  if (result instanceof RegExp) await expect(answer).rejects.toThrow(result);
  else expect(await answer).toBe(result);
});

test("a module without a function is not an oracle", async () => {
  await using project = await createProject({ "oracle.js": "export const other = 1" });
  await expect(loadOracle(join(project.dir, "oracle.js"))).rejects.toThrow(/exports no function/);
  await expect(loadOracle(join(project.dir, "none.js"))).rejects.toThrow(/No such file/);
});
