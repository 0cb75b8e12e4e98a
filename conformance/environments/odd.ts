import { defineContract, defineEnvironment } from "openenv-ts";
import * as z from "zod";
import { createCounter } from "./counter.js";

const count = {
  action: z.object({ amount: z.int() }),
  observation: z.object({ count: z.int() }),
  state: z.looseObject({}),
};

/** Async, and open for every reset option. It reports the keys it got. */
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

/** Its reset looks at nothing. */
export const noArguments = defineEnvironment(
  defineContract({ name: "noargs", ...count }),
  () => ({ ...createCounter(), reset: () => ({ observation: { count: 0 } }) }),
  { stepBeforeReset: "allow" },
);

/** Cannot tell its state. */
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

/** Tells a state with members nobody declared, among them the two that belong to the server. */
export const freeState = defineEnvironment(
  defineContract({ name: "dictstate", ...count }),
  () => ({ ...createCounter(), state: () => ({ episode_id: "d", step_count: 1, k: [1] }) }),
  { stepBeforeReset: "allow" },
);
