import { existsSync, readdirSync } from "node:fs";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { checker } from "openenv-ts/internal";
import { parseEpisode } from "openenv-ts/protocol";
import { describe, expect, test } from "vitest";
import {
  callCommand,
  counterModule,
  createProject,
  type Project,
  runCommand,
  startCommand,
} from "../../../../test-support/commands/command-line.js";
import { createPackage, MANIFEST, PLAN } from "../../../../test-support/environments/counter-package.js";
import { createDoor } from "../../../../test-support/environments/door-package.js";
import { until } from "../../../../test-support/servers/cluster.js";
import { pythonClientCheck } from "../validate/python-client.js";
import type { PackageReport, Result } from "../validate/report/package-report.js";

const ENVS = join(import.meta.dirname, "../../../../envs");
/** The checks that need an oracle. */
const REWARD = ["oracle_max", "floor_gap", "trivial_floor", "canary_floor", "no_solution_leakage"].map(
  (id) => `semantic.${id}`,
);
const LIMIT = { timeout: 240_000 };
/** Few sessions come and go: that a hundred do is tested where it costs no process. */
const FEW = ["--sessions", "5"];

async function validate(project: Project, ...args: string[]) {
  return readReport(await callCommand(["validate", "--json", ...args], { cwd: project.dir }));
}

function readReport({ code, stdout, stderr }: Awaited<ReturnType<typeof runCommand>>) {
  const report = (stdout ? JSON.parse(stdout) : undefined) as PackageReport | undefined;
  const of = (id: string): Result | undefined => report?.results.find(({ check_id }) => check_id === id);
  const failed = report?.results.filter(({ status }) => status === "fail" || status === "error");
  return { code, stderr, report, of, failed };
}

describe("openenv validate <folder>", () => {
  test.each(readdirSync(ENVS))("passes the environment %s without a warning", LIMIT, async (name) => {
    // What keeps programs apart is not what is validated here.
    const where = { cwd: join(ENVS, name), env: { ALLOW_WEAK_SANDBOX: "1" } };
    // Without an oracle the reward is unknown.
    const hasOracle = existsSync(join(where.cwd, "validation/oracle.ts"));
    const level = hasOracle ? ["--level", "semantic"] : [];
    const { code, stdout } = await callCommand(["validate", "--json", ...level, ...FEW], where);
    const { results, verdict, levels_run, unknown } = JSON.parse(stdout) as PackageReport;
    expect(results.filter(({ status }) => status === "fail" || status === "error")).toEqual([]);
    expect({ code, verdict, levels_run }).toEqual({ code: 0, verdict: "pass", levels_run: [1, 2, 3] });
    const made = results.filter(({ status }) => status === "pass").map(({ check_id }) => check_id);
    const some = ["runtime.startup", "runtime.episode_determinism", "runtime.capacity", "semantic.replayability"];
    expect(made).toEqual(expect.arrayContaining(hasOracle ? [...some, ...REWARD] : some));
    expect(unknown).toEqual(hasOracle ? [] : undefined);
  });

  test("has a report of the known shape, which also goes to a file", LIMIT, async () => {
    await using project = await createPackage();
    const { code, report, of } = await validate(project, "--output", "report.json", ...FEW);
    expect(code).toBe(0);
    expect(report).toMatchObject({
      report_schema_version: "2",
      target: ".",
      source_digest: expect.stringMatching(/^[0-9a-f]{64}$/),
      signature: "openenv.yaml",
      manifest: { manifest_schema_version: "1", name: "counter_env", version: "1.0", judge: null },
      policy_version: "v2",
      lane: "local",
      levels_run: [1, 2, 3],
      verdict: "pass",
    });
    expect(of("static.manifest")).toMatchObject({ status: "pass", measured: { floor_margin: 0.1 } });
    const notApplicable = (need: RegExp) => ({
      status: "skip",
      not_applicable: true,
      evidence: [expect.stringMatching(need)],
    });
    expect(of("semantic.oracle_max")).toMatchObject(notApplicable(/unknown without an oracle/));
    expect(of("runtime.network_policy")).toMatchObject(notApplicable(/needs a block `validation.execution`/));
    expect(of("semantic.verifier_determinism")).toMatchObject({ status: "pass" });
    expect(JSON.parse(await readFile(join(project.dir, "report.json"), "utf8"))).toEqual(report);
  });

  test("exits with 4 if the semantic level was requested and a check is unknown without an oracle", LIMIT, async () => {
    await using project = await createPackage();
    const { code, stdout } = await callCommand(["validate", "--level", "semantic", ...FEW], { cwd: project.dir });
    expect(stdout).toMatch(/SKIP .*semantic.oracle_max.*: it is unknown without an oracle/);
    expect(stdout).toMatch(/Verdict: UNKNOWN: .*semantic.oracle_max, semantic.floor_gap.*\n$/);
    expect(code).toBe(4);
  });

  test("reports an oracle that fails as an error, not as a fault of the environment", LIMIT, async () => {
    const oracle = "verifier: { kind: reward_channel }\n    oracle: { form: script, location: oracle.js }";
    const manifest = MANIFEST.replace("verifier: { kind: reward_channel }", oracle);
    const files = {
      "openenv.yaml": manifest,
      "oracle.js": "export const oracle = () => { throw new Error('no idea') }",
    };
    await using project = await createPackage(files);
    const { code, of } = await validate(project, ...FEW);
    const evidence = [expect.stringMatching(/the oracle .*oracle.js failed: no idea/)];
    expect(of("semantic.oracle_max")).toMatchObject({ status: "error", evidence });
    expect(code).toBe(1);
  });

  test("stops at the static level on request, and prints the verdict in words", async () => {
    await using project = await createPackage();
    const { code, stdout } = await callCommand(["validate", "--level", "static"], { cwd: project.dir });
    expect(stdout).toMatch(
      /openenv.yaml, policy v1, levels static\)\n {2}PASS {2}static.manifest .*\nVerdict: PASS\n$/,
    );
    expect(code).toBe(0);
  });

  test("plays the plan of the package", LIMIT, async () => {
    const manifest = `${MANIFEST}  execution: {}\n`;
    const plan = JSON.stringify(PLAN);
    await using project = await createPackage({ "openenv.yaml": manifest, "validation/runtime.json": plan });
    const { report, failed } = await validate(project, "--skip-build", ...FEW);
    expect(failed).toEqual([]);
    expect(report).toMatchObject({ report_schema_version: "2", manifest: { manifest_schema_version: "2" } });
    // An action that the contract refuses shows that it is this one that is played.
    await writeFile(join(project.dir, "validation/runtime.json"), plan.replace('"amount":2', '"amount":"x"'));
    expect((await validate(project, "--skip-build", ...FEW)).failed).toMatchObject([
      { check_id: "runtime.startup", evidence: [expect.stringMatching(/step on \/ws .* VALIDATION_ERROR/)] },
    ]);
  });
});

describe("openenv validate --adversary", () => {
  const oracle = "verifier: { kind: reward_channel }\n    oracle: { form: script, location: validation/oracle.ts }";
  const manifest = MANIFEST.replace("counter_env", "door_env").replace("verifier: { kind: reward_channel }", oracle);
  const args = ["--skip-build", ...FEW, "--adversary"];

  test("prints the shortest exploit, saves it as a canary and exits with 1", LIMIT, async () => {
    await using project = await createDoor('""', {}, { "openenv.yaml": manifest });
    const { code, stdout, stderr } = await callCommand(["validate", ...args, "60s"], { cwd: project.dir });
    const actions = ["left", "up", "right"].map((press) => `{"press":"${press}".*} -> [01]`);
    expect(stdout).toMatch(
      new RegExp(`FAIL .*semantic.adversary.*\\n.*the reward 1 was found .*: ${actions.join(", ")}\\n`),
    );
    expect(stdout).toMatch(/Verdict: FAIL\n$/);
    expect(stderr).toMatch(/the episode is saved in canaries.jsonl/);
    const saved = (await readFile(join(project.dir, "canaries.jsonl"), "utf8")).trimEnd().split("\n");
    expect(saved.map(parseEpisode)).toMatchObject([
      {
        steps: [{ action: { press: "left" } }, { action: { press: "up" } }, { action: { press: "right" }, reward: 1 }],
      },
    ]);
    expect(code).toBe(1);
  });

  test("passes if nothing is found until the time is over", LIMIT, async () => {
    const honest = { 'isOpen || pressed.slice(-3).join() === "left,up,right"': "isOpen" };
    await using project = await createDoor('""', honest, { "openenv.yaml": manifest });
    const { code, report, of, failed } = await validate(project, ...args, "0.025m");
    expect({ code, failed, unknown: report?.unknown }).toEqual({ code: 0, failed: [], unknown: [] });
    const measured = { actual: { episodes: expect.any(Number), seconds: 1.5 } };
    expect(of("semantic.adversary")).toMatchObject({ status: "pass", measured });
    expect(await readdir(project.dir)).not.toContain("canaries.jsonl");
  });
});

test("a Python client that is not that of the contract any more is a warning", LIMIT, async () => {
  await using project = await createPackage();
  await runCommand(["client", "python"], { cwd: project.dir });
  expect(await checker.runChecks("", [pythonClientCheck(project.dir)])).toMatchObject({
    checks: [{ status: "passed" }],
  });
  await project.write("server/environment.ts", counterModule().replaceAll("{ count: ", "{ total: "));
  // In a process that has not loaded the module before its change.
  const args = ["validate", "--json", "--skip-build", ...FEW];
  const { code, report, failed } = readReport(await runCommand(args, { cwd: project.dir }));
  expect(failed).toMatchObject([
    {
      check_id: "runtime.python_client",
      evidence: [expect.stringMatching(/the Python client does not match the contract: counter_env\/models\.py$/)],
      remediation: expect.stringContaining("npm run client"),
    },
  ]);
  expect([code, report?.verdict]).toEqual([0, "warn"]);
});

test("actions that show nothing of the seed leave open what it decides", LIMIT, async () => {
  const module = counterModule("0 * amount").replace(/\}\);\s*$/, "}, { seeded: true });\n");
  await using project = await createPackage({ "server/environment.ts": module });
  const { code, of } = await validate(project, "--skip-build", ...FEW);
  const unshown = { status: "skip", evidence: [expect.stringMatching(/do not show what the seed decides.*--actions/)] };
  expect([of("runtime.seed_control"), of("runtime.episode_determinism")]).toMatchObject([unshown, unshown]);
  expect(code).toBe(0);
});

describe("each thing that is wrong with a package fails its own check", () => {
  const counting = (step: string, more = "") =>
    counterModule().replace("let count: number = 0;", `let count: number = 0; ${more}`).replace("reward: 1", step);

  test.each([
    ["rewards that are none", counting("reward: null"), "reward_well_formed", /step 1 returned the reward null/],
    ["rewards out of range", counting("reward: 7"), "reward_well_formed", /the reward 7, expected 0 to 1/],
    ["chance", counting("reward: Math.random()"), "seed_control", /differ first in 1\.reward: 0\.\d+ and 0\.\d+/],
    [
      "what differs between processes",
      counting("reward: 1 / process.pid"),
      "episode_determinism",
      /two workers differ first in 1\.reward/,
    ],
    [
      "state that sessions share",
      counterModule()
        .replace("export default", "let all = 0;\nexport default")
        .replace("observation: z.object", "state: z.object({ all: z.int() }), observation: z.object")
        .replace("reset: () =>", "state: () => ({ all }), reset: () =>")
        .replace("step: ({ amount }) => (", "step: ({ amount }) => (all++, "),
      "episode_isolation",
      /another session changed all: \d+ and \d+/,
    ],
    [
      "a reset that does not reset",
      counterModule().replace("count: (count = 0)", "count"),
      "reset_resets",
      /differs in count: 0 and \d+/,
    ],
    ["code that does not compile", "export default {", "startup", /environment\.ts:1/],
    [
      "an environment that always fails",
      counterModule("(() => { throw new Error('broken') })()"),
      "startup",
      /step on \/ws was answered with the error EXECUTION_ERROR/,
    ],
  ])("%s", LIMIT, async (_, module, check, evidence) => {
    await using project = await createPackage({ "server/environment.ts": module });
    const { code, failed } = await validate(project, ...FEW);
    expect(failed).toMatchObject([
      {
        check_id: `runtime.${check}`,
        evidence: expect.arrayContaining([expect.stringMatching(evidence)]),
        remediation: expect.any(String),
      },
    ]);
    expect(code).toBe(1);
  });

  test("tools and tasks that are not those declared", LIMIT, async () => {
    const declared = `verifier: { kind: reward_channel }
    declared_tools: [look]
    declared_task_count: { train: 3 }`;
    const manifest = MANIFEST.replace("verifier: { kind: reward_channel }", declared);
    await using project = await createPackage({ "openenv.yaml": manifest });
    expect((await validate(project, ...FEW)).failed).toMatchObject([
      {
        check_id: "runtime.tool_declaration_accuracy",
        evidence: ['the manifest declares ["look"], the server has []'],
      },
      { check_id: "runtime.task_declaration_accuracy" },
    ]);
  });

  test("a server that writes into its own package", LIMIT, async () => {
    const writing = counterModule().replace(
      "export default",
      'import { writeFileSync } from "node:fs";\nexport default',
    );
    const module = writing.replace("reset: () =>", 'reset: () => (writeFileSync("note.txt", "1"), true) &&');
    await using project = await createPackage({ "server/environment.ts": module });
    expect((await validate(project, ...FEW)).failed).toMatchObject([
      {
        check_id: "runtime.startup",
        status: "error",
        evidence: ["the files of the package changed during validation"],
      },
    ]);
  });
});

test.each(["SIGINT", "SIGTERM"] as const)(
  "openenv validate that is interrupted by %s says so with 130, and what it started has ended",
  LIMIT,
  async (signal) => {
    await using project = await createPackage();
    await using state = await createProject();
    const running = startCommand(["validate", "--skip-build"], {
      cwd: project.dir,
      env: { OPENENV_STATE_DIR: state.dir },
    });
    const started = async () => (await readdir(join(state.dir, "processes")).catch(() => [])).length;
    await until(async () => (await started()) === 2);
    running.process.kill(signal);
    expect(await running.exited).toBe(130);
    expect(running).toMatchObject({ stdout: "", stderr: "interrupted; everything that was started is stopped\n" });
    expect(await started()).toBe(0);
  },
);

describe("openenv validate has exit codes", () => {
  test.each([
    ["2 for a folder that is no package", {}, [], 2, /has no openenv.yaml/],
    ["2 for one that could be two", { "openenv.yaml": MANIFEST, "task.toml": "" }, [], 2, /openenv.yaml and task.toml/],
    [
      "2 for one with tasks in front matter",
      { "openenv.yaml": MANIFEST, "task.md": "---\na: 1\n---\n" },
      [],
      2,
      /task.md/,
    ],
    ["2 for a folder that is not there", {}, ["nowhere"], 2, /No such folder: nowhere/],
    ["2 for a check that is none", {}, ["--skip", "capacty"], 2, /'capacty'.*Must be one of episode, .*capacity/],
    ["2 for a level that is none", {}, ["--level", "deep"], 2, /static, runtime, semantic/],
    ["2 for a folder and a URL", {}, ["here", "--url", "http://127.0.0.1:1"], 2, /not both/],
    ["2 for two URLs", {}, ["http://127.0.0.1:2", "--url", "http://127.0.0.1:1"], 2, /Two different URLs/],
    ["2 for actions that are none", {}, ["--actions", "package.json"], 2, /has no actions/],
    ["3 for a policy that is none", { "openenv.yaml": MANIFEST }, ["--policy", "v9"], 3, /Unknown policy v9/],
    [
      "3 for a policy without the level",
      { "openenv.yaml": MANIFEST },
      ["--policy", "v1"],
      3,
      /only supports --level static/,
    ],
    ["2 for a report without a folder", { "openenv.yaml": MANIFEST }, ["--output", "no/r"], 2, /in an existing folder/],
    [
      "2 for a report that is a folder",
      { "openenv.yaml": MANIFEST },
      ["--output", "."],
      2,
      /Cannot write the report to \./,
    ],
    ["2 for an invalid time", {}, ["--adversary", "1h"], 2, /'1h' is invalid/],
    ["2 for a level of a URL", {}, ["http://127.0.0.1:9", "--level", "static"], 2, /--level only applies to a folder/],
    ["2 for a token of a folder", { "openenv.yaml": MANIFEST }, ["--token", "t"], 2, /--token only applies to a URL/],
    [
      "1 for a URL where nobody is",
      {},
      ["--url", "http://127.0.0.1:9"],
      1,
      /127.0.0.1:9.*check the URL and that the server is running/,
    ],
  ])("%s", async (_, files, args, expected, message) => {
    await using project = await createProject(files as Record<string, string>);
    const { code, stdout, stderr } = await callCommand(["validate", ...args], { cwd: project.dir });
    expect(stderr).toMatch(message);
    expect({ code, stdout, stacks: /\n\s+at /.test(stderr) }).toEqual({ code: expected, stdout: "", stacks: false });
  });
});
