import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createProject } from "../../../../../test-support/commands/command-line.js";
import { OTHERS, useSemanticChecks, VALIDATION } from "../../../../../test-support/commands/semantic-checks.js";

const check = useSemanticChecks();

test.each([
  ["reads", 'readFileSync(path, "utf8")', /returned a line of validation\/oracle.ts: "export const oracle/],
  ["changes", '(appendFileSync(path, "// more"), "")', /the action {"path":.*} changed validation\/oracle.ts/],
])("an action that %s the file of the oracle", async (_, call, detail) => {
  const module = `
    import { appendFileSync, existsSync, readFileSync } from "node:fs";
    import { defineContract, defineEnvironment } from "openenv-ts";
    import * as z from "zod";
    const files = defineContract({
      name: "files_env",
      action: z.object({ path: z.string() }),
      observation: z.object({ text: z.string() }),
    });
    export default defineEnvironment(files, () => ({
      reset: () => ({ observation: { text: "" } }),
      step: ({ path }) => ({ observation: { text: existsSync(path) ? ${call} : "" }, reward: 0 }),
    }));`;
  const oracle = "export const oracle = (task) => undefined;";
  await using project = await createProject({ "server/environment.ts": module, "validation/oracle.ts": oracle });
  const { failed } = await check(project.dir, { leaveOut: ["canary_floor"] });
  expect(failed).toContainEqual(["oracle_containment", expect.stringMatching(detail)]);
});

test.each([
  ["a shell", 'spawnSync("sh", ["-c", code])', /"echo >> .*verify.py.*}} changed validation\/verify.py/],
  ["a program", 'spawnSync(process.execPath, ["-e", code])', /appendFileSync.* changed validation\/verify.py/],
])("a tool that edits the verifier's file by %s is found, and the file is as before", async (_, call, detail) => {
  const module = `
    import { spawnSync } from "node:child_process";
    import { defineContract, defineEnvironment, defineTools } from "openenv-ts";
    import * as z from "zod";
    const run = { description: "Runs code.", input: z.object({ code: z.string() }), output: z.object({ status: z.int() }) };
    const runner = defineContract({ name: "runner_env", observation: z.object({}), tools: defineTools({ run }) });
    export default defineEnvironment(runner, () => ({
      reset: () => ({ observation: {} }),
      tools: { run: ({ code }) => ({ status: ${call}.status ?? 1 }) },
      afterTool: () => ({ reward: 0 }),
    }));`;
  const verifier = "print(0)  # \u00e4\n";
  await using project = await createProject({ "server/environment.ts": module, "validation/verify.py": verifier });
  const capabilities = { verifier: { kind: "script", entry: "validation/verify.py" } };
  const validation = { ...VALIDATION, capabilities } as unknown as typeof VALIDATION;
  const leaveOut = OTHERS.filter((name) => name !== "oracle_containment");
  const { failed } = await check(project.dir, { validation, leaveOut });
  expect(failed).toEqual([["oracle_containment", expect.stringMatching(detail)]]);
  expect(await readFile(join(project.dir, "validation/verify.py"), "utf8")).toBe(verifier);
});
