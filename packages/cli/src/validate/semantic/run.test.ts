import { join } from "node:path";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import { createProject } from "../../../../../test-support/commands/command-line.js";
import { change, copyEnvironment, useSemanticChecks } from "../../../../../test-support/commands/semantic-checks.js";
import { createDoor } from "../../../../../test-support/environments/door-package.js";
import { useServers } from "../../../../../test-support/servers/servers.js";
import { defineContract } from "../../../../openenv/src/contract/contract.js";
import { defineEnvironment } from "../../../../openenv/src/environment/define-environment.js";
import { createTasks } from "../../../../openenv/src/environment/tasks/task-lists.js";
import { saveCanary } from "./canaries.js";
import { checkSemantics } from "./run.js";
import { actionsOf, type StudiedEpisode } from "./world.js";

const servers = useServers();
const check = useSemanticChecks();

/** A copy of wordle with few tasks and a fault. */
async function copyWordle(file?: string, from: string | RegExp = "", to = "") {
  const project = await copyEnvironment("wordle");
  await change(join(project.dir, "tasks.ts"), /const words = \{[^}]*\};/, FEW);
  if (file !== undefined) await change(join(project.dir, file), from, to);
  return project;
}

const FEW = "const words = { train: secrets.slice(0, 12), test: secrets.slice(12, 18) };";

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
