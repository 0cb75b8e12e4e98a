import { createHook } from "node:async_hooks";
import { describe, expect, test } from "vitest";
import { defineCounter } from "../../../../test-support/environments/counter.js";
import { defineDesk } from "../../../../test-support/environments/tool-environment.js";
import type { EnvironmentDefinition } from "../environment/environment.js";
import { SessionProtocol } from "../server/websocket/session-protocol.js";
import { Sessions } from "./registry/sessions.js";
import { createRuntime } from "./runtime.js";
import type { Session } from "./session.js";

function openSession(environment: EnvironmentDefinition) {
  const runtime = createRuntime(environment);
  const sessions = new Sessions(runtime, { maxConcurrentEnvs: 1, sessionTimeoutMs: null });
  const session = sessions.open() as Session;
  const protocol = new SessionProtocol(runtime, sessions);
  const connection = {
    session,
    batch: undefined,
    extensions: [],
    orchestrator: false,
    principal: undefined,
    answered: true,
    arrivedAt: 0,
    peer: undefined,
    opensSession: true,
    resume: undefined,
    cancels: undefined,
  };
  return { session, ask: (message: object) => protocol.answer(connection, JSON.stringify(message)) };
}

/** Counts the promises that are created while `work` runs. */
function countPromises(work: () => unknown): number {
  let count = 0;
  const hook = createHook({
    init(_id, type) {
      if (type === "PROMISE") count++;
    },
  }).enable();
  try {
    work();
  } finally {
    hook.disable();
  }
  return count;
}

describe("a step of a synchronous environment", () => {
  test.each([
    ["the author's step", defineCounter().environment, { amount: 2 }],
    ["a tool", defineDesk().environment, { type: "call_tool", tool_name: "add", arguments: { a: 1 } }],
  ])("with %s creates no promise between frame and answer", (_what, environment, data) => {
    const { ask } = openSession(environment as EnvironmentDefinition);
    ask({ type: "reset" });
    let answer: unknown;
    const count = countPromises(() => {
      answer = ask({ type: "step", data });
    });
    expect(JSON.parse(answer as string)).toMatchObject({ type: "observation" });
    expect(count).toBe(0);
    expect(countPromises(() => Promise.resolve())).toBe(1);
  });
});

test("calls of all kinds are performed one at a time, in the order of arrival", async () => {
  const { session } = openSession(defineDesk().environment as EnvironmentDefinition);
  const done: string[] = [];
  const note = (name: string) => () => void done.push(name);
  await Promise.all([
    Promise.resolve(session.call({ type: "reset" })).then(note("reset")),
    Promise.resolve(session.callTool({ name: "pause", given: {} })).then(note("tool")),
    Promise.resolve(
      session.call({ type: "step", data: { type: "call_tool", tool_name: "tally", arguments: {} } }),
    ).then(note("step")),
    Promise.resolve(session.call({ type: "state" })).then(note("state")),
  ]);
  expect(done).toEqual(["reset", "tool", "step", "state"]);
});

test("a call whose client disconnects before its turn is not performed", async () => {
  const { session } = openSession(defineDesk().environment as EnvironmentDefinition);
  const first = session.callTool({ name: "pause", given: {} });
  const left = session.callTool({ name: "tally", given: {} }, { onDisconnect: (cancel) => cancel() });
  const next = session.callTool({ name: "tally", given: {} });
  expect(await first).toMatchObject({ result: { data: "rested" } });
  expect(await left).toMatchObject({ error: { error_type: "transport_error", message: "the client disconnected" } });
  expect(await next).toMatchObject({ result: { data: 1 } });
});

test("the end of a session rejects waiting and later calls", async () => {
  const { session } = openSession(defineCounter().environment as EnvironmentDefinition);
  session.call({ type: "reset" });
  const running = session.call({ type: "step", data: { amount: 60 } });
  const waiting = session.call({ type: "state" });
  const closed = session.close("of a test");
  expect(await waiting).toMatchObject({
    data: { code: "SESSION_ERROR", message: "the session has ended: of a test" },
  });
  expect(await running).toMatchObject({ data: { code: "EXECUTION_ERROR" } });
  expect(session.call({ type: "state" })).toMatchObject({ data: { code: "SESSION_ERROR" } });
  await closed;
  expect(session.state).toBe("closed");
});
