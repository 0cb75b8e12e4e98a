import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import {
  callCommand,
  counterModule,
  createProject,
  startCommand,
} from "../../../../test-support/commands/command-line.js";
import { sayText, startChatServer } from "../../../../test-support/other-servers/chat-server.js";
import { parseEpisode } from "../../../openenv/src/protocol/episode.js";

/** Each starts several processes, one after the other. */
vi.setConfig({ testTimeout: 90_000 });

const POLICY = `
import type { Policy } from "openenv-ts";
const policy: Policy = ({ observation, memory, step }) => {
  memory["seen"] = [...((memory["seen"] as unknown[]) ?? []), observation["count"]];
  return { amount: step < 2 ? 2 : 6 };
};
export default policy;
`;

const DESK = `
import { defineContract, defineEnvironment, defineTools } from "openenv-ts";
import * as z from "zod";
const tools = defineTools({
  add: { description: "Adds.", input: z.object({ a: z.int(), b: z.int() }), output: z.int() },
  burn: { description: "Breaks." },
});
export default defineEnvironment(defineContract({ name: "desk_env", tools }), () => ({
  reset: () => ({ observation: {} }),
  tools: {
    add: ({ a, b }) => a + b,
    burn: () => {
      throw new Error("on fire");
    },
  },
}));
`;

const QUIZ = `
import { createTasks, defineContract, defineEnvironment } from "openenv-ts";
import * as z from "zod";
const contract = defineContract({
  name: "quiz_env",
  action: z.object({ n: z.int() }),
  observation: z.object({ n: z.int() }),
});
export default defineEnvironment(
  contract,
  () => ({
    reset: ({ task }) => ({ observation: { n: Number(task?.["n"]) } }),
    step: ({ n }) => ({ observation: { n }, reward: 1, done: true }),
  }),
  { tasks: createTasks({ train: [{ n: 5 }, { n: 6 }], none: [] }) },
);
`;

const read = (file: string) => readFileSync(file, "utf8").trimEnd().split("\n").map(parseEpisode);

async function startServer(module: string, port = "0") {
  const project = await createProject({ "environment.ts": module });
  const running = startCommand(["serve", "--port", port], { cwd: project.dir });
  const [, url = ""] = await running.printed(/at (http:\S+)/);
  return {
    url,
    running,
    async [Symbol.asyncDispose]() {
      await running[Symbol.asyncDispose]();
      await project[Symbol.asyncDispose]();
    },
  };
}

/** A folder with these files to collect in from the server. */
async function createFolder({ url }: { url: string }, files: Record<string, string> = {}) {
  const { dir, [Symbol.asyncDispose]: dispose } = await createProject(files);
  const collect = (...args: string[]) => callCommand(["collect", url, ...args], { cwd: dir });
  return { url, dir, file: join(dir, "episodes.jsonl"), collect, [Symbol.asyncDispose]: dispose };
}

describe("openenv collect", () => {
  let counter: Awaited<ReturnType<typeof startServer>>;
  beforeAll(async () => {
    counter = await startServer(counterModule());
  });
  afterAll(() => counter?.[Symbol.asyncDispose]());

  test("writes whole episodes, a line each, played by the policy of a module", async () => {
    await using folder = await createFolder(counter, { "policy.ts": POLICY });
    const { code, stdout } = await folder.collect("-n", "5", "--policy", "policy.ts", "--seed", "40", "--json");
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ episodes: 5, failed: 0, steps: 15, mean_total_reward: 3 });
    const episodes = read(folder.file).toSorted((a, b) => a.episode - b.episode);
    expect(episodes.map(({ reset }) => reset["seed"])).toEqual([40, 41, 42, 43, 44]);
    for (const { environment, start, steps, end, total_reward } of episodes) {
      expect({ environment, end, total_reward }).toEqual({ environment: "counter_env", end: "done", total_reward: 3 });
      expect(start.observation).toEqual({ count: 0 });
      expect(steps.map(({ action }) => action["amount"])).toEqual([2, 2, 6]);
      expect(steps.map(({ observation, done }) => [observation["count"], done])).toEqual([
        [2, false],
        [4, false],
        [10, true],
      ]);
    }
  });

  test("draws actions that fit the schema, the same for the same seed, and breaks off at the limit of steps", async () => {
    await using still = await startServer(counterModule("0 * amount"));
    await using folder = await createFolder(still);
    for (const output of ["a.jsonl", "b.jsonl"]) {
      expect((await folder.collect("-n", "3", "--max-steps", "4", "-o", output)).code).toBe(0);
    }
    const [a, b] = ["a.jsonl", "b.jsonl"].map((name) =>
      read(join(folder.dir, name))
        .toSorted((one, other) => one.episode - other.episode)
        .map(({ steps, end }) => ({ end, actions: steps.map(({ action }) => action) })),
    );
    expect(a).toEqual(b);
    expect(a?.every(({ end, actions }) => end === "max_steps" && actions.length === 4)).toBe(true);
  });

  test("continues where an earlier run stopped, also in the middle of a line", async () => {
    await using folder = await createFolder(counter, { "policy.ts": POLICY });
    await folder.collect("-n", "4", "--policy", "policy.ts");
    const kept = read(folder.file).map(({ started_at, episode }) => ({ started_at, episode }));
    const lines = readFileSync(folder.file, "utf8").split("\n");
    writeFileSync(folder.file, `${lines.slice(0, 3).join("\n")}\n${lines[3]?.slice(0, 50)}`);
    const { code } = await folder.collect("-n", "6", "--policy", "policy.ts");
    expect(code).toBe(0);
    const after = read(folder.file);
    expect(after.map(({ episode }) => episode).toSorted()).toEqual([0, 1, 2, 3, 4, 5]);
    expect(after.slice(0, 3)).toMatchObject(kept.slice(0, 3));
  });

  test("does not mix collections: rejects other seeds and a file that is not a collection", async () => {
    await using folder = await createFolder(counter, { "policy.ts": POLICY });
    await folder.collect("-n", "1", "--policy", "policy.ts");
    const other = await folder.collect("-n", "2", "--policy", "policy.ts", "--seed", "7");
    expect(other).toMatchObject({ code: 2, stderr: expect.stringMatching(/has episode 0 of .*pass another --output/) });
    writeFileSync(folder.file, "hello\n");
    const broken = await folder.collect("-n", "2");
    expect(broken).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/episodes\.jsonl:1 is not a valid episode: it is not valid JSON/),
    });
    expect(readFileSync(folder.file, "utf8")).toBe("hello\n");
  });

  test("records an episode whose policy failed as lost, continues, and plays it the next time", async () => {
    const fails = `export default ({ episode, step }) => {
      if (!process.env.BROKEN || step === 0) return { amount: 5 };
      process.stderr.write("[" + episode + "]");
      if (episode === 1) throw new Error("the policy broke");
      if (episode === 2) return "5";
    };`;
    await using folder = await createFolder(counter, { "policy.mjs": fails });
    const args = ["collect", folder.url, "-n", "3", "--policy", "policy.mjs", "--parallel", "1", "--json"];
    const first = await callCommand(args, { cwd: folder.dir, env: { BROKEN: "1" } });
    // A policy is not asked again.
    expect(first).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^\[0\].*\[1\].*: the policy broke\n\[2\]/s),
    });
    expect(JSON.parse(first.stdout)).toMatchObject({ episodes: 0, failed: 3, lost: 3, mean_total_reward: null });
    const lost = { end: "lost", total_reward: null, steps: [{ action: { amount: 5 }, reward: 1 }] };
    const returned = (given: string) => `the policy returned ${given}, which is not an action or null`;
    const messages = [returned("undefined"), "the policy broke", returned("'5'")];
    const failure = { kind: "step", after: 1, action: {}, code: "POLICY_FAILED" };
    const records = messages.map((message, episode) => ({ episode, ...lost, failures: [{ ...failure, message }] }));
    expect(read(folder.file)).toMatchObject(records);
    expect((await callCommand(args, { cwd: folder.dir })).code).toBe(0);
    expect(read(folder.file).map(({ episode, end }) => `${episode} ${end}`)).toEqual(
      ["lost", "done"].flatMap((end) => [0, 1, 2].map((episode) => `${episode} ${end}`)),
    );
  });

  test("records what was lost when the server goes away, without a reward, and plays it the next time", async () => {
    const slow = `import { existsSync } from "node:fs";
    export default async ({ episode, step }) => {
      if (episode >= 2 && step === 1) {
        process.stderr.write("waiting\\n");
        while (!existsSync("go")) await new Promise((resolve) => setTimeout(resolve, 20));
      }
      return { amount: 5 };
    };`;
    await using doomed = await startServer(counterModule());
    await using folder = await createFolder(doomed, { "policy.mjs": slow });
    const args = ["collect", folder.url, "-n", "4", "--policy", "policy.mjs", "--parallel", "1", "--retries", "0"];
    await using running = startCommand(args, { cwd: folder.dir });
    await running.printed(/waiting/);
    doomed.running.process.kill("SIGKILL");
    await doomed.running.exited;
    writeFileSync(join(folder.dir, "go"), "");
    expect(await running.exited).toBe(1);
    expect(running.stdout).toMatch(/^2 episodes, 4 steps, mean total reward 2\.000: /m);
    expect(running.stderr).toContain("2 failed, 2 of them recorded as lost");
    const lost = { end: "lost", total_reward: null };
    const [zero, one, ...rest] = read(folder.file);
    expect([zero, one]).toMatchObject([{ end: "done" }, { end: "done" }]);
    expect(rest).toMatchObject([
      { episode: 2, steps: [{ reward: 1 }], failures: [{ kind: "step", after: 1, code: "SESSION_LOST" }], ...lost },
      { episode: 3, steps: [], failures: [{ kind: "reset", after: 0, code: "CONNECTION_FAILED" }], ...lost },
    ]);

    // Trainers get no row of them, and the next run plays them.
    for (const [form, rows] of Object.entries({ "trl-sft": 2, "trl-grpo": 2, verifiers: 2, parquet: 4 })) {
      const made = await callCommand(["export", folder.file, "--to", form, "--json"], { cwd: folder.dir });
      expect(JSON.parse(made.stdout), form).toMatchObject({ episodes: 4, rows });
    }
    await using _again = await startServer(counterModule(), new URL(doomed.url).port);
    const { code, stdout } = await callCommand([...args, "--json"], { cwd: folder.dir });
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ episodes: 4, failed: 0, lost: 0, mean_total_reward: 2 });
    const ends = read(folder.file).map(({ episode, end }) => `${episode} ${end}`);
    expect(ends.join(", ")).toBe("0 done, 1 done, 2 lost, 3 lost, 2 done, 3 done");
  });

  test("records the last attempt of an episode whose step fails, and no other", async () => {
    const breaks = `export default ({ episode, step }) => ({ amount: episode === 1 && step === 1 ? "no" : 5 });`;
    await using folder = await createFolder(counter, { "policy.mjs": breaks });
    const { code, stdout } = await folder.collect("-n", "3", "--policy", "policy.mjs", "--retries", "2", "--json");
    expect(code).toBe(1);
    expect(JSON.parse(stdout)).toMatchObject({ episodes: 2, failed: 1, lost: 1 });
    const [lost, ...more] = read(folder.file).filter(({ episode }) => episode === 1);
    expect(more).toEqual([]);
    expect(lost).toMatchObject({
      steps: [{ action: { amount: 5 } }],
      failures: [{ kind: "step", after: 1, action: { amount: "no" }, code: "VALIDATION_ERROR" }],
      end: "lost",
      total_reward: null,
    });
  });

  test("stops on Ctrl-C with whole episodes, and continues with the rest", async () => {
    const slow = `export default async ({ episode, step }) => {
      if (episode === 2 && step === 0 && process.env.SLOW) {
        const interrupted = new Promise((resolve) => process.once("SIGINT", resolve));
        process.stderr.write("waiting\\n");
        await interrupted;
      }
      return { amount: 5 };
    };`;
    await using folder = await createFolder(counter, { "policy.mjs": slow });
    const args = ["collect", folder.url, "-n", "5", "--policy", "policy.mjs", "--parallel", "1"];
    await using running = startCommand(args, { cwd: folder.dir, env: { SLOW: "1" } });
    await running.printed(/waiting/);
    running.process.kill("SIGINT");
    expect(await running.exited).toBe(130);
    const kept = read(folder.file).map(({ episode }) => episode);
    expect(kept.slice(0, 2)).toEqual([0, 1]);
    expect(kept.length).toBeLessThan(5);
    expect((await callCommand(args, { cwd: folder.dir })).code).toBe(0);
    expect(read(folder.file).map(({ episode }) => episode)).toEqual([0, 1, 2, 3, 4]);
  });

  test("draws calls of the tools that there are, and makes no reward of a tool that breaks", async () => {
    await using desk = await startServer(DESK);
    await using folder = await createFolder(desk);
    const { code } = await folder.collect("-n", "8", "--max-steps", "6");
    expect(code).toBe(0);
    const steps = read(folder.file).flatMap((episode) => episode.steps);
    expect(new Set(steps.map(({ action }) => action["tool_name"]))).toEqual(new Set(["add", "burn"]));
    for (const { action, reward, observation } of steps) {
      const added = action["tool_name"] === "add";
      expect([observation["error"] === null, reward]).toEqual([added, added ? 0 : null]);
    }
  });

  test("plays the tasks of a split in turn, and none of one that is empty", async () => {
    await using quiz = await startServer(QUIZ);
    await using folder = await createFolder(quiz);
    const collect = (split: string) => folder.collect("-n", "5", "--split", split);
    expect(await collect("none")).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('The split "none" has no tasks'),
    });
    expect(await collect("nope")).toMatchObject({
      stderr: expect.stringContaining('available splits: "train", "none"'),
    });
    expect((await collect("train")).code).toBe(0);
    const episodes = read(folder.file).toSorted((a, b) => a.episode - b.episode);
    expect(episodes.map(({ start }) => start.observation["n"])).toEqual([5, 6, 5, 6, 5]);
    expect(episodes.map(({ reset }) => [reset["split"], reset["index"]]).at(-1)).toEqual(["train", 0]);
  });

  test("prints the server's warning about a dropped reset option once", async () => {
    await using folder = await createFolder(counter);
    const { code, stderr } = await folder.collect("-n", "3", "--reset", '{"difficulty":3}');
    expect(code).toBe(0);
    expect(stderr).toMatch(/^warning: reset option "difficulty" is not declared and was dropped \(declared: none\)\n$/);
  });

  test("lets a language model choose, and returns to it what is not valid", async () => {
    const answers = ['I think: {"amount": "much"}', "No idea.", 'Well then:\n```json\n{"amount": 10}\n```'];
    await using model = await startChatServer((response, nth) => sayText(response, answers[nth - 1] ?? null));
    await using folder = await createFolder(counter);
    const args = ["collect", folder.url, "-n", "1", "--endpoint", model.url, "--model", "small"];
    const more = ["--system-prompt", "Prefer large steps.", "--sampling", '{"temperature":0.5,"max_tokens":64}'];
    const env = { OPENAI_API_KEY: "sk-hidden" };
    const { code, stdout, stderr } = await callCommand([...args, ...more], { cwd: folder.dir, env });
    expect([code, stderr]).toEqual([0, ""]);
    expect(read(folder.file)[0]?.steps).toMatchObject([{ action: { amount: 10 }, text: "Well then:" }]);
    expect(JSON.parse(readFileSync(folder.file, "utf8")).messages[1]).toMatchObject({ content: "Well then:" });
    const bodies = model.requests.map(({ body }) => body);
    expect(model.requests.map(({ headers }) => headers.authorization)).toEqual(Array(3).fill("Bearer sk-hidden"));
    expect(bodies[0]).toMatchObject({ model: "small", temperature: 0.5, max_tokens: 64 });
    expect(bodies[0]?.messages[0]?.content).toMatch(
      /^Prefer large steps\.\n\nThe environment: counter_env environment\n\n.*"amount"/s,
    );
    expect(bodies[1]?.messages.at(-1)?.content).toMatch(/is not valid: amount/);
    expect(bodies[2]?.messages.at(-1)?.content).toMatch(/no JSON object/);
    expect(stdout + readFileSync(folder.file, "utf8")).not.toContain("hidden");
  });

  test("plays groups with equal starts and different actions, which a later run continues", async () => {
    await using still = await startServer(counterModule("0 * amount"));
    await using folder = await createFolder(still);
    const args = ["--group-size", "3", "--max-steps", "4"];
    expect((await folder.collect("-n", "4", ...args)).code).toBe(0);
    expect((await folder.collect("-n", "6", ...args)).code).toBe(0);
    const episodes = read(folder.file).toSorted((a, b) => a.episode - b.episode);
    expect(episodes.map(({ reset }) => reset["seed"])).toEqual([0, 0, 0, 1, 1, 1]);
    expect(new Set(episodes.map(({ steps }) => JSON.stringify(steps.map(({ action }) => action)))).size).toBe(6);
  });

  test("writes the chat of each episode, with the tools that a model may call", async () => {
    await using desk = await startServer(DESK);
    await using folder = await createFolder(desk);
    expect((await folder.collect("-n", "1", "--max-steps", "3")).code).toBe(0);
    const line = JSON.parse(readFileSync(folder.file, "utf8"));
    expect(line.messages[0]).toEqual({ role: "user", content: "desk_env environment\n\n{}" });
    const turns = line.messages.slice(1);
    expect(turns.map(({ role }: { role: string }) => role)).toEqual([
      "assistant",
      "tool",
      "assistant",
      "tool",
      "assistant",
      "tool",
    ]);
    const [tools] = [JSON.parse(line.tools)];
    expect(tools.map((tool: { function: { name: string } }) => tool.function.name)).toEqual(["add", "burn"]);
    expect(line).toMatchObject({ outcome: "truncated", num_steps: 3, group_id: 'desk_env {"seed":0}' });
  });

  test.each([
    [["--endpoint", "http://127.0.0.1:9/v1"], /name of a model/],
    [["--model", "small"], /--model requires --endpoint/],
    [["--system-prompt", "Be brief."], /--system-prompt requires --endpoint/],
    [["-n", "0"], /Must be an integer of at least 1/],
    [["--policy", "missing.ts"], /missing\.ts/],
    [["--reset", "[1]"], /Must be a JSON object/],
    [["--split", "train"], /^error: counter_env has no tasks; omit --split\.\n$/],
    [["-o", "none/x.jsonl"], /No such folder: none\. Create it/],
  ])("says what is wrong with %j", async (args, message) => {
    await using folder = await createFolder(counter);
    expect(await folder.collect(...args)).toMatchObject({ code: 2, stderr: expect.stringMatching(message) });
  });
});
