/** Sessions of isolated environments are restored like others. Runs the built package, as isolates do. */
import { pathToFileURL } from "node:url";
import { describe, expect, test } from "vitest";
import type { JsonObject } from "#core/protocol/messages.js";
import type { SessionImage } from "#core/session/calls/session-event.js";
import type { Session } from "#core/session/session.js";
import { silentLog } from "#core/util/log.js";
import { createProject } from "../../../test-support/commands/command-line.js";

const load = (path: string) => import(pathToFileURL(`${import.meta.dirname}/../../openenv/dist/${path}`).href);
const { startHost } = (await load("parts/isolation/index.js")) as typeof import("./index.js");
const { Sessions } = (await load(
  "session/registry/sessions.js",
)) as typeof import("#core/session/registry/sessions.js");
const { createRuntime } = (await load("session/runtime.js")) as typeof import("#core/session/runtime.js");
const { imageAt } = (await load("session/copies/fork.js")) as typeof import("#core/session/copies/fork.js");
const { capture, openFrom } = (await load(
  "session/copies/open-from.js",
)) as typeof import("#core/session/copies/open-from.js");

const MODULE = `
import { defineContract, defineEnvironment, defineTools, Rubric } from "openenv-ts";
import { appendFileSync } from "node:fs";
import * as z from "zod";
const contract = defineContract({
  name: "dice_env",
  action: z.object({ what: z.string().default("roll") }),
  observation: z.object({ rolls: z.array(z.int()), said: z.string().default("") }),
  tools: defineTools({ roll: { description: "Rolls." } }),
});
class Sum extends Rubric {
  total = 0;
  forward(action, { rolls }) { return (this.total += rolls?.length ?? 0); }
  clear() { this.total = 0; }
  saveState() { return { total: this.total }; }
  loadState({ total }) { this.total = total; }
}
const saves = SAVES;
export default defineEnvironment(contract, () => {
  let rolls = [];
  const methods = {
    snapshot: () => {
      if (rolls.length === 7) throw new Error("seven is unlucky");
      return { rolls };
    },
    restore: (saved) => { rolls = saved.rolls; },
    stateKey: () => rolls.length,
  };
  return {
    rubric: new Sum(),
    reset: ({ rng }) => { rolls = [rng.int(1, 1e6)]; return { observation: { rolls } }; },
    step: async ({ what }, { rng, now, record }) => {
      if (what === "many") rolls = [1, 2, 3, 4, 5, 6, 7];
      if (what === "throw") { now(); throw new Error("broken die"); }
      const said = what !== "ask" ? "" : now() + await record("oracle", (key) => {
        appendFileSync(new URL("./log.txt", import.meta.url), key + "\\n");
        return key;
      });
      if (what === "roll") rolls.push(rng.int(1, 1e6));
      return { observation: { rolls, said } };
    },
    tools: { roll: async (input, { rng, record }) => {
      rolls.push(rng.int(1, 1e6));
      return await record("luck", (key) => key);
    } },
    afterTool: async (call, { record }) => ({ metadata: { key: await record("luck", (key) => key) } }),
    ...(saves && methods),
  };
}, { seeded: true, maxSeconds: 1000, history: 3 });
`;

async function start(kind: "thread" | "process", saves: boolean) {
  const project = await createProject({ "environment.mjs": MODULE.replace("SAVES", String(saves)) });
  const module = pathToFileURL(`${project.dir}/environment.mjs`);
  const { default: definition } = await import(module.href);
  const host = await startHost(
    definition,
    { kind, module, isolatePoolSize: 1, isolateSpares: 0, stepTimeoutMs: undefined, isolateMemoryMb: undefined },
    silentLog,
  );
  const sessions = new Sessions(createRuntime({ ...definition, create: () => host.create() }), {
    maxConcurrentEnvs: 10,
    sessionTimeoutMs: null,
  });
  const session = await sessions.open();
  session.events.keep();
  return {
    sessions,
    session,
    async [Symbol.asyncDispose]() {
      await sessions.endAll("the test has ended", 1000);
      await host[Symbol.asyncDispose]();
      await project[Symbol.asyncDispose]();
    },
  };
}

async function play(session: Session, ...whats: string[]): Promise<unknown[]> {
  const answers: unknown[] = [];
  for (const what of whats) {
    const data: JsonObject = what === "tool" ? { type: "call_tool", tool_name: "roll", arguments: {} } : { what };
    answers.push(await session.call(what === "reset" ? { type: "reset", data: { seed: 5 } } : { type: "step", data }));
  }
  return answers;
}

describe.each(["thread", "process"] as const)("in a %s", (kind) => {
  test.each([
    ["a snapshot", true],
    ["a replay", false],
  ])("a session is restored by %s, with its random numbers, times, effects and rubric", async (_how, saves) => {
    await using started = await start(kind, saves);
    const { sessions, session } = started;
    await play(session, "reset", "roll", "ask", "throw", "tool", "roll");
    expect(session.events.tier).toEqual({ tier: saves ? "snapshot" : "replay" });
    const image = structuredClone<SessionImage>(await capture(session));
    const restored = await openFrom(sessions, image);
    expect(await capture(restored)).toEqual(image);
    const [expected] = await play(session, "roll");
    expect(expected).toMatchObject({ type: "observation", data: { reward: expect.any(Number) } });
    expect(await play(restored, "roll")).toEqual([expected]);
    if (saves) expect(await restored.environment?.stateKey?.()).toBe(5);
  });

  test("a session continues from the state after an earlier event", async () => {
    await using started = await start(kind, true);
    const { sessions, session } = started;
    const answers = await play(session, "reset", "roll", "roll", "roll");
    const restored = await openFrom(sessions, await imageAt(session, 3));
    expect(await play(restored, "roll")).toEqual(answers.slice(3));
    await expect(imageAt(session, 1)).rejects.toMatchObject({ data: { code: "EVENT_NOT_KEPT" } });
  });

  test("a snapshot that throws is refused, and the session continues", async () => {
    await using started = await start(kind, true);
    const { session } = started;
    await play(session, "reset", "many");
    await expect(async () => await capture(session)).rejects.toMatchObject({
      data: { code: "SNAPSHOT_FAILED", message: "snapshot() failed: seven is unlucky" },
    });
    expect(await play(session, "roll")).toMatchObject([{ type: "observation" }]);
  });

  test("effects of a tool call and of afterTool have different keys", async () => {
    await using started = await start(kind, true);
    const { session } = started;
    const [, answer] = await play(session, "reset", "tool");
    expect(answer).toMatchObject({
      data: {
        observation: { result: { data: `${session.id}/2/luck` }, metadata: { key: `${session.id}/2/luck/2` } },
      },
    });
  });
});
