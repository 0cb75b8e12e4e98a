import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Command } from "commander";
import { afterAll, beforeAll, expect, test } from "vitest";
import {
  callCommand,
  createProject,
  type Project,
  startCommand,
} from "../../../../test-support/commands/command-line.js";
import { configureBench } from "./bench.js";

test("the defaults of a sweep are those of the published study", () => {
  const command = new Command();
  configureBench(command);
  const defaults = { requestsGrid: [32, 128, 512, 2048, 4096, 8192, 16384], waitGrid: [1, 5, 10], reps: 3, mode: "ws" };
  expect(command.opts()).toMatchObject(defaults);
});

/** A session keeps 8 MB. An episode has three steps, and a fourth one fails. */
const ENVIRONMENT = `
import { defineContract, defineEnvironment } from "openenv-ts";
import * as z from "zod";
const contract = defineContract({
  name: "episodes_env",
  action: z.object({ amount: z.int() }),
  observation: z.object({ count: z.int() }),
});
export default defineEnvironment(contract, () => {
  const kept = Array.from({ length: 8 }, () => new Array(131_072).fill(0.5));
  let count = 0;
  return {
    reset: () => ({ observation: { count: (count = 0) } }),
    step: ({ amount }) => {
      if (count >= 3) throw new Error("the episode has ended, and " + kept.length + " MB are kept");
      return { observation: { count: (count += amount) }, done: count >= 3 };
    },
  };
});
`;

let project: Project;
beforeAll(async () => {
  project = await createProject({ "environment.mjs": ENVIRONMENT });
});
afterAll(() => project[Symbol.asyncDispose]());

const bench = (...args: string[]) => callCommand(["bench", ...args], { cwd: project.dir });

test("--sessions steps like a trainer, and says how large a worker can be", { timeout: 120_000 }, async () => {
  const command = ["serve", "environment.mjs", "--port", "0", "--log-level", "silent"];
  await using server = startCommand(command, { cwd: project.dir });
  const [, url = ""] = await server.printed(/at (http:\S+)/);
  const load = ["--sessions", "8", "--think", "0.2", "--for", "2", "--action", '{"amount":1}'];
  const { code, stdout, stderr } = await bench(url, ...load, "--output-dir", "sized");
  expect({ code, stderr }).toMatchObject({ code: 0 });
  expect(stdout).toContain("| 8, think 200 ms |");
  const [head = "", line = ""] = readFileSync(join(project.dir, "sized/throughput.csv"), "utf8").split("\n");
  const values = line.split(",").slice(-head.split(",").length);
  const cell = (name: string): number => Number(values[head.split(",").indexOf(name)]);
  expect([cell("connections"), cell("think_seconds")]).toEqual([8, 0.2]);
  expect(cell("steps")).toBeGreaterThanOrEqual(1);
  // The shortest pause is half of the average one.
  expect(cell("steps")).toBeLessThanOrEqual(8 * (2 / 0.1 + 1));
  if (process.platform !== "linux") return;
  expect(cell("bytes_per_session")).toBeGreaterThan(4_000_000);
  expect(stdout).toMatch(/A session takes at most [\d.]+ MB of memory and [\d.e-]+ % of a core\./);
  expect(stdout).toMatch(/For one worker: MAX_CONCURRENT_ENVS=\d+/);
});

test("--sessions says which options it excludes and which need it", { timeout: 60_000 }, async () => {
  const url = "http://127.0.0.1:9";
  const cases: [string[], RegExp][] = [
    [["--think", "1"], /--think and --for need --sessions/],
    [["--sessions", "8", "--throughput"], /omit one of them/],
    [["--sessions", "8", "--mode", "http"], /--sessions always measures over WebSocket/],
    [["--sessions", "8", "--cold", "exit 0"], /omit --throughput and --sessions/],
  ];
  for (const [args, message] of cases) {
    const { code, stderr } = await bench(url, ...args);
    expect([code, stderr]).toEqual([2, expect.stringMatching(message)]);
  }
});
