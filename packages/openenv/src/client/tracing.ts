import type { OpenEnvError } from "../errors.js";
import type { JsonObject } from "../protocol/messages.js";
import { isObject } from "../util/is-object.js";

/** What is used of `@opentelemetry/api`. */
interface Tracer {
  startSpan(name: string, options: { kind: number; attributes: Record<string, string> }): Span;
}
interface Span {
  spanContext(): { traceId: string; spanId: string; traceFlags: number };
  setAttribute(name: string, value: string): void;
  setStatus(status: { code: number }): void;
  end(): void;
}

/** The API of a program that has started an SDK, whichever copy of the package it uses. It needs no import here. */
const API = Symbol.for("opentelemetry.js.api.1");
const [CLIENT, ERROR] = [2, 2];

/**
 * Calls `send` in the span of a reset or a step, or of the tool that the step calls. What `send` gets adds the context of the
 * span to data, as metadata.
 */
export function traced<T>(
  request: { method: string; data: JsonObject },
  send: (add: (data: JsonObject) => JsonObject) => Promise<T>,
): Promise<T> {
  return request.method === "state" || findApi() === undefined ? send((given) => given) : inSpan(request, send);
}

async function inSpan<T>(
  { method, data }: { method: string; data: JsonObject },
  send: (add: (data: JsonObject) => JsonObject) => Promise<T>,
): Promise<T> {
  const tool = data["type"] === "call_tool" ? String(data["tool_name"]) : undefined;
  const name = tool === undefined ? `openenv.${method}` : `execute_tool ${tool}`;
  const attributes = { ...(tool && { "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": tool }) };
  const span = startSpan(name, attributes);
  return span === undefined ? send((given) => given) : during(span, () => send((given) => addContext(given, span)));
}

/** Opens a connection in a span of its own, whose context is a header of the handshake. */
export function tracedOpen<T>(open: (headers: Record<string, string>) => Promise<T>): Promise<T> {
  const span = startSpan("openenv.connect", {});
  return span === undefined ? open({}) : during(span, () => open(contextOf(span)));
}

async function during<T>(span: Span, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    span.setAttribute("error.type", (error as OpenEnvError).code ?? "_OTHER");
    span.setStatus({ code: ERROR });
    throw error;
  } finally {
    span.end();
  }
}

function startSpan(name: string, attributes: Record<string, string>): Span | undefined {
  return findApi()?.getTracer("openenv-ts").startSpan(name, { kind: CLIENT, attributes });
}

function findApi(): { getTracer(name: string): Tracer } | undefined {
  return (globalThis as { [API]?: { trace?: { getTracer(name: string): Tracer } } })[API]?.trace;
}

function addContext(data: JsonObject, span: Span): JsonObject {
  const { metadata = {} } = data;
  return isObject(metadata) ? { ...data, metadata: { ...contextOf(span), ...metadata } } : data;
}

/** Nothing for a span of an API without an SDK, which has no trace. */
function contextOf(span: Span): Record<string, string> {
  const { traceId, spanId, traceFlags } = span.spanContext();
  if (/^0*$/.test(traceId)) return {};
  return { traceparent: `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, "0")}` };
}
