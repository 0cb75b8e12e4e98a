import * as z from "zod";
import { defineContract, defineEnvironment, defineTools, type EnvironmentOptions, ToolError } from "../src/index.js";

const tools = defineTools({
  add: { description: "Adds.", input: z.object({ a: z.int(), b: z.int().default(1) }), output: z.int() },
  bump: { description: "Counts its calls.", output: z.int() },
  late: { description: "Counts its calls, in its time.", output: z.int() },
  fail: { description: "Fails.", input: z.object({ secret: z.string() }) },
  unreachable: { description: "Needs a network that is not there." },
  wrong: { description: "Does not keep its promise.", output: z.int() },
  wait: { description: "Waits until it is told to stop.", timeoutMs: 40 },
  tidy: { description: "Tidies up when it is told to stop.", timeoutMs: 20 },
  forever: { description: "Never comes back." },
  practice: { description: "Is there in simulation.", mode: "simulation", output: z.string() },
  serious: { description: "Is there in production.", mode: "production", output: z.string() },
});

export const toolboxContract = defineContract({ name: "toolbox_env", tools });

/** What the toolboxes of a test did, seen from inside. */
export interface ToolboxLog {
  created: number;
  waiting: number;
  aborted: string[];
}

/** An environment with tools and nothing else; a call of bump earns 1, the third ends the episode. */
export function defineToolbox(options: EnvironmentOptions<typeof toolboxContract> = {}) {
  const log: ToolboxLog = { created: 0, waiting: 0, aborted: [] };
  const environment = defineEnvironment(
    toolboxContract,
    () => {
      log.created++;
      let calls = 0;
      let running = 0;
      return {
        reset: () => {
          calls = 0;
          return { observation: {}, metadata: { ready: true } };
        },
        afterTool: ({ name, result }) => (name === "bump" ? { reward: 1, done: result === 3 } : {}),
        tools: {
          add: ({ a, b }) => a + b,
          bump: () => ++calls,
          late: async () => {
            running++;
            await new Promise((resolve) => setTimeout(resolve, 5));
            if (running !== 1) throw new Error("two at once");
            running--;
            return ++calls;
          },
          fail: ({ secret }) => {
            throw new Error(`no luck with ${secret}`);
          },
          unreachable: () => {
            throw new ToolError("transport_error", "nobody is there");
          },
          wrong: () => "text" as never,
          wait: (_input, { signal }) =>
            new Promise((_resolve, reject) => {
              log.waiting++;
              signal.addEventListener("abort", () => {
                log.aborted.push((signal.reason as Error).message);
                reject(signal.reason);
              });
            }),
          tidy: async (_input, { signal }) => {
            running++;
            await new Promise((resolve) => signal.addEventListener("abort", resolve));
            await new Promise((resolve) => setTimeout(resolve, 30));
            running--;
          },
          forever: () => new Promise(() => {}),
          practice: () => "practised",
          serious: () => "done",
        },
      };
    },
    options,
  );
  return { environment, log };
}
