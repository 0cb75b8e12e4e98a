import { setTimeout as sleep } from "node:timers/promises";
import { type Action, defineContract, defineEnvironment, type StepContext } from "openenv-ts";
import * as z from "zod";

/** Duration of a step with amount 50, longer than the recorded `timeout_s`; the recorded environment took 3 s. */
export const SLOW_MS = Number(process.env["SLOW_MS"] ?? 700);

const parts = {
  action: z.object({ amount: z.int().min(-100).max(100).describe("How much to add") }).meta({
    description: "Add an amount to the counter.",
  }),
  observation: z
    .object({ count: z.int().default(0).describe("Current count") })
    .meta({ description: "The counter value." }),
};

const counterContract = defineContract({
  name: "counter",
  ...parts,
  state: z
    .object({ total: z.int().default(0).describe("Sum of absolute amounts this session") })
    .meta({ description: "Counter state." }),
  reset: z.object({ start: z.int().default(0) }),
});

/** The recorded counter. */
export const counter = defineEnvironment(counterContract, () => createCounter(), { stepBeforeReset: "allow" });

/** A counter that must be reset first, which is the default for environments. */
export const strictCounter = defineEnvironment(counterContract, () => createCounter());

/** A counter that does not declare its state. */
export const counterWithoutState = defineEnvironment(
  defineContract({ name: "counter", ...parts, state: z.looseObject({}), reset: counterContract.reset }),
  () => createCounter(),
  { stepBeforeReset: "allow" },
);

/** A counter whose factory fails. */
export const broken = defineEnvironment(defineContract({ name: "BrokenEnv", ...parts }), () => {
  throw new Error("no environment today");
});

/** The implementation of all counters. A failed step changes nothing. */
export function createCounter() {
  let count = 0;
  let total = 0;
  return {
    reset({ start = 0, seed }: { start?: number; seed?: number | undefined }) {
      if (start === -1) throw new Error("start must not be -1");
      count = start;
      return { observation: { count }, metadata: seed === undefined ? {} : { seed } };
    },
    async step({ amount }: Action<typeof counterContract>, context: StepContext) {
      if (amount === 13) throw new Error("unlucky amount");
      if (amount === 50) await sleep(SLOW_MS);
      count += amount;
      total += Math.abs(amount);
      const metadata: Record<string, unknown> = {};
      if (context.timeoutMs !== undefined) metadata["timeout_s"] = context.timeoutMs / 1000;
      if (Object.keys(context.metadata).length > 0) metadata["echo"] = context.metadata;
      return { observation: { count }, reward: amount, done: count >= 10, metadata };
    },
    state: () => ({ total }),
  };
}
