/** The same promises for the tools of sessions in this process, in threads and in processes. */
import type { ServeOptions } from "openenv-ts/server";
import { beforeAll, describe, expect, test } from "vitest";
import { type IsolatedServer, startIsolated } from "../../../test-support/environments/isolation.js";
import { waitFor } from "../../../test-support/servers/servers.js";

const MODULE = `
import { appendFileSync } from "node:fs";
import { bytes, defineContract, defineEnvironment, defineTools, EnvironmentError, ToolError } from "openenv-ts";
import * as z from "zod";

const log = (text) => appendFileSync(new URL("./log.txt", import.meta.url), text + "\\n");
const tools = defineTools({
  add: { description: "Adds.", input: z.object({ amount: z.int() }), output: z.int() },
  size: { description: "Tells a size.", input: z.object({ data: bytes() }), output: z.int() },
  nan: { description: "No number.", output: z.object({ v: z.number() }) },
  throw: { description: "Throws." },
  tell: { description: "Tells." },
  unreachable: { description: "Has no network." },
  wait: { description: "Waits.", timeoutMs: 500 },
  exit: { description: "Ends its process." },
  loop: { description: "Never ends." },
});
export default defineEnvironment(defineContract({ name: "hosted_tools_env", tools }), () => {
  let count = 0;
  return {
    reset: () => ({ observation: {}, metadata: { pid: process.pid } }),
    afterTool: ({ name, result, error }) => ({ metadata: { name, result, error: error?.error_type }, done: result === 7 }),
    tools: {
      add: ({ amount }) => (count += amount),
      size: ({ data }) => data.length,
      nan: () => ({ v: Number.NaN }),
      throw: () => { throw new TypeError("unlucky"); },
      tell: () => { throw new EnvironmentError("told to the client"); },
      unreachable: () => { throw new ToolError("transport_error", "nobody there"); },
      wait: (input, { signal }) => new Promise((_, reject) => {
        signal.addEventListener("abort", () => { log("aborted: " + signal.reason.message); reject(signal.reason); });
      }),
      exit: () => process.exit(7),
      loop: () => { for (;;); },
    },
  };
});
`;

const KINDS: Record<string, ServeOptions> = {
  "no isolation": {},
  "a thread each": { isolation: "thread" },
  "a process each": { isolation: "process" },
  "one process for all": { isolation: "process", isolatePoolSize: 1 },
};
const call = (tool_name: string, given: object = {}) => ({
  type: "step",
  data: { type: "call_tool", tool_name, arguments: given },
});
const frame = (name: string, given: object = {}) => ({
  type: "mcp",
  data: { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name, arguments: given } },
});

describe.each(Object.entries(KINDS))("with %s", (_, options) => {
  let isolated: IsolatedServer;
  beforeAll(async () => {
    isolated = await startIsolated({ ...options, mode: "production" }, MODULE);
    return () => isolated[Symbol.asyncDispose]();
  });

  test("tools are called with the state of their session, and the environment sees the calls", async () => {
    const [one, other] = [await isolated.open(), await isolated.open()];
    await one.ask({ type: "reset" });
    await other.ask({ type: "reset" });
    expect(await one.ask(call("add", { amount: "3" }))).toMatchObject({
      data: { observation: { result: { data: 3 }, metadata: { name: "add", result: 3 } }, reward: 0, done: false },
    });
    expect(await one.ask(frame("add", { amount: 4 }))).toMatchObject({ data: { result: { data: 7 } } });
    expect(await other.ask(call("add", { amount: 7 }))).toMatchObject({
      data: { observation: { result: { data: 7 } }, done: true },
    });
    expect(await one.ask(call("size", { data: "AAEC" }))).toMatchObject({
      data: { observation: { result: { data: 3 } } },
    });
    expect(await one.ask(call("nan"))).toMatchObject({
      data: { observation: { result: { data: { v: null }, content: [{ text: '{"v":NaN}' }] } } },
    });
  });

  test("failures of tools keep their kind, and their message where clients may see it", async () => {
    const socket = await isolated.open();
    await socket.ask({ type: "reset" });
    const error = async (name: string) => {
      const { data } = (await socket.ask(call(name))) as { data: { observation: { error: object } } };
      return data.observation.error;
    };
    expect(await error("throw")).toEqual({
      error_type: "execution_error",
      message: expect.not.stringContaining("unlucky"),
    });
    expect(await error("tell")).toMatchObject({ message: expect.stringContaining("told to the client") });
    expect(await error("unreachable")).toMatchObject({ error_type: "transport_error" });
    expect(await error("wait")).toMatchObject({ error_type: "timeout" });
    await waitFor(() => isolated.log().length > 0);
    expect(isolated.log()).toEqual([expect.stringMatching(/aborted: .*did not answer within 0.5 s/)]);
  });
});

test.each(["step", "mcp"])("a tool call that ends its isolate fails and has no reward: %s", async (frameType) => {
  await using isolated = await startIsolated({ isolation: "process" }, MODULE);
  const socket = await isolated.open();
  await socket.ask({ type: "reset" });
  const answer = await socket.ask(frameType === "step" ? call("exit") : frame("exit"));
  expect(answer).toMatchObject(
    frameType === "step"
      ? { type: "error", data: { code: "ISOLATE_LOST" } }
      : { type: "mcp", data: { error: { code: -32603, data: { error_type: "transport_error" } } } },
  );
  expect(await socket.closed).toMatchObject({ code: 4000 });
});

test("a tool that never returns is ended with its session", async () => {
  await using isolated = await startIsolated({ isolation: "thread", stepTimeout: 4 }, MODULE);
  const socket = await isolated.open();
  await socket.ask({ type: "reset" });
  expect(await socket.ask(frame("loop"))).toMatchObject({ data: { error: { data: { error_type: "timeout" } } } });
  expect(await socket.closed).toMatchObject({ code: 4000 });
});
