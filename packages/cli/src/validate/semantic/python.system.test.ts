import { join } from "node:path";
import { commandProvider } from "@openenv-ts/providers";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { callCommand, createProject } from "../../../../../test-support/commands/command-line.js";
import { requirePython } from "../../../../../test-support/requirement.js";
import { readSchemas } from "../../project/read-schemas.js";
import { checkSemantics } from "./run.js";

const python = await requirePython();
const SERVER = join(import.meta.dirname, "fixtures/sums_server.py");
const ORACLE = `
export const oracle = (_task, _state, { observation }) => {
  const [first, second] = observation.question.match(/\\d+/g).map(Number);
  return { answer: String(first + second) };
};`;
const MANIFEST = `name: sums_env
validation:
  reward: { range: [0, 1], floor_margin: 0.1 }
  resources: { cpu: 1, memory_mb: 256, disk_mb: 64, episode_timeout_s: 60 }
  capabilities:
    verifier: { kind: reward_channel }
    oracle: { form: script, location: oracle.js }
  types: { tags: [math] }
`;

const LIMIT = { timeout: 240_000 };

describe.skipIf(!python.available)("an environment in Python", LIMIT, () => {
  let server: Awaited<ReturnType<ReturnType<typeof commandProvider>["start"]>>;
  let project: Awaited<ReturnType<typeof createProject>>;
  beforeAll(async () => {
    project = await createProject({ "oracle.js": ORACLE, "openenv.yaml": MANIFEST });
    server = await commandProvider({ command: `"${python.path}" "${SERVER}"` }).start({
      directory: ".",
      timeoutMs: 200_000,
    });
  }, LIMIT.timeout);
  afterAll(async () => {
    await server.close();
    await project[Symbol.asyncDispose]();
  });

  test("is validated by its URL and the manifest of its folder", async () => {
    const args = ["validate", "--json", "--level", "semantic", "--sessions", "2", "--skip", "capacity"];
    const { code, stdout } = await callCommand([...args, "--url", server.url, "--package", "."], { cwd: project.dir });
    const { summary, criteria, unknown } = JSON.parse(stdout);
    expect({ code, unknown, failed: summary.failed_criteria }).toEqual({ code: 0, unknown: [], failed: [] });
    const passed = criteria.filter((one: { passed: boolean }) => one.passed).map(({ id }: { id: string }) => id);
    expect(passed).toEqual(expect.arrayContaining(["oracle_max", "floor_gap", "trivial_floor", "no_solution_leakage"]));
    const bare = await callCommand([...args, "--url", server.url], { cwd: project.dir });
    const report = JSON.parse(bare.stdout);
    expect({ code: bare.code, failed: report.summary.failed_criteria, unknown: report.unknown }).toEqual({
      code: 4,
      failed: [],
      unknown: expect.arrayContaining(["oracle_max", "no_solution_leakage"]),
    });
  });

  test.each([
    ["empty", "trivial_floor", /empty actions earn 1/],
    ["seed", "seed_honoured", /two resets with seed 7 differ first in .*question/],
    ["hint", "no_solution_leakage", /observation.hint contains the answer/],
    ["error", "no_solution_leakage", /error.message contains the answer/],
    ["state", "no_solution_leakage", /state.solution contains the answer/],
    ["after", "reward_after_done", /earned 2/],
    ["shared", "isolated", /reward: 1 and 0/],
    ["maximum", "oracle_max", /5 of 5 below 1: seed 7 gave 0.5/],
    ["drift", "verifier_determinism", /rewards of one episode were/],
    ["infinite", "rewards", /returned the reward/],
    ["reset", "floor_gap", /by only 0/],
  ])("with the fault %s fails %s", async (fault, id, detail) => {
    const validation = { reward: { range: [0, 1], floor_margin: 0.1, oracle_tolerance: 0 } } as never;
    const schemas = await readSchemas(server.url);
    const oracle = join(project.dir, "oracle.js");
    const options = { schemas, validation, oracle, isRequested: true, made: [] };
    const checks = await checkSemantics(server.url, { reset: { fault } }, options);
    const failed = checks.filter(({ status }) => status === "failed").map((one) => [one.id, one.detail]);
    expect(failed).toContainEqual([id, expect.stringMatching(detail)]);
  });
});

test.skipIf(!python.available)("a tool that runs Python and edits the verifier's file is found", LIMIT, async () => {
  const module = `
    import { spawnSync } from "node:child_process";
    import { defineContract, defineEnvironment, defineTools } from "openenv-ts";
    import * as z from "zod";
    const run = { description: "Runs code.", input: z.object({ code: z.string() }), output: z.object({ status: z.int() }) };
    const runner = defineContract({ name: "runner_env", observation: z.object({}), tools: defineTools({ run }) });
    const python = ${JSON.stringify(python.path)};
    export default defineEnvironment(runner, () => ({
      reset: () => ({ observation: {} }),
      tools: { run: ({ code }) => ({ status: spawnSync(python, ["-c", code]).status ?? 1 }) },
      afterTool: () => ({ reward: 0 }),
    }));`;
  const manifest = MANIFEST.replace("sums_env", "runner_env")
    .replace("{ kind: reward_channel }", "{ kind: script, entry: verify.py }\n    declared_tools: [run]")
    .replace(/ *oracle: .*\n/, "");
  const files = { "openenv.yaml": manifest, "server/environment.ts": module, "verify.py": "print(0)\n" };
  await using runner = await createProject(files);
  const args = ["validate", "--json", "--skip-build", "--sessions", "2"];
  const { stdout } = await callCommand(args, { cwd: runner.dir });
  const { results } = JSON.parse(stdout) as { results: { check_id: string; status: string; evidence: string[] }[] };
  const failed = results.filter(({ status }) => status === "fail" || status === "error");
  expect(failed).toMatchObject([
    {
      check_id: "runtime.oracle_containment",
      evidence: [expect.stringMatching(/open\(.*, \\"a\\"\).* changed verify.py/)],
    },
  ]);
});
