import { SpanStatusCode, trace } from "@opentelemetry/api";
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  ParentBasedSampler,
  type Sampler,
  SamplingDecision,
  SimpleSpanProcessor,
} from "@opentelemetry/sdk-trace-base";
import { ConnectionError, connect, connectVector } from "openenv-ts/client";
import { afterAll, beforeEach, describe, expect, test } from "vitest";
import { defineDesk } from "../../../test-support/environments/tool-environment.js";
import { findFreePort } from "../../../test-support/free-port.js";
import { fetchAsOperator, WITH_OPERATOR } from "../../../test-support/operator.js";
import { useServers } from "../../../test-support/servers/servers.js";
import otel from "./index.js";

const exporter = new InMemorySpanExporter();
let rootsAreSampled = true;
const root: Sampler = {
  shouldSample: () => ({
    decision: rootsAreSampled ? SamplingDecision.RECORD_AND_SAMPLED : SamplingDecision.NOT_RECORD,
  }),
};
const spanProcessors = [new SimpleSpanProcessor(exporter)];
trace.setGlobalTracerProvider(new BasicTracerProvider({ sampler: new ParentBasedSampler({ root }), spanProcessors }));

const { start, open } = useServers();
const TRACE = "4bf92f3577b34da6a3ce929d0e0e4736";
const SPAN = "00f067aa0ba902b7";
const sampled = `00-${TRACE}-${SPAN}-01`;
const unsampled = `00-${TRACE}-${SPAN}-00`;
const plugins = [otel];

// Other tests of this process have no tracing.
afterAll(() => trace.disable());
beforeEach(() => {
  exporter.reset();
  rootsAreSampled = true;
});

/** The finished spans, each with the name of its parent; that of the client has the name `client`. */
function tree(): string[] {
  const spans = exporter.getFinishedSpans();
  const nameOf = (id: string | undefined): string => {
    if (id === SPAN) return "client";
    return spans.find((span) => span.spanContext().spanId === id)?.name ?? "root";
  };
  return spans.map(({ name, parentSpanContext }) => `${nameOf(parentSpanContext?.spanId)} > ${name}`);
}

function find(name: string) {
  const span = exporter.getFinishedSpans().find((one) => one.name === name);
  if (span === undefined) throw new Error(`no span ${name} in ${tree().join(", ")}`);
  return span;
}

async function ended(socket: { ws: { close(): void } }): Promise<void> {
  socket.ws.close();
  await expect.poll(() => tree().some((line) => line.endsWith("openenv.session"))).toBe(true);
}

test("a session without a context is one trace: session, episode, requests", async () => {
  const socket = await open(await start({ plugins }));
  await socket.ask({ type: "reset", data: { seed: 7 } });
  await socket.ask({ type: "step", data: { amount: 2 } });
  await socket.ask({ type: "state" });
  await socket.ask({ type: "step", data: { amount: "wrong" } });
  await ended(socket);
  expect(tree()).toEqual([
    "openenv.episode > openenv.reset",
    "openenv.episode > openenv.step",
    "openenv.episode > openenv.step",
    "openenv.session > openenv.episode",
    "root > openenv.session",
  ]);
  const [reset, step, wrong, episode, session] = exporter.getFinishedSpans();
  expect(reset?.attributes).toMatchObject({ "openenv.seed": 7, "openenv.step": 0 });
  expect(step?.attributes).toEqual({
    "openenv.session": session?.attributes["openenv.session"],
    "openenv.episode": episode?.attributes["openenv.episode"],
    "openenv.step": 1,
  });
  expect(step?.events).toMatchObject([
    {
      name: "gen_ai.evaluation.result",
      attributes: { "gen_ai.evaluation.name": "reward", "gen_ai.evaluation.score.value": 2 },
    },
  ]);
  expect(wrong).toMatchObject({ attributes: { "error.type": "VALIDATION_ERROR" }, status: { code: 2 } });
  expect(episode?.attributes).toMatchObject({ "openenv.steps": 1, "openenv.reward": 2, "openenv.done": false });
});

test("contents are in no span", async () => {
  const socket = await open(await start({ plugins }, defineDesk()));
  await socket.ask({ type: "reset", data: {} });
  const secret = "a-secret-of-the-agent";
  await socket.ask({ type: "step", data: { type: "call_tool", tool_name: "add", arguments: { a: secret, b: 1 } } });
  await socket.ask({ type: "step", data: { message: secret } });
  await ended(socket);
  const written = exporter.getFinishedSpans().map(({ name, attributes, events, status }) => {
    return JSON.stringify({ name, attributes, events, status });
  });
  expect(written).toHaveLength(5);
  expect(written.join()).not.toContain(secret);
});

describe("the context of a request", () => {
  test("in the metadata of an action is the parent of its step", async () => {
    rootsAreSampled = false;
    const socket = await open(await start({ plugins }));
    await socket.ask({ type: "reset" });
    await socket.ask({ type: "step", data: { amount: 1 } });
    await socket.ask({ type: "step", data: { amount: 1, metadata: { traceparent: sampled } } });
    await socket.ask({ type: "step", data: { amount: 1, metadata: { traceparent: unsampled } } });
    expect(tree()).toEqual(["client > openenv.step"]);
    const step = find("openenv.step");
    expect(step.spanContext().traceId).toBe(TRACE);
    expect(step.attributes["openenv.step"]).toBe(2);
  });

  test("in the handshake is the parent of the session", async () => {
    const socket = await open(await start({ plugins }), "/ws", { traceparent: sampled });
    await socket.ask({ type: "reset" });
    await ended(socket);
    expect(tree()).toEqual([
      "openenv.episode > openenv.reset",
      "openenv.session > openenv.episode",
      "client > openenv.session",
    ]);
  });

  test("that is not sampled is decided for the whole session", async () => {
    const socket = await open(await start({ plugins }), "/ws", { traceparent: unsampled });
    await socket.ask({ type: "reset" });
    await socket.ask({ type: "step", data: { amount: 1 } });
    expect(tree()).toEqual([]);
  });

  const none = "0".repeat(32);
  const tooLong = `${sampled}-more`;
  test.each([
    "",
    "x-00",
    tooLong,
    `ff-${TRACE}-${SPAN}-00`,
    `00-${none}-${SPAN}-01`,
    `00-${none}-${SPAN}-00`,
    5,
    null,
    {},
  ])("that is not valid (%j) is ignored", async (traceparent) => {
    const socket = await open(await start({ plugins }));
    await socket.ask({ type: "reset" });
    await socket.ask({ type: "step", data: { amount: 1, metadata: { traceparent } } });
    expect(tree()).toEqual(["root > openenv.reset", "root > openenv.step"]);
  });

  test("is the header of an HTTP request", async () => {
    rootsAreSampled = false;
    const { url } = await start({ plugins });
    const post = (path: string, body: object, headers: Record<string, string>) =>
      fetch(url + path, { method: "POST", body: JSON.stringify(body), headers });
    const begun = await post("/reset", {}, {});
    const session = { "openenv-session": String(begun.headers.get("openenv-session")) };
    await post("/step", { action: { amount: 1 } }, session);
    await post("/step", { action: { amount: 1 } }, { ...session, traceparent: sampled });
    expect(tree()).toEqual(["client > openenv.step"]);
  });
});

test("a sampled step is an exemplar of the step histogram in OpenMetrics", async () => {
  const server = await start({ ...WITH_OPERATOR, plugins });
  const read = async (): Promise<string> => {
    const accept = "application/openmetrics-text;version=1.0.0,text/plain;q=0.5";
    const response = await fetchAsOperator(`${server.url}/metrics`, { accept });
    return `${response.headers.get("content-type")}\n${await response.text()}`;
  };
  const socket = await open(server);
  await socket.ask({ type: "reset" });
  expect(await read()).toMatch(/^text\/plain; version=0\.0\.4/);
  await socket.ask({ type: "step", data: { amount: 1, metadata: { traceparent: sampled } } });
  const text = await read();
  expect(text).toMatch(/^application\/openmetrics-text; version=1\.0\.0/);
  const { spanId } = find("openenv.step").spanContext();
  const shown = text.split("\n").filter((line) => line.includes(" # {"));
  expect(shown).toEqual([expect.stringContaining(` 1 # {trace_id="${TRACE}",span_id="${spanId}"} 0.`)]);
  expect(shown[0]).toMatch(/^openenv_step_duration_seconds_bucket\{worker="0",le="[\d.e-]+"\}/);
  expect(text).toContain("# TYPE openenv_steps counter\nopenenv_steps_total{");
  expect(text.endsWith("\n# EOF\n")).toBe(true);
});

describe("a tool call", () => {
  const call = { name: "add", arguments: { a: 1, b: 2 } };

  test("is a span of the GenAI conventions", async () => {
    const socket = await open(await start({ plugins }, defineDesk()));
    await socket.ask({ type: "reset", data: {} });
    await socket.ask({ type: "step", data: { type: "call_tool", tool_name: "add", arguments: { a: 1, b: 2 } } });
    expect(find("execute_tool add").attributes).toMatchObject({
      "gen_ai.operation.name": "execute_tool",
      "gen_ai.tool.name": "add",
    });
  });

  test.each<[string, object, Record<string, string>]>([
    ["_meta", { ...call, _meta: { traceparent: sampled } }, {}],
    ["a header", call, { traceparent: sampled }],
  ])("over JSON-RPC has the context of %s", async (_where, params, headers) => {
    rootsAreSampled = false;
    const { url } = await start({ plugins, mode: "production" }, defineDesk());
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params });
    await fetch(`${url}/mcp`, { method: "POST", body, headers });
    const span = find("execute_tool add");
    expect(span.attributes["mcp.method.name"]).toBe("tools/call");
    expect(span.spanContext().traceId).toBe(TRACE);
  });

  test.each([true, false])("of an MCP client has the context of _meta (with a header: %s)", async (withHeader) => {
    rootsAreSampled = false;
    const { url } = await start({ plugins, mode: "production" }, defineDesk());
    const post = (body: object, headers: Record<string, string> = {}) =>
      fetch(`${url}/mcp`, {
        method: "POST",
        body: JSON.stringify({ jsonrpc: "2.0", ...body }),
        headers: { "content-type": "application/json", accept: "application/json, text/event-stream", ...headers },
      });
    const clientInfo = { name: "test", version: "1" };
    const params = { protocolVersion: "2025-06-18", capabilities: {}, clientInfo };
    const opened = await post({ id: 1, method: "initialize", params });
    const session = { "mcp-session-id": String(opened.headers.get("mcp-session-id")) };
    await post({ method: "notifications/initialized" }, session);
    const meta = withHeader ? {} : { _meta: { traceparent: sampled } };
    const header: Record<string, string> = withHeader ? { traceparent: sampled } : {};
    await post({ id: 2, method: "tools/call", params: { ...call, ...meta } }, { ...session, ...header });
    expect(tree()).toEqual(["client > execute_tool add"]);
  });
});

describe("the TypeScript client", () => {
  test("makes spans, which are the parents of those of the server", async () => {
    const { url } = await start({ plugins });
    const env = await connect(url, { check: false });
    await env.reset({ seed: 3 });
    await env.step({ amount: 1 });
    await expect(env.step({ amount: "wrong" })).rejects.toThrow();
    await env.close();
    await expect.poll(tree).toContain("openenv.connect > openenv.session");
    expect(tree().filter((line) => line.startsWith("root"))).toEqual([
      "root > openenv.connect",
      "root > openenv.reset",
      "root > openenv.step",
      "root > openenv.step",
    ]);
    expect(tree().filter((line) => line === "openenv.step > openenv.step")).toHaveLength(2);
    expect(tree()).toContain("openenv.reset > openenv.reset");
    expect(tree()).toContain("openenv.reset > openenv.episode");
    const failed = exporter.getFinishedSpans().filter(({ attributes }) => attributes["error.type"] !== undefined);
    expect(failed).toHaveLength(2);
  });

  test("makes a span for a connection, which fails with it", async () => {
    await start({ plugins });
    const url = `http://127.0.0.1:${await findFreePort()}`;
    const env = await connect(url, { check: false }).catch((error: ConnectionError) => error);
    expect(env).toBeInstanceOf(ConnectionError);
    expect(find("openenv.connect")).toMatchObject({
      status: { code: SpanStatusCode.ERROR },
      attributes: { "error.type": "CONNECTION_FAILED" },
    });
  });

  test("makes one span for a call of many sessions", async () => {
    const { url } = await start({ plugins });
    const env = await connectVector(url, { size: 3 });
    const [first] = await env.reset();
    expect(first?.warnings).toEqual([]);
    await env.step([{ amount: 1 }, { amount: 2 }, { amount: 3 }]);
    await env.close();
    expect(tree().filter((line) => line === "openenv.step > openenv.step")).toHaveLength(3);
    expect(tree().filter((line) => line === "root > openenv.step")).toHaveLength(1);
  });

  test("makes the span of a tool", async () => {
    const { url } = await start({ plugins }, defineDesk());
    const env = await connect(url);
    await env.reset();
    await env.tools["add"]?.({ a: 1 });
    await env.close();
    expect(tree()).toContain("execute_tool add > execute_tool add");
  });
});
