import { describe, expect, test } from "vitest";
import * as z from "zod";
import { defineCounter } from "../../../../test-support/environments/counter.js";
import {
  createTasks,
  defineContract,
  defineEnvironment,
  defineTools,
  parseJsonl,
  type StepContext,
  type TaskProvider,
} from "../index.js";
import { rng } from "../util/rng.js";
import { checkEnvironment } from "./check-environment.js";

const contract = defineContract({
  name: "dice_env",
  action: z.object({ sides: z.int().min(2).max(20) }),
  observation: z.object({ rolled: z.int().min(0) }),
});

/** A die that passes all checks, except the one that `broken` names. */
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
  test("passes a correct environment", async () => {
    const report = await checkEnvironment(defineDice());
    expect(report).toMatchObject({ target: "dice_env", passed: true });
    const statuses = report.checks.map(({ id, status }) => (id === "tools_answer" ? "none" : status));
    expect(statuses.filter((status) => status !== "none")).toEqual([
      ...Array(6).fill("passed"),
      "skipped",
      ...Array(3).fill("passed"),
      "skipped",
      "passed",
    ]);
  });

  describe("names the check and the call that does not answer, and skips the rest", () => {
    const never = () => new Promise<never>(() => {});
    const answer = { observation: { rolled: 0 }, reward: 0 };
    const working = { reset: () => answer, step: () => answer };
    const tools = defineTools({ look: { description: "Looks." } });
    const withTools = defineContract({ name: "look_env", observation: z.object({ rolled: z.int() }), tools });
    const provider = (tasks: TaskProvider) => defineEnvironment(contract, () => working, { tasks });

    test.each([
      ["answers", "create", defineEnvironment(contract, never)],
      ["answers", "reset", defineEnvironment(contract, () => ({ ...working, reset: never }))],
      ["answers", "step", defineEnvironment(contract, () => ({ ...working, step: never }))],
      ["answers", "state", defineEnvironment(contract, () => ({ ...working, state: never }))],
      ["answers", "close", defineEnvironment(contract, () => ({ ...working, close: never }))],
      ["answers", "tools.look", defineEnvironment(withTools, () => ({ reset: () => answer, tools: { look: never } }))],
      ["restores", "snapshot", defineEnvironment(contract, () => ({ ...working, snapshot: never, restore: () => {} }))],
      ["restores", "restore", defineEnvironment(contract, () => ({ ...working, snapshot: () => 1, restore: never }))],
      ["tasks_load", "tasks.splits", provider({ splits: never })],
      ["tasks_load", "tasks.get", provider({ splits: () => ["train"], count: () => 2, get: never })],
    ])("%s: %s", async (id, call, environment) => {
      const { passed, checks } = await checkEnvironment(environment as never, { timeoutMs: 50 });
      const at = checks.findIndex(({ status }) => status === "failed");
      expect(passed).toBe(false);
      expect(checks[at]).toMatchObject({ id, detail: `${call} did not answer within 50 ms` });
      const rest = checks.slice(at + 1).map(({ status, detail }) => [status, detail]);
      expect(rest).toEqual(rest.map(() => ["skipped", `${call} did not answer in an earlier check`]));
    });

    test("and rejects a limit that is not one", async () => {
      const check = checkEnvironment(defineDice(), { timeoutMs: 0 });
      await expect(check).rejects.toThrow("timeoutMs must be a positive number");
    });
  });

  test("reads every task of every split", async () => {
    const tasked = (tasks: TaskProvider) =>
      checkEnvironment(
        defineEnvironment(
          contract,
          () => ({
            reset: () => ({ observation: { rolled: 0 } }),
            step: () => ({ observation: { rolled: 0 }, reward: 0 }),
          }),
          { tasks },
        ),
      );
    const found = async (tasks: TaskProvider) =>
      (await tasked(tasks)).checks.find(({ id }) => id === "tasks_load") ?? expect.fail();
    expect(await found(createTasks({ train: [{ a: 1 }], test: [] }))).toMatchObject({
      status: "passed",
      detail: "tasks read: train 1, test 0",
    });
    const broken = createTasks({ train: [{ a: 1 }], test: parseJsonl('{"a":2}\n{"a":3\n', "test.jsonl") });
    expect(await found(broken)).toMatchObject({
      status: "failed",
      detail: 'task 1 of split "test" cannot be read: test.jsonl, line 2: not valid JSON',
    });
    const listed = { splits: () => ["train"], list: () => [{ a: 1 }, 2] } as unknown as TaskProvider;
    expect(await found(listed)).toMatchObject({ status: "failed", detail: 'task 1 of split "train" is not an object' });
    const endless = { splits: () => ["train"], get: () => ({ a: 1 }) };
    expect(await found(endless)).toMatchObject({ status: "skipped" });
  });

  test("names the field that differs when the environment ignores the seed", async () => {
    const found = await failures(defineDice("seed"));
    expect(found["seed_honoured"]).toMatch(/differ first in \d+\.(observation\.rolled|reward): \d+ and \d+/);
  });

  test("finds state that sessions share, if it affects an episode", async () => {
    expect(await failures(defineDice("isolation"))).toHaveProperty("seed_honoured");
  });

  test("finds a reset that does not reset", async () => {
    expect((await failures(defineDice("reset")))["reset_resets"]).toMatch(/differs in rolled: 0 and \d+/);
  });

  test("finds observations that the contract forbids, and steps without a reward", async () => {
    expect((await failures(defineDice("schema")))["schemas_hold"]).toMatch(/rolled/);
    expect((await failures(defineDice("reward")))["answers"]).toMatch(/reward null/);
  });

  test("finds a close that fails, and reports when it failed", async () => {
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

  test("skips the seed check unless it is declared, and plays actions of the caller", async () => {
    const { environment } = defineCounter();
    const report = await checkEnvironment(environment, { actions: [{ amount: 1 }, { amount: 2 }] });
    expect(report.passed).toBe(true);
    expect(report.checks.find(({ id }) => id === "seed_honoured")?.status).toBe("skipped");
  });

  test("passes the seed check only if the actions show what the seed decides", async () => {
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

  describe("of restoring", () => {
    /** Rolls dice that add up; `faults` replaces its members. */
    function defineTotal(faults: object = {}, options: object = { seeded: true }) {
      return defineEnvironment(
        contract,
        () => {
          let total = 0;
          return {
            reset: () => ({ observation: { rolled: (total = 0) } }),
            step: ({ sides }: { sides: number }, { rng: random }: StepContext) => {
              total += random.int(1, sides);
              return { observation: { rolled: total }, reward: 0 };
            },
            snapshot: (): unknown => ({ total }),
            restore: (saved: unknown) => void ({ total } = saved as { total: number }),
            ...faults,
          };
        },
        options,
      );
    }

    test("passes by snapshot and by replay, and by snapshot alone", async () => {
      const { checks } = await checkEnvironment(defineTotal());
      const status = Object.fromEntries(checks.map((check) => [check.id, check.status]));
      const all = { restores: "passed", replays: "passed", resets_independent: "passed", seed_used: "passed" };
      expect(status).toMatchObject(all);
      expect(await failures(defineTotal({}, {}))).toEqual({});
    });

    test("accepts episodes that differ by nature, if their states are restored", async () => {
      const step = () => ({ observation: { rolled: Math.floor(Math.random() * 1e9) }, reward: 0 });
      expect(await failures(defineTotal({ step }, { seeded: false }))).toEqual({});
    });

    test.each<[string, object, RegExp]>([
      [
        "forgets a field",
        { restore: () => {} },
        /restored after step 1 differs in restore\.snapshot\.total: \d+ and 0/,
      ],
      [
        "saves nothing of it",
        { snapshot: () => null, restore: () => {} },
        /restored after step 1 differs in following\.0/,
      ],
      ["saves a Map", { snapshot: () => new Map() }, /SNAPSHOT_FAILED: .*Map has no JSON form/],
      [
        "throws in snapshot",
        {
          snapshot: () => {
            throw new Error("no disk");
          },
        },
        /SNAPSHOT_FAILED: .*no disk/,
      ],
      [
        "throws in restore",
        {
          restore: () => {
            throw new Error("bad save");
          },
        },
        /RESTORE_FAILED: .*bad save/,
      ],
    ])("finds an environment that %s", async (_what, faults, message) => {
      expect((await failures(defineTotal(faults)))["restores"]).toMatch(message);
    });

    test("finds an environment whose replay differs", async () => {
      const step = () => ({ observation: { rolled: Math.floor(Math.random() * 1e9) }, reward: 0 });
      expect((await failures(defineTotal({ step })))["replays"]).toMatch(
        /the replay of event 2 differs .*rolled: \d+ and/,
      );
    });

    test("finds an episode that depends on the one before", async () => {
      let luck = 0;
      const faults = {
        step: (_action: unknown, { rng: random }: StepContext) => ({
          observation: { rolled: luck++ + random.int(0, 9) },
        }),
      };
      expect((await failures(defineTotal(faults)))["resets_independent"]).toMatch(
        /after another one differs first in 1\./,
      );
    });

    test("finds an environment that takes the seed and ignores it, unless it declares so", async () => {
      const random = {
        reset: ({ seed }: { seed: number | undefined }) => ({ observation: { rolled: seed === undefined ? 1 : 0 } }),
        step: () => ({ observation: { rolled: Math.floor(Math.random() * 1e9) }, reward: 0 }),
      };
      const { seed_honoured: found } = await failures(defineTotal(random, {}));
      expect(found).toMatch(/two episodes with seed 7 and the same actions differ first in 1\.observation\.rolled/);
      expect(await failures(defineTotal(random, { seeded: false }))).toEqual({});
      const constant = { ...random, step: () => ({ observation: { rolled: 1 }, reward: 0 }) };
      const { checks } = await checkEnvironment(defineTotal(constant, {}));
      expect(checks.find(({ id }) => id === "seed_used")).toMatchObject({
        status: "skipped",
        detail: expect.stringMatching(/reads `seed` or `rng`, but these actions do not show what the seed decides/),
      });
    });

    test("finds a seeded environment that uses neither the seed nor the random numbers", async () => {
      const step = () => ({ observation: { rolled: 1 }, reward: 0 });
      const found = await failures(defineTotal({ step }));
      expect(found).toEqual({
        seed_used: "the environment declares seeded: true, but reads neither `seed` nor `rng`",
      });
    });
  });
});
