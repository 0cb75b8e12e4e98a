import * as z from "zod";
import { defineContract, defineEnvironment, defineTools, type EnvironmentOptions } from "../src/index.js";

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
    fail: { description: "Always fails.", input: z.object({ why: z.string() }), output: z.string() },
    hang: { description: "Answers when it is given up.", output: z.string() },
    pause: { description: "Answers after 50 ms.", output: z.string() },
    nest: { description: "Answers deeper than can be sent." },
    late: { description: "Has 20 ms, and needs longer.", output: z.string(), timeoutMs: 20 },
  }),
});

/** What the desks of a test did, seen from inside. */
export interface DeskLog {
  created: number;
  closed: number;
  hanging: number;
  pauses: number;
  aborted: number;
}

/** An environment with tools only; its second tally ends the episode. */
export function defineDesk(options: EnvironmentOptions<typeof contract> = {}) {
  const log: DeskLog = { created: 0, closed: 0, hanging: 0, pauses: 0, aborted: 0 };
  const environment = defineEnvironment(
    contract,
    () => {
      let tally = 0;
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
          fail: ({ why }) => {
            throw new Error(why);
          },
          hang: (_input, { signal }) => {
            log.hanging++;
            return new Promise((resolve) => {
              signal.addEventListener("abort", () => {
                log.hanging--;
                log.aborted++;
                resolve("given up");
              });
            });
          },
          pause: () => {
            log.pauses++;
            return new Promise((resolve) => setTimeout(() => resolve("rested"), 50));
          },
          nest: () => {
            let nested: unknown = 1;
            for (let depth = 0; depth < 500; depth++) nested = [nested];
            return nested;
          },
          late: () => new Promise((resolve) => setTimeout(() => resolve("too late"), 200)),
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
