import { expect, test } from "vitest";
import { counterContract } from "../../../../test-support/environments/counter.js";
import { defineEnvironment } from "../index.js";
import { capture, openFrom } from "./copies/open-from.js";
import { Sessions } from "./registry/sessions.js";
import { createRuntime } from "./runtime.js";

test.each(["a snapshot", "a replay"])(
  "a session that continues from %s has one line, with its episode",
  async (how) => {
    const lines: unknown[] = [];
    const keep = (fields: { episode?: string }, msg: string) => void lines.push([msg, fields.episode]);
    const environment = defineEnvironment(
      counterContract,
      () => {
        let count = 0;
        return {
          reset: () => ({ observation: { count: (count = 0) } }),
          step: ({ amount }) => ({ observation: { count: (count += amount) } }),
          ...(how === "a snapshot" && {
            snapshot: () => count,
            restore: (saved: unknown) => void (count = saved as number),
          }),
        };
      },
      { seeded: true },
    );
    const runtime = createRuntime(environment, { log: { debug: keep, info: keep, warn: keep, error: keep } });
    const sessions = new Sessions(runtime, { maxConcurrentEnvs: 9, sessionTimeoutMs: null });
    const session = await sessions.open();
    session.events.keepIfNeeded();
    for (const episode_id of ["first", "second"]) await session.call({ type: "reset", data: { episode_id } });
    await session.call({ type: "step", data: { amount: 2 } });
    const image = await capture(session);
    const copy = await openFrom(sessions, image);
    await openFrom(sessions, image, { client: "http", orchestrator: false, isRestored: true });
    await copy.call({ type: "reset", data: { episode_id: "third" } });
    sessions.end(copy, "over");
    expect(lines).toEqual([
      ["session started", "first"],
      ["session copied", "second"],
      ["session restored", "second"],
      ["session ended", "third"],
    ]);
    await sessions.endAll("over", 0);
  },
);
