import * as z from "zod";
import type { StepContext } from "../../packages/openenv/src/environment/environment.js";
import {
  defineContract,
  defineEnvironment,
  defineTools,
  type EnvironmentDefinition,
} from "../../packages/openenv/src/index.js";

export const gatedContract = defineContract({
  name: "gated_env",
  action: z.object({ add: z.int(), waits: z.boolean().default(false) }),
  observation: z.object({ count: z.int() }),
  state: z.object({}),
  reset: z.object({ waits: z.boolean().default(false) }),
  tools: defineTools({ wait: { description: "Waits for the gate." } }),
});

/** An environment whose code waits, where it is asked to, until the test opens the gate. It ignores its signal. */
export function defineGated(tier: "snapshot" | "replay" | "none" = "none") {
  const waiting: (() => void)[] = [];
  const log = { begun: 0, ended: 0, aborted: 0 };
  const wait = async ({ signal }: Pick<StepContext, "signal">): Promise<void> => {
    log.begun++;
    signal.addEventListener("abort", () => log.aborted++);
    await new Promise<void>((resolve) => void waiting.push(resolve));
    log.ended++;
  };
  const create = () => {
    let count = 0;
    return {
      reset: async (request: { waits: boolean; signal: AbortSignal }) => {
        if (request.waits) await wait(request);
        return { observation: { count: (count = 0) } };
      },
      step: async ({ add, waits }: { add: number; waits: boolean }, context: StepContext) => {
        if (waits) await wait(context);
        return { observation: { count: (count += add) } };
      },
      tools: {
        wait: async (_input: object, context: StepContext) => {
          await wait(context);
          return (count += 100);
        },
      },
      state: () => ({}),
      ...(tier === "snapshot" && {
        snapshot: () => ({ count }),
        restore: (saved: { count: number }) => void ({ count } = saved),
      }),
    };
  };
  const environment = defineEnvironment(gatedContract, create as never, {
    seeded: tier === "replay",
  }) as EnvironmentDefinition<typeof gatedContract>;
  /** Lets all code that waits run to its end. */
  const open = (): void => {
    for (const resolve of waiting.splice(0)) resolve();
  };
  return { environment, log, open };
}
