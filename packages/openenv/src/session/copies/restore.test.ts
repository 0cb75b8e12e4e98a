import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import { sayText, startChatServer } from "../../../../../test-support/other-servers/chat-server.js";
import {
  type Action,
  type Contract,
  defineContract,
  defineEnvironment,
  defineTools,
  type EnvironmentDefinition,
  LLMJudge,
  type StepContext,
  type ToolContext,
  TrajectoryRubric,
  WeightedSum,
} from "../../index.js";
import type { JsonObject, ServerMessage } from "../../protocol/messages.js";
import type { SessionEvent, SessionImage } from "../calls/session-event.js";
import { Sessions } from "../registry/sessions.js";
import { takeImage } from "../restore/image.js";
import { createRuntime } from "../runtime.js";
import type { Session } from "../session.js";
import { SessionRejectedError } from "../session-rejected-error.js";
import { capture, openFrom } from "./open-from.js";

const contract = defineContract({
  name: "dice_env",
  action: z.object({ what: z.string().default("roll"), ms: z.number().default(0) }),
  observation: z.object({ rolls: z.array(z.int()), said: z.string().default("") }),
  tools: defineTools({ roll: { description: "Rolls.", output: z.int() } }),
});

const outside = { calls: 0, keys: [] as string[], fails: false };

/** Rolls dice with the random numbers of the context; `saves` makes it restorable by snapshot. */
function makeDice({ saves = false, snapshot }: { saves?: boolean; snapshot?: (() => unknown) | undefined } = {}) {
  let rolls: number[] = [];
  return {
    reset: () => ({ observation: { rolls: (rolls = []) } }),
    step: async ({ what, ms }: Action<typeof contract>, { rng, now, record }: StepContext) => {
      if (ms > 0) await sleep(ms);
      if (what === "throw") throw new Error("broken die");
      if (what === "now") return { observation: { rolls, said: String(now()) } };
      if (what === "ask") {
        const said = await record("oracle", async (key) => {
          outside.calls++;
          outside.keys.push(key);
          if (outside.fails) throw Object.assign(new Error("away"), { code: "AWAY" });
          return { answer: `${outside.calls}` };
        }).then(
          ({ answer }) => answer,
          (error: Error & { code: string }) => `${error.message} ${error.code}`,
        );
        return { observation: { rolls, said } };
      }
      rolls.push(rng.int(1, 1_000_000));
      return { observation: { rolls: [...rolls] }, reward: rolls.length };
    },
    tools: { roll: (_input: object, { rng }: ToolContext) => rolls.push(rng.int(1, 1_000_000)) },
    ...(saves && {
      snapshot: snapshot ?? (() => ({ rolls })),
      restore: (saved: unknown) => void ({ rolls } = saved as { rolls: number[] }),
    }),
  };
}
const bySnapshot = defineEnvironment(contract, () => makeDice({ saves: true }));
const byReplay = defineEnvironment(contract, () => makeDice(), { seeded: true });

function open<C extends Contract>(environment: EnvironmentDefinition<C>) {
  const runtime = createRuntime(environment as unknown as EnvironmentDefinition);
  const sessions = new Sessions(runtime, { maxConcurrentEnvs: 10, sessionTimeoutMs: null });
  const session = sessions.open() as Session;
  return { sessions, session };
}

async function play(session: Session, ...whats: string[]): Promise<unknown[]> {
  const answers: unknown[] = [];
  for (const what of whats) {
    const answer = await (what === "reset"
      ? session.call({ type: "reset", data: {} })
      : what === "tool"
        ? session.callTool({ name: "roll", given: {} })
        : session.call({ type: "step", data: { what } }));
    answers.push(answer);
  }
  return answers;
}

const rollsOf = (answer: unknown) => (answer as { data: { observation: JsonObject } }).data.observation["rolls"];

async function refusal(work: () => unknown): Promise<SessionRejectedError["data"]> {
  try {
    await work();
  } catch (error) {
    if (error instanceof SessionRejectedError) return error.data;
    throw error;
  }
  throw new Error("it was not refused");
}

describe.each([
  ["a snapshot", bySnapshot],
  ["a replay", byReplay],
])("a session restored by %s", (_what, environment) => {
  test("continues with the same episode, numbers and random numbers, also twice from one image", async () => {
    const { sessions, session } = open(environment);
    session.events.keep();
    await play(session, "reset", "roll", "reset", "roll", "tool", "roll");
    const image = structuredClone(await capture(session));
    expect(image).toMatchObject({ event: 6, stepCount: 2, episodes: 2, earlierSteps: 1 });
    const [one, other] = [await openFrom(sessions, image), await openFrom(sessions, image)];
    const [expected] = await play(session, "roll");
    expect(rollsOf(expected)).toHaveLength(4);
    for (const restored of [one, other]) {
      expect(restored.progress).toEqual({ ...session.progress, stepCount: 2, reward: image.reward });
      expect(restored.events.last).toBe(6);
      expect(await play(restored, "roll")).toEqual([expected]);
    }
    expect(one.id).not.toBe(session.id);
  });

  test("can be restored again", async () => {
    const { sessions, session } = open(environment);
    session.events.keep();
    await play(session, "reset", "roll");
    const second = await openFrom(sessions, await capture(session));
    await play(second, "roll");
    const third = await openFrom(sessions, await capture(second));
    expect(await play(session, "roll", "roll")).toContainEqual((await play(third, "roll"))[0]);
  });

  test("before its first reset continues with a random seed that was kept", async () => {
    const { sessions, session } = open(environment);
    session.events.keep();
    const restored = await openFrom(sessions, await capture(session));
    const [a, b] = [await play(session, "tool"), await play(restored, "tool")];
    await play(session, "reset");
    await play(restored, "reset");
    expect(a).toEqual(b);
    expect(restored.events.seed).not.toBe(session.events.seed);
  });
});

describe("a replay", () => {
  test("gets the recorded times and results of effects, and their errors, without calling them again", async () => {
    const { sessions, session } = open(byReplay);
    session.events.keep();
    Object.assign(outside, { calls: 0, keys: [], fails: false });
    await play(session, "reset", "now", "ask", "ask");
    outside.fails = true;
    await play(session, "ask");
    const image = await capture(session);
    expect(outside.keys).toEqual([3, 4, 5].map((event) => `${session.id}/${event}/oracle`));
    const restored = await openFrom(sessions, image);
    expect(outside.calls).toBe(3);
    const again = (await capture(restored)).restore as { events: SessionEvent[] };
    expect(again.events).toEqual((image.restore as { events: SessionEvent[] }).events);
    expect(again.events.at(-1)?.answer).toMatchObject({ data: { observation: { said: "away AWAY" } } });
  });

  test("does not ask a model again that judged a step, also one that failed", async () => {
    const replies = ["0.5", "no score", "0.25"];
    await using server = await startChatServer((response) => sayText(response, replies.shift() ?? "never"));
    const judged = defineEnvironment(
      contract,
      () => {
        const judge = new LLMJudge({ url: server.url, model: "small", prompt: "{observation}" });
        return { ...makeDice(), rubric: new WeightedSum([judge], [1]) };
      },
      { seeded: true },
    );
    const { sessions, session } = open(judged);
    session.events.keep();
    const answers = await play(session, "reset", "roll", "roll");
    expect(answers).toMatchObject([{}, { data: { reward: 0.5 } }, { data: { code: "EXECUTION_ERROR" } }]);
    const restored = await openFrom(sessions, await capture(session));
    expect(server.requests).toHaveLength(2);
    expect(await play(restored, "roll")).toMatchObject([{ data: { reward: 0.25 } }]);
  });

  test("stops at the first difference, and names event and field", async () => {
    let offset = 0;
    const drifting = defineEnvironment(
      contract,
      () => ({ ...makeDice(), step: () => ({ observation: { rolls: [7 + offset] } }) }),
      { seeded: true },
    );
    const { sessions, session } = open(drifting);
    session.events.keep();
    await play(session, "reset", "roll");
    const image = await capture(session);
    offset = 1;
    expect(await refusal(() => openFrom(sessions, image))).toMatchObject({
      code: "RESTORE_FAILED",
      message: "the replay of event 2 differs from what was recorded in answer.data.observation.rolls.0: 7 and 8",
    });
    expect(sessions.load().active).toBe(1);
  });

  test("finds random numbers that were drawn and not shown", async () => {
    let draws = 1;
    const hidden = defineEnvironment(
      contract,
      () => ({
        ...makeDice(),
        step: (_action: unknown, { rng }: StepContext) => {
          for (let i = 0; i < draws; i++) rng.next();
          return { observation: { rolls: [] } };
        },
      }),
      { seeded: true },
    );
    const { sessions, session } = open(hidden);
    session.events.keep();
    await play(session, "reset", "roll");
    const image = await capture(session);
    draws = 2;
    expect((await refusal(() => openFrom(sessions, image))).message).toMatch(/the random numbers are in another place/);
  });

  test("repeats failed steps, and is not possible after a step that timed out, until the next reset", async () => {
    const { sessions, session } = open(byReplay);
    session.events.keep();
    await play(session, "reset", "throw", "roll");
    const restored = await openFrom(sessions, await capture(session));
    expect(await play(session, "roll")).toEqual(await play(restored, "roll"));
    const late = await session.call({ type: "step", data: { ms: 60 } }, { timeoutMs: 5 });
    expect(late).toMatchObject({ type: "error", data: { code: "TIMEOUT" } });
    expect(await refusal(() => capture(session))).toMatchObject({
      code: "NOT_RESTORABLE",
      message: expect.stringContaining("event 5 was cancelled while it ran"),
    });
    await play(session, "reset");
    expect(session.events.tier).toEqual({ tier: "replay" });
  });

  test("needs the events from the beginning of the episode", async () => {
    const { session } = open(byReplay);
    await play(session, "reset");
    expect((await refusal(() => capture(session))).message).toContain("its events are not kept");
    session.events.keep();
    expect((await refusal(() => capture(session))).message).toContain("kept only from the next reset on");
    await play(session, "reset", "roll");
    expect(await capture(session)).toMatchObject({ restore: { events: [{ event: 2 }, { event: 3 }] } });
  });
});

describe("an image", () => {
  test("is refused with another contract or another version of the snapshot", async () => {
    const { session } = open(bySnapshot);
    await play(session, "reset");
    const image = await capture(session);
    const newer = defineEnvironment(contract, () => makeDice({ saves: true }), { snapshotVersion: 2 });
    expect(await refusal(() => openFrom(open(newer).sessions, image))).toMatchObject({
      code: "SNAPSHOT_MISMATCH",
      message: "the session was saved with snapshotVersion 1, but the server has 2",
    });
    const changed = { ...image, contract: "0".repeat(64) } satisfies SessionImage;
    const { code, message } = await refusal(() => openFrom(open(bySnapshot).sessions, changed));
    expect(code).toBe("SNAPSHOT_MISMATCH");
    expect(message).toContain(`${changed.contract}, but the server has ${image.contract}`);
  });

  test("is not possible for an environment that declares nothing", async () => {
    const { session } = open(defineEnvironment(contract, () => makeDice()));
    expect(await refusal(() => capture(session))).toMatchObject({
      code: "NOT_RESTORABLE",
      message:
        "the session cannot be restored: the environment declares neither snapshot() and restore() nor seeded: true",
    });
  });

  test.each<[string, () => unknown, string]>([
    [
      "throws",
      () => {
        throw new Error("no disk");
      },
      "snapshot() failed: no disk",
    ],
    ["rejects", () => Promise.reject(new Error("no disk")), "snapshot() failed: no disk"],
    ["returns a map", () => ({ seen: new Map() }), "snapshot() failed: snapshot.seen: Map has no JSON form"],
    ["returns nothing", () => undefined, "snapshot() failed: snapshot: undefined has no JSON form"],
    ["returns NaN", () => [Number.NaN], "snapshot() returned NaN or an infinity, which JSON does not have"],
    [
      "is huge",
      () => new Uint8Array(64 * 1024 * 1024 + 1),
      "snapshot() returned 67108865 bytes; the limit is 67108864: save only what restore() needs, or raise SNAPSHOT_BYTES",
    ],
  ])("of an environment whose snapshot %s is refused, and the session continues", async (_how, snapshot, message) => {
    const { session } = open(defineEnvironment(contract, () => makeDice({ saves: true, snapshot })));
    await play(session, "reset");
    expect(await refusal(() => capture(session))).toMatchObject({ code: "SNAPSHOT_FAILED", message });
    expect(await play(session, "roll")).toMatchObject([{ type: "observation" }]);
  });

  test("is not changed by what its session does afterwards", async () => {
    const { session } = open(bySnapshot);
    await play(session, "reset", "roll");
    const image = await capture(session);
    const before = structuredClone(image);
    await play(session, "roll");
    expect(image).toEqual(before);
  });

  test("is refused when restore fails", async () => {
    const fails = () => ({ ...makeDice(), snapshot: () => ({}), restore: () => Promise.reject(new Error("bad save")) });
    const { sessions, session } = open(defineEnvironment(contract, fails));
    expect(await refusal(async () => openFrom(sessions, await capture(session)))).toMatchObject({
      code: "RESTORE_FAILED",
      message: "restore() failed: bad save",
    });
    expect(sessions.load().active).toBe(1);
  });

  test("is taken after the step that runs and those that wait", async () => {
    const { session } = open(bySnapshot);
    await play(session, "reset");
    const first = session.call({ type: "step", data: { ms: 20 } });
    const second = session.call({ type: "step", data: {} });
    const image = await capture(session);
    expect(image).toMatchObject({ event: 3, stepCount: 2 });
    await Promise.all([first, second]);
  });

  test("has the state of rubrics and of episode limits", async () => {
    class Count extends TrajectoryRubric {
      override scoreTrajectory(steps: readonly unknown[]): number {
        return steps.length;
      }
    }
    const scored = defineEnvironment(
      contract,
      () => Object.assign(makeDice({ saves: true }), { rubric: new Count() }),
      {
        maxSteps: 3,
        maxSeconds: 1000,
      },
    );
    const { sessions, session } = open(scored);
    await play(session, "reset", "roll", "roll");
    const restored = await openFrom(sessions, await capture(session));
    const [answer] = await play(restored, "roll");
    expect(answer).toMatchObject({ data: { reward: 3, done: true, observation: { metadata: { truncated: true } } } });
    expect(await play(session, "roll")).toEqual([answer]);
  });
});

describe("a recorder", () => {
  test("gets each event before its answer leaves, and not what was refused", async () => {
    const { session } = open(bySnapshot);
    const seen: SessionEvent[] = [];
    const images: SessionImage[] = [];
    let answered: ServerMessage[] = [];
    session.events.hooks = {
      record: async (event) => {
        await sleep(5);
        expect(answered).toHaveLength(seen.length);
        seen.push(event);
        images.push(await takeImage(session));
      },
    };
    const requests = [
      { type: "step", data: {} },
      { type: "reset", data: { seed: "x" } },
      { type: "reset", data: { seed: 7, episode_id: "e" } },
      { type: "step", data: { what: 5 } },
      { type: "step", data: { what: "throw" } },
      { type: "step", data: { what: "roll", metadata: { turn: 1 } } },
      { type: "state" },
    ] as const;
    for (const request of requests) {
      const answer = await session.call(request);
      if (seen.length > answered.length) answered = [...answered, answer];
    }
    expect(seen).toMatchObject([
      { event: 1, type: "reset", request: { seed: 7, episode_id: "e" }, recorded: { seed: 7 } },
      { event: 2, type: "step", request: { what: "throw" }, answer: { data: { code: "EXECUTION_ERROR" } } },
      { event: 3, type: "step", request: { what: "roll", metadata: { turn: 1 } } },
    ]);
    expect(seen.map(({ answer }) => answer)).toEqual(answered);
    expect(images.map(({ event, stepCount }) => [event, stepCount])).toEqual([
      [1, 0],
      [2, 0],
      [3, 1],
    ]);
  });

  test("that fails turns the answer into an error; one that is slow is not cut off by the time limit", async () => {
    const { session } = open(bySnapshot);
    session.events.hooks = { record: () => Promise.reject(new Error("disk full")) };
    expect(await play(session, "reset")).toMatchObject([
      { type: "error", data: { code: "SESSION_ERROR", message: "the answer could not be recorded: disk full" } },
    ]);
    session.events.hooks = { record: () => sleep(40) };
    expect(await session.call({ type: "step", data: {} }, { timeoutMs: 10 })).toMatchObject({ type: "observation" });
  });
});
