import { defineContract, defineEnvironment } from "openenv-ts";
import * as z from "zod";
import { createCounter } from "./counter.js";

const count = {
  action: z.object({ amount: z.int() }),
  observation: z.object({ count: z.int() }),
  state: z.looseObject({}),
};

/** Async, and accepts every reset option. Reports the keys of the options. */
export const asyncCounter = defineEnvironment(
  defineContract({ name: "async", ...count, reset: z.looseObject({}) }),
  () => {
    let total = 0;
    const via = "async";
    return {
      async reset({
        seed: _seed,
        episodeId: _id,
        split: _split,
        index: _index,
        timeoutMs: _ms,
        signal: _signal,
        ...kw
      }) {
        total = 0;
        return { observation: { count: total }, metadata: { via, kw } };
      },
      async step({ amount }, { requestId, timeoutMs }) {
        total += amount;
        const kw = requestId === undefined ? {} : { request_id: requestId };
        const timeout_s = timeoutMs === undefined ? null : timeoutMs / 1000;
        return { observation: { count: total }, reward: amount, metadata: { via, kw, timeout_s } };
      },
    };
  },
  { stepBeforeReset: "allow" },
);

/** Ignores all reset options. */
export const noArguments = defineEnvironment(
  defineContract({ name: "noargs", ...count }),
  () => ({ ...createCounter(), reset: () => ({ observation: { count: 0 } }) }),
  { stepBeforeReset: "allow" },
);

/** Fails when the state is read. */
export const failingState = defineEnvironment(
  defineContract({ name: "badstate", ...count }),
  () => ({
    ...createCounter(),
    state(): never {
      throw new Error("no state yet");
    },
  }),
  { stepBeforeReset: "allow" },
);

/** Returns a state with undeclared fields, including the two that the server sets. */
export const freeState = defineEnvironment(
  defineContract({ name: "dictstate", ...count }),
  () => ({ ...createCounter(), state: () => ({ episode_id: "d", step_count: 1, k: [1] }) }),
  { stepBeforeReset: "allow" },
);
