import { afterEach, expect, test, vi } from "vitest";
import { defineCounter } from "../../../../test-support/environments/counter.js";
import type { Environment, EnvironmentDefinition } from "../environment/environment.js";
import { silentLog } from "../util/log.js";
import { makeEnvironment } from "./make-environment.js";
import { createRuntime } from "./runtime.js";

afterEach(() => {
  vi.useRealTimers();
});

test("an environment that is created too late is closed, and an error in close is logged", async () => {
  vi.useFakeTimers();
  const errors: string[] = [];
  const log = { ...silentLog, error: (_fields: object, message: string) => void errors.push(message) };
  let finish: (late: Environment) => void = () => {};
  const definition: EnvironmentDefinition = {
    ...defineCounter().environment,
    create: () =>
      new Promise<Environment>((resolve) => {
        finish = resolve;
      }),
  };
  const refused = expect(makeEnvironment(createRuntime(definition, { log }))).rejects.toMatchObject({
    data: { code: "FACTORY_ERROR", message: expect.stringContaining("within 120 s") },
  });
  await vi.advanceTimersByTimeAsync(120_000);
  await refused;

  let closed = 0;
  const observe = () => ({ observation: { count: 0 } });
  const close = (): void => {
    closed++;
    throw new Error("too late");
  };
  finish({ reset: observe, step: observe, close });
  await vi.advanceTimersByTimeAsync(0);
  expect(closed).toBe(1);
  expect(errors).toEqual(["the factory of counter_env failed", "an environment that no session uses failed"]);
});

test.each([
  ["snapshot", "restore"],
  ["restore", "snapshot"],
])("an environment with only %s() is refused with the name of the missing method", async (has, lacks) => {
  const observe = () => ({ observation: { count: 0 } });
  const create = () => ({ reset: observe, step: observe, [has]: () => ({}) });
  const runtime = createRuntime({ ...defineCounter().environment, create } as EnvironmentDefinition);
  await expect(async () => makeEnvironment(runtime)).rejects.toThrow(`it has only ${has}(): add ${lacks}()`);
});
