import * as z from "zod";
import type { EnvironmentOptions } from "../../packages/openenv/src/environment/environment.js";
import { defineContract, defineEnvironment, defineTools, ToolError } from "../../packages/openenv/src/index.js";

const contract = defineContract({
  name: "desk_env",
  description: "A desk with tools.",
  reset: z.object({ tally: z.int().default(0) }),
  observation: z.object({ ready: z.boolean() }),
  tools: defineTools({
    add: { description: "Adds.", input: z.object({ a: z.int(), b: z.int().default(1) }), output: z.int() },
    greet: {
      title: "Greeter",
      description: "Greets.",
      input: z.object({ name: z.string() }),
      output: z.object({ greeting: z.string() }),
    },
    tally: { description: "Counts its calls in this session.", output: z.int() },
    count: { description: "Counts its calls, slowly and one at a time.", output: z.int() },
    fail: { description: "Always fails.", input: z.object({ why: z.string() }), output: z.string() },
    unreachable: { description: "Needs a network that is missing." },
    wrong: { description: "Returns the wrong type.", output: z.int() },
    hang: { description: "Answers when it is aborted.", output: z.string() },
    pause: { description: "Answers after 50 ms.", output: z.string() },
    nest: { description: "Returns too many levels to be sent." },
    late: { description: "Has 20 ms, and waits until it is aborted.", output: z.string(), timeoutMs: 20 },
    tidy: { description: "Has 20 ms, then cleans up.", timeoutMs: 20 },
    practice: { description: "Exists in simulation.", mode: "simulation", output: z.string() },
    serious: { description: "Exists in production.", mode: "production", output: z.string() },
  }),
});

/** Names of the tools in simulation. */
export const DESK_TOOLS = Object.keys(contract.tools).filter((name) => name !== "serious");

/** What the desks of a test did, recorded by the environment. */
export interface DeskLog {
  created: number;
  closed: number;
  /** The number of handlers that wait to be aborted. */
  hanging: number;
  pauses: number;
  /** The reasons of aborted handlers. */
  aborted: string[];
}

/** An environment with tools only; a tally earns 0.5, and the second one ends the episode. */
export function defineDesk(options: EnvironmentOptions = {}) {
  const log: DeskLog = { created: 0, closed: 0, hanging: 0, pauses: 0, aborted: [] };
  const givenUp = (signal: AbortSignal): Promise<unknown> => {
    log.hanging++;
    return new Promise((resolve) => {
      signal.addEventListener("abort", () => {
        log.hanging--;
        log.aborted.push((signal.reason as Error).message);
        resolve(signal.reason);
      });
    });
  };
  const environment = defineEnvironment(
    contract,
    () => {
      let tally = 0;
      let running = 0;
      log.created++;
      return {
        reset: (given) => {
          tally = given.tally;
          return { observation: { ready: true } };
        },
        afterTool: ({ name, error }) =>
          name === "tally"
            ? { reward: 0.5, done: tally >= 2 }
            : error === undefined
              ? {}
              : { metadata: { failed: true } },
        tools: {
          add: ({ a, b }) => a + b,
          greet: ({ name }) => ({ greeting: `Hello, ${name}!` }),
          tally: () => ++tally,
          count: async () => {
            running++;
            await pause(5);
            if (running !== 1) throw new Error("two at once");
            running--;
            return ++tally;
          },
          fail: ({ why }) => {
            throw new Error(why);
          },
          unreachable: () => {
            throw new ToolError("transport_error", "nobody is there");
          },
          wrong: () => "text" as never,
          hang: (_input, { signal }) => givenUp(signal).then(() => "given up"),
          pause: async () => {
            log.pauses++;
            await pause(50);
            return "rested";
          },
          nest: () => {
            let nested: unknown = 1;
            for (let depth = 0; depth < 500; depth++) nested = [nested];
            return nested;
          },
          late: (_input, { signal }) =>
            givenUp(signal).then((reason) => {
              throw reason;
            }),
          tidy: async (_input, { signal }) => {
            running++;
            await givenUp(signal);
            await pause(30);
            running--;
          },
          practice: () => "practised",
          serious: () => "done",
        },
        close: () => {
          log.closed++;
        },
      };
    },
    options,
  );
  return { environment, log };
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
