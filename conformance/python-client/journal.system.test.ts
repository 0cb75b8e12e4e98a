import { readFile, rm, writeFile } from "node:fs/promises";
import { describe, expect, test } from "vitest";
import { createProject, type Project } from "../../test-support/commands/command-line.js";
import { findFreePort } from "../../test-support/free-port.js";
import { OPERATOR_VARIABLES } from "../../test-support/operator.js";
import { requirePython } from "../../test-support/requirement.js";
import { until } from "../../test-support/servers/cluster.js";
import { serveProject } from "../../test-support/servers/killable.js";
import { type Results, runClients } from "./run-clients.js";

const python = await requirePython();
const KINDS = ["typed", "generic-sync", "tools"];

/** A counter that writes each execution with its process to a file. A step of 17 lasts while there is a file `held`. */
const COUNT = `
import { defineContract, defineEnvironment, defineTools } from "openenv-ts";
import { appendFileSync, existsSync } from "node:fs";
import * as z from "zod";
const count = defineContract({
  name: "count_env",
  action: z.object({ amount: z.int() }),
  observation: z.object({ count: z.int() }),
  tools: defineTools({ tally: { description: "Returns the count.", output: z.int() } }),
});
export default defineEnvironment(count, () => {
  let count = 0;
  return {
    reset: () => ({ observation: { count: (count = 0) } }),
    step: async ({ amount }) => {
      appendFileSync("executions", process.pid + " " + amount + "\\n");
      while (amount === 17 && existsSync("held")) await new Promise((resolve) => setTimeout(resolve, 20));
      return { observation: { count: (count += amount) } };
    },
    tools: { tally: () => count },
    snapshot: () => count,
    restore: (saved) => void (count = saved),
  };
});
`;

/** The process and the amount of each execution. */
async function readExecutions({ dir }: Project): Promise<[pid: number, amount: number][]> {
  const text = await readFile(`${dir}/executions`, "utf8").catch(() => "");
  return text.split("\n").flatMap((line) => (line === "" ? [] : [line.split(" ").map(Number) as [number, number]]));
}

/** Plays with all clients, and does what they wish, unless they are to be left alone. */
async function playAll(isDisturbed: boolean): Promise<Results> {
  await using project = await createProject({ "environment.mjs": COUNT });
  const port = await findFreePort();
  const settings = { ...OPERATOR_VARIABLES, WORKERS: "2", JOURNAL: "sessions.db" };
  let server = await serveProject(project, port, settings);
  const again = async (signal: NodeJS.Signals): Promise<void> => {
    await server.signal(signal);
    server = await serveProject(project, port, settings);
  };
  const killWorker = async (): Promise<void> => {
    const [pid = 0] = (await readExecutions(project)).at(-1) ?? [];
    process.kill(pid, "SIGKILL");
  };
  const duringStep = async (before: number, end: () => Promise<void>): Promise<void> => {
    await until(async () => (await readExecutions(project)).length > before);
    await end();
    await rm(`${project.dir}/held`);
  };
  let during = Promise.resolve();
  const act = async (thing: string): Promise<unknown> => {
    await during;
    if (thing === "name the executions") {
      const amounts = (await readExecutions(project)).map(([, amount]) => amount);
      await rm(`${project.dir}/executions`);
      return amounts;
    }
    if (!isDisturbed) return null;
    const { length } = await readExecutions(project);
    if (thing.includes("during the slow step")) await writeFile(`${project.dir}/held`, "");
    if (thing === "kill the worker") await killWorker();
    else if (thing === "kill the server and start it again") await again("SIGKILL");
    else if (thing === "stop the server and start it again") await again("SIGTERM");
    else if (thing === "kill the worker during the slow step") during = duringStep(length, killWorker);
    else during = duringStep(length, () => again("SIGKILL"));
    return null;
  };
  try {
    const urls = Object.fromEntries(
      KINDS.map((kind) => [kind, `http://127.0.0.1:${port}/session/name-of-client-${kind}`]),
    );
    return await runClients({ python: python.path, script: "journal_client.py", urls }, act);
  } finally {
    await during;
    await server[Symbol.asyncDispose]();
  }
}

describe.skipIf(!python.available)("the released Python clients by address, with a journal", () => {
  test("play as if nothing had happened while workers and the whole server end", { timeout: 240_000 }, async () => {
    const [undisturbed, disturbed] = [await playAll(false), await playAll(true)];
    for (const kind of KINDS) {
      const { raised: none, executions: once, ...expected } = undisturbed.get(kind) ?? {};
      expect(expected).toMatchObject({ "step after a stopped server": 44, "step of the second episode": 5 });
      expect([none, once]).toEqual([0, [1, 2, 17, 3, 17, 4, 5]]);
      const { raised, executions, ...seen } = disturbed.get(kind) ?? {};
      expect(seen).toEqual(expected);
      expect(raised).toBeGreaterThanOrEqual(2);
      // A step runs again if its process ended before its answer was stored, and only then.
      expect(executions).toEqual([1, 2, 17, 17, 3, 17, 17, 4, 5]);
    }
  });
});
