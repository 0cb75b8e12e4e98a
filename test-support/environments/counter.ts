import * as z from "zod";
import type { EnvironmentOptions } from "../../packages/openenv/src/environment/environment.js";
import { defineContract, defineEnvironment } from "../../packages/openenv/src/index.js";

export const counterContract = defineContract({
  name: "counter_env",
  description: "The counter value.",
  action: z.object({ amount: z.int().min(-100).max(100).describe("How much to add") }),
  observation: z.object({ count: z.int().default(0).describe("Current count") }),
  state: z.object({ total: z.int().default(0) }),
  reset: z.object({ start: z.int().default(0) }),
});

/** What the counters of a test did, recorded by the environment. */
export interface CounterLog {
  created: number;
  /** Slow steps that have started: amounts of 50 and 60. */
  begun: number;
  closed: number;
  aborted: number;
}

/**
 * The counter that most tests use. Special amounts: 13 throws, 50 answers after 50 ms, 60 answers when the session ends
 * or the call is cancelled, 70 returns a field that is not in the contract.
 */
export function defineCounter(options: EnvironmentOptions = {}) {
  const log: CounterLog = { created: 0, begun: 0, closed: 0, aborted: 0 };
  const environment = defineEnvironment(
    counterContract,
    () => {
      let count = 0;
      let total = 0;
      log.created++;
      const add = (amount: number) => {
        count += amount;
        total += Math.abs(amount);
        return { observation: { count }, reward: amount, done: count >= 10 };
      };
      return {
        reset: ({ start }) => {
          if (start === -1) throw new Error("start must not be -1");
          count = start;
          return { observation: { count } };
        },
        step: ({ amount }, context) => {
          if (amount === 13) throw new Error("unlucky amount");
          if (amount === 50 || amount === 60) log.begun++;
          if (amount === 50) return new Promise((resolve) => setTimeout(() => resolve(add(amount)), 50));
          if (amount === 60) {
            return new Promise((_, reject) => {
              context.signal.addEventListener("abort", () => {
                log.aborted++;
                reject(context.signal.reason as Error);
              });
            });
          }
          if (amount === 70) return { observation: { count, extra: 1 } as { count: number } };
          return add(amount);
        },
        state: () => ({ total }),
        close: () => {
          log.closed++;
        },
      };
    },
    options,
  );
  return { environment, log };
}
