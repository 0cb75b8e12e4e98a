import { expect, test } from "vitest";
import * as z from "zod";
import { defineContract, defineEnvironment, type EnvironmentDefinition } from "../../index.js";
import { Sessions } from "../registry/sessions.js";
import { createRuntime } from "../runtime.js";
import { capture, openFrom } from "./open-from.js";

test("an image has bytes inside JSON, and objects that look like them", async () => {
  const contract = defineContract({ name: "film_env", action: z.object({}), observation: z.object({}) });
  const saved = { frames: [new Uint8Array([1, 255]), { data: new Uint8Array() }], odd: { $bytes: "AQ==" } };
  const loaded: unknown[] = [];
  const film = defineEnvironment(contract, () => ({
    reset: () => ({ observation: {} }),
    step: () => ({ observation: {} }),
    snapshot: () => saved,
    restore: (value: unknown) => void loaded.push(value),
  }));
  const sessions = new Sessions(createRuntime(film as unknown as EnvironmentDefinition), {
    maxConcurrentEnvs: 2,
    sessionTimeoutMs: null,
  });
  const session = await sessions.open();
  await session.call({ type: "reset", data: {} });
  await openFrom(sessions, await capture(session));
  expect(loaded).toEqual([saved]);
});
