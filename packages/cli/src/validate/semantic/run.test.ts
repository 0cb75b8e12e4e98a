import { cp, readFile, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import { createProject } from "../../../../../test-support/commands/command-line.js";
import { createDoor } from "../../../../../test-support/environments/door-package.js";
import { useServers } from "../../../../../test-support/servers/servers.js";
import { defineContract } from "../../../../openenv/src/contract/contract.js";
import { defineEnvironment } from "../../../../openenv/src/environment/define-environment.js";
import { createTasks } from "../../../../openenv/src/environment/tasks/task-lists.js";
import { loadEnvironment } from "../../project/load-environment.js";
import { saveCanary } from "./canaries.js";
import { checkSemantics, type SemanticOptions } from "./run.js";
import { actionsOf, type StudiedEpisode } from "./world.js";

const ENVS = join(import.meta.dirname, "../../../../../envs");
const VALIDATION = {
  reward: { range: [0, 1], oracle_tolerance: 0, floor_margin: 0.1 },
  capabilities: {
    verifier: { kind: "reward_channel" },
    oracle: { form: "script", location: "validation/oracle.ts" },
    canaries: "validation/canaries.jsonl",
  },
} as unknown as NonNullable<SemanticOptions["validation"]>;
const servers = useServers();

/** Checks a folder with an environment and an oracle. */
async function check(
  dir: string,
  more: Partial<Pick<SemanticOptions, "search" | "logs" | "validation">> & { leaveOut?: string[] } = {},
) {
  const environment = await loadEnvironment(join(dir, "server/environment.ts"));
  const server = await servers.start({}, { environment });
  const { leaveOut = [], ...rest } = more;
  const checking = { leaveOut, ...(environment.seeded !== undefined && { seeded: environment.seeded }) };
  const schemas = environment.contract.schemas();
  const options = { schemas, dir, validation: VALIDATION, isRequested: true, made: [], ...rest };
  const checks = await checkSemantics(server.url, checking, options);
  const failed = checks.filter(({ status }) => status === "failed").map(({ id, detail = "" }) => [id, detail] as const);
  const skipped = checks.filter(({ status, notApplicable }) => status === "skipped" && !notApplicable);
  const passed = checks.filter(({ status }) => status === "passed").map(({ id }) => id);
  return { failed, passed, skipped: skipped.map(({ id, detail = "" }) => [id, detail] as const) };
}

/** A copy of an environment. */
async function copy(name: string) {
  const project = await createProject();
  const filter = (path: string): boolean => !/dist|node_modules|\.openenv|test\.ts$|\.py$/.test(path);
  await cp(join(ENVS, name), project.dir, { recursive: true, filter });
  await symlink(join(ENVS, "../node_modules"), join(project.dir, "node_modules"));
  return project;
}

/** A copy of wordle with few tasks and a fault. */
async function copyWordle(file?: string, from: string | RegExp = "", to = "") {
  const project = await copy("wordle");
  await change(join(project.dir, "tasks.ts"), /const words = \{[^}]*\};/, FEW);
  if (file !== undefined) await change(join(project.dir, file), from, to);
  return project;
}

const FEW = "const words = { train: secrets.slice(0, 12), test: secrets.slice(12, 18) };";

async function change(path: string, from: string | RegExp, to: string): Promise<void> {
  const text = await readFile(path, "utf8");
  const changed = text.replace(from, to);
  if (changed === text) throw new Error(`${path} has no ${from}`);
  await writeFile(path, changed);
}

describe("the semantic checks", () => {
  test("pass for wordle", async () => {
    await using project = await copyWordle();
    expect(await check(project.dir)).toMatchObject({
      failed: [],
      passed: [
        ...["tasks_start", "seed_honoured", "verifier_determinism", "replayability", "isolated", "oracle_max"],
        ...["floor_gap", "trivial_floor", "reward_after_done", "canary_floor", "no_solution_leakage"],
        ...["oracle_containment", "rewards"],
      ],
    });
  });

  test.each<[string, string, string | RegExp, string, string, RegExp]>([
    ["an empty answer pays", "game.ts", "const found =", PAY("move === '[]'"), "trivial_floor", /empty actions earn 1/],
    [
      "the answer in an error text",
      "game.ts",
      "is not an English word.`",
      `is not an English word, and not \${this.secret}.\``,
      "no_solution_leakage",
      /observation.*contains the answer message/,
    ],
    ["a seed that is ignored", "server/environment.ts", "rng.pick(secrets)", "secrets[0]!", "seed_honoured", /seeds 7/],
    [
      "a reward after done",
      "server/environment.ts",
      "if (verdict === undefined) return this.#answer(game, 0,",
      "if (verdict === undefined) return this.#answer(game, 1,",
      "reward_after_done",
      /three steps after done earned [23]/,
    ],
    [
      "a maximum that is out of reach",
      "game.ts",
      "rewards: [1]",
      "rewards: [0.8]",
      "oracle_max",
      /below 1: .* gave 0.8/,
    ],
    [
      "a task that cannot start",
      "tasks.ts",
      "return words[split",
      "if (index === 4) throw new Error('no word'); return words[split",
      "tasks_start",
      /2 of 18: task 4 of split train cannot be started: EXECUTION_ERROR/,
    ],
    [
      "a reward that drifts",
      "server/environment.ts",
      "const reward = game.end?.rewards[0] ?? 0;",
      "const reward = (game.end?.rewards[0] ?? 0) * 0.999 ** (globalThis as any).drift; (globalThis as any).drift = ((globalThis as any).drift ?? 0) + 1;",
      "verifier_determinism",
      /rewards of one episode were/,
    ],
    [
      "an observation with the answer",
      "game.ts",
      "`This is Wordle.",
      `\`This is \${secret}.`,
      "no_solution_leakage",
      /prompt/,
    ],
    [
      "the answer in the Task API",
      "tasks.ts",
      "(_word: string, index: number) => ({",
      `(word: string, index: number) => ({ id: Buffer.from(\`the word is \${word}\`).toString('base64'),`,
      "no_solution_leakage",
      /task\.id contains/,
    ],
    [
      "state that sessions share",
      "server/environment.ts",
      /this\.#game/g,
      "(globalThis as any).shared",
      "isolated",
      /another session changed/,
    ],
    [
      "an infinite reward",
      "server/environment.ts",
      "?.rewards[0] ?? 0;",
      "?.rewards[0] ?? Infinity;",
      "rewards",
      /returned the reward null/,
    ],
    [
      "a reward for doing nothing",
      "server/environment.ts",
      "return this.#answer(game, 0, {});",
      "return this.#answer(game, 1, {});",
      "floor_gap",
      /by only 0/,
    ],
    [
      "a copied answer that pays",
      "game.ts",
      "const found =",
      PAY("move.length > 200"),
      "trivial_floor",
      /copied actions/,
    ],
  ])("report %s", async (_, file, from, to, id, detail) => {
    await using project = await copyWordle(file, from, to);
    const { failed } = await check(project.dir);
    expect(failed).toContainEqual([id, expect.stringMatching(detail)]);
  });
});

function PAY(condition: string): string {
  return `if (${condition}) return { outcome: "over", text: "", reason: "", rewards: [1] };\n const found =`;
}

/** A door whose code begins with this text. */
function beginsWith(text: string): Record<string, string> {
  return {
    "int(100, 120)": `int(100, 120).toString().replace(/^/, "${text}")`,
    "z.int().default(0)": 'z.string().default("")',
  };
}

test.each<[string, string, string, Record<string, string>?]>([
  ["by its length", '"x".repeat(code)', "observation.note has the length of the answer code"],
  ["in base64", `btoa(\`the code is \${code}, says the door\`)`, "observation.note contains the answer code"],
  ["with an apostrophe", '"Say " + code', "observation.note contains the answer code", beginsWith("it's ")],
  [
    "with marks of an expression",
    '"Say " + code',
    "observation.note contains the answer code",
    beginsWith("c++ (a|b] - "),
  ],
])("an observation that leaks the answer %s", async (_, note, detail, changes = {}) => {
  await using project = await createDoor(note, changes);
  const { failed } = await check(project.dir, { leaveOut: ["canary_floor"] });
  expect(failed).toContainEqual(["no_solution_leakage", expect.stringContaining(detail)]);
});

/** All checks but that of leaks. */
const OTHERS = [
  ...["tasks_start", "seed_honoured", "verifier_determinism", "replayability", "isolated", "oracle_max", "floor_gap"],
  ...["trivial_floor", "reward_after_done", "canary_floor", "oracle_containment", "rewards"],
];

/** `play` counts the paid plays of a task. */
test.each<[string, string, boolean, string[]]>([
  ["within the declared variance", "play % 2 === 0 ? 0 : 0.05", false, []],
  ["beyond the declared variance", "play % 2 === 0 ? 0 : 0.25", false, ["by 0.25, more than the declared 0.1"]],
  ["that a model shows in one of ten plays", "play === 10 ? 0.25 : 0", true, ["by 0.25, more than the declared 0.1"]],
])("a reward with noise %s", async (_, noise, isJudged, found) => {
  const counted = `const plays = new Map();
    const noise = (code) => {
      const play = (plays.get(code) ?? 0) + 1;
      plays.set(code, play);
      return ${noise};
    };`;
  await using project = await createDoor('""', {
    'isOpen || pressed.slice(-3).join() === "left,up,right" ? 1 : 0': "isOpen ? 1 - noise(code) : 0",
    "export default": `${counted}\nexport default`,
  });
  const reward = { range: [0, 1], oracle_tolerance: 0.3, floor_margin: 0.1, variance_tolerance: 0.1 };
  const capabilities = { ...VALIDATION.capabilities, llm_judged: isJudged };
  const validation = { ...VALIDATION, reward, capabilities } as typeof VALIDATION;
  const { failed, passed } = await check(project.dir, { validation, leaveOut: ["canary_floor"] });
  expect(failed).toEqual(found.map((detail) => ["verifier_determinism", expect.stringContaining(detail)]));
  const repeating = ["verifier_determinism", "replayability", "isolated"];
  expect(passed).toEqual(expect.arrayContaining(found.length > 0 ? [] : repeating));
});

test("a default of the schema that is the answer", async () => {
  await using project = await createDoor('""', {
    ...{ '"up", "down"': '"open", "down"', '"right", "open"': '"right", "up"' },
    ...{ "int(100, 120)": "int(7, 7)", ".default(0)": ".default(7)" },
  });
  const { failed } = await check(project.dir, { leaveOut: OTHERS });
  const detail = 'the defaults and examples of the schema are the answer: {"press":"open"} earns 1';
  expect(failed).toEqual([["no_solution_leakage", detail]]);
});

describe("the reward of one task of five", () => {
  const trick = 'code === 116 && action.press === "up"';
  /** The door of seed 9 is worth less than the others. */
  const cheap = `isOpen ? (code === 116 ? 0.5 : 1) : ${trick} ? 0.5 : 0`;
  const PAID = 'isOpen || pressed.slice(-3).join() === "left,up,right" ? 1 : 0';
  test.each<[string, string, string, string, RegExp]>([
    [
      "doing nothing",
      "pressed: 0 } };",
      "pressed: 0 }, reward: code === 116 ? 1 : 0 };",
      "floor_gap",
      /seed 9 .*only 0/,
    ],
    ["the same action", PAID, `isOpen || (${trick}) ? 1 : 0`, "trivial_floor", /repeated actions earn 1 with seed 9/],
    ["a canary", PAID, cheap, "canary_floor", /line 1 earns 0.5/],
  ])("is not for %s", async (_, from, to, id, detail) => {
    await using project = await createDoor('""', { [from]: to });
    const action = { press: "up" };
    saveCanary(join(project.dir, "validation/canaries.jsonl"), {
      ...{ case: { name: "", task: {}, reset: { seed: 9 } }, reset: { data: {} }, refused: [], state: {} },
      ...{ steps: [{ request: action, data: { reward: 0.5, done: true } }], total: 0.5, done: true },
    } as unknown as StudiedEpisode);
    const { failed } = await check(project.dir, { leaveOut: OTHERS.filter((name) => name !== id) });
    expect(failed).toEqual([[id, expect.stringMatching(detail)]]);
  });

  test.each<[string, Record<string, string>]>([
    ["is the answer of the oracle", { "export const solved": "const solved" }],
    [
      "solves it, as the module of the oracle says",
      { '{ press: "open", code: ': '{ ...{ code: 0, press: "open" }, code: ' },
    ],
  ])("may be for an action that %s", async (_, more) => {
    await using project = await createDoor('""', {
      ...{ '"up", "down"': '"open", "down"', '"right", "open"': '"right", "up"', ".default(0)": "" },
      ...{ "int(100, 120)": "int(1, 5)", "isOver ||= reward > 0": "isOver = true", ...more },
    });
    const { failed, passed } = await check(project.dir, {
      leaveOut: OTHERS.filter((name) => name !== "trivial_floor"),
    });
    expect(failed).toEqual([]);
    expect(passed).toContain("trivial_floor");
  });
});

describe("what tells the answer before the agent acts", () => {
  test.each(["support", "incident", "sql", "wordle"])("is nowhere in %s", async (name) => {
    await using project = await copy(name);
    const { failed, passed } = await check(project.dir, { leaveOut: OTHERS });
    expect({ failed, passed }).toEqual({ failed: [], passed: ["no_solution_leakage"] });
  });

  test.each([
    ["the article of the decision", "expected.decisions[0]?.article_id", /"KB-\d+"/],
    ["the article in one kind of task", 'task?.kind === "return" && expected.decisions[0]?.article_id', /"KB-\d+"/],
    ["the PIN of the customer", "person.pin", /"\d{4}"/],
  ])("is found: %s", async (_, leaked, detail) => {
    await using project = await copy("support");
    const from = "email: person.email,";
    await change(join(project.dir, "server/environment.ts"), from, `email: \`\${person.email} \${${leaked}}\`,`);
    const { failed } = await check(project.dir, { leaveOut: OTHERS });
    expect(failed).toEqual([["no_solution_leakage", expect.stringMatching(detail)]]);
    expect(failed[0]?.[1]).toMatch(/^observation.email contains the answer arguments\.(article_id|pin) = /);
  });

  test.each([
    [
      "what an action needs that only looks something up",
      "validation/oracle.ts",
      'call("message_customer", { text: "Hello!',
      'call("find_customer", { email: person.email }),\n    call("message_customer", { text: "Hello!',
    ],
    [
      "the name of a tool",
      "server/environment.ts",
      "email: person.email,",
      'email: task?.kind === "return" ? "refund_order" : "",',
    ],
  ])("is not %s", async (_, file, from, to) => {
    await using project = await copy("support");
    await change(join(project.dir, file), from, to);
    const { failed, passed } = await check(project.dir, { leaveOut: OTHERS });
    expect({ failed, passed }).toEqual({ failed: [], passed: ["no_solution_leakage"] });
  });

  test("is not a list of all choices", async () => {
    const changes = { "int(100, 120)": 'pick(["7", "8", "9"])', "z.int().default(0)": 'z.string().default("")' };
    await using project = await createDoor('"Codes are 7, 8 and 9."', changes);
    const { failed, passed } = await check(project.dir, { leaveOut: OTHERS });
    expect({ failed, passed }).toEqual({ failed: [], passed: ["no_solution_leakage"] });
  });

  test("is unknown if the oracle does the same in all tasks", async () => {
    await using project = await createDoor('"x"', { "int(100, 120)": "int(100, 100)" });
    const { failed, passed, skipped } = await check(project.dir, { leaveOut: OTHERS });
    expect({ failed, passed }).toEqual({ failed: [], passed: [] });
    expect(skipped).toContainEqual(["no_solution_leakage", expect.stringMatching(/acts the same in all tasks/)]);
  });
});

test.each([
  [
    "with the answer of one task",
    'if (code.endsWith("9")) log(code);',
    "",
    [/^logs contains the answer code = "code 109" of/],
  ],
  ["that repeats all actions", "", "log(JSON.stringify(action));", []],
])("a log %s", async (_, atReset, atStep, expected) => {
  await using file = await createProject({ "server.log": "" });
  const path = join(file.dir, "server.log");
  await using project = await createDoor('"x"', {
    ...beginsWith("code "),
    "export default": `import { appendFileSync } from "node:fs";
      const log = (text) => appendFileSync(${JSON.stringify(path)}, text + "\\n");
      export default`,
    'return { observation: { note: "x", pressed: 0 } }': `${atReset} return { observation: { note: "x", pressed: 0 } }`,
    "if (isOver)": `${atStep} if (isOver)`,
  });
  const { failed, passed } = await check(project.dir, { logs: () => readFile(path, "utf8"), leaveOut: OTHERS });
  expect(failed).toEqual(expected.map((detail) => ["no_solution_leakage", expect.stringMatching(detail)]));
  expect(passed).toEqual(expected.length > 0 ? [] : ["no_solution_leakage"]);
});

test.each([
  ["is refused by the server", "{ seeded: true }", '{ seeded: true, stepAfterDone: "error" }'],
  ["throws in the environment", "if (isOver) return answer(0);", 'if (isOver) throw new Error("It is over.");'],
])("a step after the end that %s is no fault", async (_, from, to) => {
  await using project = await createDoor('""', { [from]: to });
  const { failed, passed } = await check(project.dir, { leaveOut: ["canary_floor"] });
  expect(failed).toEqual([]);
  expect(passed).toEqual(expect.arrayContaining(["reward_after_done", "rewards"]));
});

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

test.each([
  ["that does not reach the declared success", {}],
  ["that does not reach the success of an async function", { "solved = (": "solved = async (" }],
  ["that is rewarded on every task, where success is not declared", { "export const solved": "const solved" }],
])("the adversary finds an exploit of three actions %s", async (_, changes) => {
  await using project = await createDoor('""', changes);
  const found: StudiedEpisode[] = [];
  const search = { seconds: 60, seed: 1, onFound: (episode: StudiedEpisode) => found.push(episode) };
  const { failed } = await check(project.dir, { search, leaveOut: ["canary_floor"] });
  expect(failed).toEqual([
    ["adversary", expect.stringMatching(/the reward 1 was found after \d+ episodes, .*"left".*"up".*"right"/)],
  ]);
  expect(found.map(actionsOf)).toMatchObject([[{ press: "left" }, { press: "up" }, { press: "right" }]]);
  // What was found is a canary from now on.
  const file = join(project.dir, "validation/canaries.jsonl");
  for (const episode of found) saveCanary(file, episode);
  expect((await check(project.dir)).failed).toContainEqual(["canary_floor", expect.stringMatching(/line 1 earns 1/)]);
});

describe("an oracle of many steps", () => {
  const COUNT = `
    import { defineContract, defineEnvironment } from "openenv-ts";
    import * as z from "zod";
    const counter = defineContract({
      name: "count_env",
      action: z.object({}),
      observation: z.object({ count: z.int() }),
    });
    export default defineEnvironment(counter, () => {
      let count = 0;
      return {
        reset: () => ({ observation: { count: (count = 0) } }),
        step: () => ({ observation: { count: ++count }, reward: count === LENGTH ? 1 : 0, done: count === LENGTH }),
      };
    });`;
  const create = (length: string) =>
    createProject({
      "server/environment.ts": COUNT.replaceAll("LENGTH", length),
      "validation/oracle.ts": "export const oracle = () => ({});",
    });

  test("is played to its end", async () => {
    await using project = await create("70");
    const { failed, passed } = await check(project.dir, { leaveOut: ["canary_floor"] });
    expect(failed).toEqual([]);
    expect(passed).toEqual(expect.arrayContaining(["verifier_determinism", "replayability", "oracle_max"]));
  });

  test("that does not end is an error of the oracle", async () => {
    await using project = await create("Infinity");
    const { failed } = await check(project.dir, { leaveOut: ["canary_floor"] });
    expect(failed).toEqual([["oracle_max", "the oracle did not end seed 7 within 1000 steps"]]);
  });
});

test.each<[string, string, { index?: number; path?: string }]>([
  ["tasks are started", "oracle_containment", { index: 3 }],
  ["actions that ask for files are played", "tasks_start", { path: "oracle.js" }],
])("an interrupt while %s ends the validation", async (_, other, place) => {
  const interrupt = new AbortController();
  const requests: boolean[] = [];
  const visit = (isPlace: boolean): void => {
    requests.push(interrupt.signal.aborted);
    if (isPlace) interrupt.abort(new Error("interrupted"));
  };
  const contract = defineContract({
    name: "stop_env",
    action: z.object({ path: z.string() }),
    observation: z.object({}),
  });
  const environment = defineEnvironment(
    contract,
    () => ({
      reset: ({ index }) => {
        visit(index !== undefined && index === place.index);
        return { observation: {} };
      },
      step: ({ path }) => {
        visit(path === place.path);
        return { observation: {}, reward: 0 };
      },
    }),
    { tasks: createTasks({ train: Array.from({ length: 9 }, (__, nth) => ({ name: `task ${nth}` })) }) },
  );
  const server = await servers.start({}, { environment });
  await using project = await createProject({ "oracle.js": "export const oracle = () => undefined;" });
  const capabilities = { oracle: { form: "script", location: "oracle.js" } };
  const options = { schemas: contract.schemas(), dir: project.dir, validation: { capabilities } as never };
  const checking = { signal: interrupt.signal, leaveOut: [other] };
  const checks = checkSemantics(server.url, checking, { ...options, isRequested: true, made: [] });
  await expect(checks).rejects.toThrow("interrupted");
  expect(requests).toContain(false);
  expect(requests).not.toContain(true);
});
