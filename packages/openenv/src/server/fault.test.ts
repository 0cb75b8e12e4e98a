/** Every error says who caused it, so that a trainer of any language masks what its agent did not do. */
import { describe, expect, test } from "vitest";
import * as z from "zod";
import { useMcp } from "../../../../test-support/environments/mcp.js";
import { defineDesk } from "../../../../test-support/environments/tool-environment.js";
import { fetchAsOperator, WITH_OPERATOR } from "../../../../test-support/operator.js";
import { useServers } from "../../../../test-support/servers/servers.js";
import { connect } from "../client/index.js";
import { defineContract, defineEnvironment, EnvironmentError, OpenEnvError } from "../index.js";
import type { ServerView } from "../protocol/web.js";
import { Sessions } from "../session/registry/sessions.js";
import { createRuntime } from "../session/runtime.js";
import { silentLog } from "../util/log.js";
import type { ServeOptions } from "./types.js";

const { start, open } = useServers();
const { start: startMcp, open: openMcp } = useMcp();

const contract = defineContract({
  name: "shaky_env",
  action: z.object({ does: z.enum(["work", "throw", "outage", "inner client"]) }),
  observation: z.object({ text: z.string() }),
});
const shaky = defineEnvironment(contract, () => ({
  reset: () => ({ observation: { text: "ready" } }),
  step({ does }) {
    if (does === "throw") throw new Error("a bug");
    if (does === "outage") throw new EnvironmentError("the sandbox is away", { fault: "infrastructure" });
    // The author's code is a client, too: its mistakes are not those of the client here.
    if (does === "inner client") throw new OpenEnvError("VALIDATION_ERROR", "wrong");
    return { observation: { text: "done" } };
  },
}));

const RESET = { type: "reset", data: {} };
const step = (does: unknown) => ({ type: "step", data: { does } });
const startShaky = (options: ServeOptions = {}) => start(options, { environment: shaky as never });
const startDesk = () => start({}, { environment: defineDesk().environment as never });
const error = (code: string, fault: string) => ({ code, fault, message: expect.any(String) });

async function request(url: string, body?: object) {
  const init = body && {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  };
  const response = await fetch(url, init);
  return { status: response.status, body: (await response.json()) as Record<string, unknown> };
}

describe("the fault of an error", () => {
  test("is in the frames of a session", async () => {
    const socket = await open(await startShaky());
    expect((await socket.ask(step("work")))["data"]).toMatchObject(error("EXECUTION_ERROR", "client"));
    await socket.ask(RESET);
    expect((await socket.ask(step("throw")))["data"]).toMatchObject(error("EXECUTION_ERROR", "environment"));
    expect((await socket.ask(step("outage")))["data"]).toMatchObject(error("EXECUTION_ERROR", "infrastructure"));
    expect((await socket.ask(step("inner client")))["data"]).toMatchObject(error("EXECUTION_ERROR", "environment"));
    expect((await socket.ask(step("fly")))["data"]).toMatchObject(error("VALIDATION_ERROR", "client"));
    expect((await socket.ask({ type: "jump" }))["data"]).toMatchObject(error("UNKNOWN_TYPE", "client"));
  });

  test("is in the items of a batch frame", async () => {
    const socket = await open(await startShaky({ maxConcurrentEnvs: 2 }), "/ws?openenv=batch");
    const opened = (await socket.ask({ type: "open_many", data: { count: 3 } }))["data"];
    expect(opened).toMatchObject({ items: [{}, {}, { data: error("CAPACITY_REACHED", "infrastructure") }] });
    const items = [0, 1, 9].map((session) => ({ session, data: { does: "fly" } }));
    await socket.ask({ type: "reset_many", data: { items: items.map(({ session }) => ({ session })) } });
    const stepped = await socket.ask({ type: "step_many", data: { items } });
    const faults = (stepped["data"] as { items: { data: { fault: string } }[] }).items.map(({ data }) => data.fault);
    expect(faults).toContain("client");
    expect(faults).toContain("infrastructure");
  });

  test("is in HTTP bodies", async () => {
    const { url } = await startShaky({ mode: "simulation" });
    const answers = await Promise.all([
      request(`${url}/nowhere`),
      request(`${url}/step`),
      request(`${url}/step`, { action: { does: "fly" } }),
      request(`${url}/step`, { action: { does: "throw" } }),
      request(`${url}/step`, { action: { does: "outage" } }),
      request(`${url}/session/short/reset`, {}),
      request(`${url}/other_env/splits`),
    ]);
    expect(answers.map(({ status, body }) => [status, body["fault"]])).toEqual([
      [404, "client"],
      [405, "client"],
      [422, "client"],
      [500, "environment"],
      [500, "infrastructure"],
      [404, "client"],
      [404, "client"],
    ]);
  });

  test("is in the data of JSON-RPC errors", async () => {
    const { url } = await startDesk();
    const ask = async (method: string, params: object = {}) => {
      const { body } = await request(`${url}/mcp`, { jsonrpc: "2.0", id: 1, method, params });
      return (body["error"] as { data: { fault: string } }).data.fault;
    };
    const call = (name: string, given: object = {}) => ask("tools/call", { name, arguments: given });
    expect(await ask("jump")).toBe("client");
    expect(await ask("tools/list", { session_id: "ended" })).toBe("infrastructure");
    expect(await call("nope")).toBe("client");
    expect(await call("add", { a: "x" })).toBe("client");
    expect(await call("fail", { why: "a bug" })).toBe("environment");
    expect(await call("unreachable")).toBe("infrastructure");
  });

  test("is in the results of MCP", async () => {
    const { server } = await startMcp();
    const { client } = await openMcp(server);
    const call = (name: string, given = {}) => client.callTool({ name, arguments: given });
    const meta = (fault: string) => ({ isError: true, _meta: { "openenv/fault": fault } });
    expect(await call("add", { a: "x" })).toMatchObject(meta("client"));
    expect(await call("fail", { why: "a bug" })).toMatchObject(meta("environment"));
    expect(await call("unreachable")).toMatchObject(meta("infrastructure"));
    await expect(call("nope")).rejects.toMatchObject({ data: { fault: "client" } });
  });

  test("is on the errors of the client and in the metadata of failed results", async () => {
    const { url } = await startShaky();
    await using env = await connect(url, contract);
    await env.reset();
    await expect(env.step({ does: "throw" })).rejects.toMatchObject({ code: "EXECUTION_ERROR", fault: "environment" });
    const failed = await env.tryStep({ does: "outage" });
    expect(failed).toMatchObject({
      reward: null,
      metadata: { error_code: "EXECUTION_ERROR", fault: "infrastructure" },
    });
    await expect(connect("http://127.0.0.1:1")).rejects.toMatchObject({ fault: "infrastructure" });
  });

  test("is a label of the metric, and in the errors of the server view", async () => {
    const server = await startShaky({ ...WITH_OPERATOR });
    const socket = await open(server);
    await socket.ask(step("work"));
    await socket.ask(RESET);
    await socket.ask(step("throw"));
    await socket.ask(step("outage"));
    await socket.ask(step("outage"));
    const text = await (await fetchAsOperator(`${server.url}/metrics`)).text();
    const counts = [...text.matchAll(/code="EXECUTION_ERROR",fault="(\w+)"\} (\d+)$/gm)];
    expect(counts.map(([, fault, count]) => `${fault} ${count}`)).toEqual([
      "infrastructure 2",
      "environment 1",
      "client 1",
    ]);
    const view = (await (await fetchAsOperator(`${server.url}/web/server`)).json()) as ServerView;
    expect(view.errors).toEqual({ EXECUTION_ERROR: 4 });
    expect(view.recent_errors.map(({ fault }) => fault)).toEqual([
      "infrastructure",
      "infrastructure",
      "environment",
      "client",
    ]);
  });
});

test("the log of a failed step has the fault", async () => {
  const logged: object[] = [];
  const log = { ...silentLog, warn: (fields: object) => void logged.push(fields) };
  const session = await new Sessions(createRuntime(shaky, { log }), {
    maxConcurrentEnvs: 1,
    sessionTimeoutMs: null,
  }).open(undefined);
  await session.call({ type: "reset" });
  await session.call({ type: "step", data: { does: "outage" } });
  expect(logged).toMatchObject([{ session: session.id, fault: "infrastructure" }]);
});
