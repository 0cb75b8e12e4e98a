import { describe, expect, test } from "vitest";
import * as z from "zod";
import { defineCounter } from "../../../../test-support/environments/counter.js";
import { defineContract, defineEnvironment, rng } from "../index.js";
import { checkEnvironment } from "./check-environment.js";

const contract = defineContract({
  name: "dice_env",
  action: z.object({ sides: z.int().min(2).max(20) }),
  observation: z.object({ rolled: z.int().min(0) }),
});

/** A die that keeps its promises, unless `break` says which one it does not. */
function defineDice(broken: "nothing" | "seed" | "isolation" | "reset" | "schema" | "reward" | "factory" = "nothing") {
  let shared = 0;
  return defineEnvironment(
    contract,
    () => {
      if (broken === "factory") throw new Error("no dice today");
      let random = rng(0);
      let rolls = 0;
      return {
        reset: ({ seed }) => {
          random = rng(broken === "seed" ? undefined : seed);
          if (broken !== "reset") rolls = 0;
          return { observation: { rolled: rolls } };
        },
        step: ({ sides }) => {
          rolls++;
          shared++;
          const rolled = broken === "schema" ? -1 : random.int(1, sides) + (broken === "isolation" ? shared : 0);
          return { observation: { rolled }, ...(broken === "reward" ? {} : { reward: rolled }) };
        },
      };
    },
    { seeded: true },
  );
}

async function failures(environment: Parameters<typeof checkEnvironment>[0]): Promise<Record<string, string>> {
  const { checks } = await checkEnvironment(environment);
  return Object.fromEntries(
    checks.flatMap(({ id, status, detail }) => (status === "failed" ? [[id, detail ?? ""]] : [])),
  );
}

describe("checkEnvironment", () => {
  test("passes an environment that keeps its promises", async () => {
    const report = await checkEnvironment(defineDice());
    expect(report).toMatchObject({ target: "dice_env", passed: true });
    const statuses = report.checks.map(({ id, status }) => (id === "tools_answer" ? "none" : status));
    expect(statuses.filter((status) => status !== "none")).toEqual(Array(7).fill("passed"));
  });

  test("names the field that differs when the seed is not honoured", async () => {
    const found = await failures(defineDice("seed"));
    expect(found["seed_honoured"]).toMatch(/differ first in \d+\.(observation\.rolled|reward): \d+ and \d+/);
  });

  test("finds state that sessions share, when it shows in an episode", async () => {
    expect(await failures(defineDice("isolation"))).toHaveProperty("seed_honoured");
  });

  test("finds a reset that does not reset", async () => {
    expect((await failures(defineDice("reset")))["reset_resets"]).toMatch(/differs in rolled: 0 and \d+/);
  });

  test("finds observations that the contract forbids, and steps without a reward", async () => {
    expect((await failures(defineDice("schema")))["schemas_hold"]).toMatch(/rolled/);
    expect((await failures(defineDice("reward")))["answers"]).toMatch(/reward null/);
  });

  test("finds a close that fails, and says when it did", async () => {
    const define = (close: (steps: number) => void) =>
      defineEnvironment(contract, () => {
        let steps = 0;
        return {
          reset: () => ({ observation: { rolled: 0 } }),
          step: async () => {
            steps++;
            await new Promise((resolve) => setTimeout(resolve, 20));
            return { observation: { rolled: 1 }, reward: 1 };
          },
          close: async () => close(steps),
        };
      });
    const unstarted = define((steps) => {
      if (steps === 0) throw new Error("nothing to end");
    });
    expect((await failures(unstarted))["close_works"]).toMatch(/before any reset threw Error: nothing to end/);
    const interrupted = define((steps) => {
      if (steps === 1) throw new Error("one step only");
    });
    expect((await failures(interrupted))["close_works"]).toMatch(/during a step threw Error: one step only/);
    expect(await failures(define(() => {}))).toEqual({});
  });

  test("reports a factory that fails in every check instead of throwing", async () => {
    expect((await failures(defineDice("factory")))["answers"]).toMatch(/no dice today/);
  });

  test("leaves the seed alone where it is not declared, and takes actions of the caller", async () => {
    const { environment } = defineCounter();
    const report = await checkEnvironment(environment, { actions: [{ amount: 1 }, { amount: 2 }] });
    expect(report.passed).toBe(true);
    expect(report.checks.find(({ id }) => id === "seed_honoured")?.status).toBe("skipped");
  });

  test("takes for shown what the seed decides only where the actions show it", async () => {
    const guesses = defineContract({
      name: "guess_env",
      action: z.object({ number: z.int().min(1).max(100) }),
      observation: z.object({ right: z.boolean() }),
    });
    const define = (honest: boolean) =>
      defineEnvironment(
        guesses,
        () => {
          let hidden = 0;
          return {
            reset: ({ seed }) => {
              hidden = rng(honest ? seed : undefined).int(2, 100);
              return { observation: { right: false } };
            },
            step: ({ number }) => ({ observation: { right: number === hidden }, reward: 0 }),
          };
        },
        { seeded: true },
      );
    const check = async (honest: boolean, number: number) => {
      const { passed, checks } = await checkEnvironment(define(honest), { actions: [{ number }] });
      return { passed, seed: checks.find(({ id }) => id === "seed_honoured") };
    };
    const unshown = {
      status: "skipped",
      detail: expect.stringMatching(/do not show what the seed decides.*`actions`/),
    };
    expect(await check(true, 1)).toMatchObject({ passed: true, seed: unshown });
    expect(await check(false, 1)).toMatchObject({ passed: true, seed: unshown });
    expect(await check(true, rng(7).int(2, 100))).toMatchObject({ passed: true, seed: { status: "passed" } });
  });
});
