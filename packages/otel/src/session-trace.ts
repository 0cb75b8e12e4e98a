import {
  type Attributes,
  type Context,
  context,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  trace,
} from "@opentelemetry/api";
import type { Opener, PluginAnswer, PluginHooks, PluginRequest, ServerHandle, SessionHandle } from "openenv-ts/plugin";
import { readTraceparent } from "./traceparent.js";

type Next = Parameters<NonNullable<PluginHooks["around"]>>[1];

const tracer = trace.getTracer("@openenv-ts/otel");
/** The last digit of the flags, at 54 of a trace context, is one of these if the context is sampled. */
const SAMPLED = "13579bdf";
/** The methods of a session that runs over MCP or JSON-RPC. */
const TOOL_METHOD = { "mcp.method.name": "tools/call" };

/** A request in its span, since then by `performance.now()`. */
interface Started {
  type: PluginRequest["type"];
  span: Span;
  since: number;
}

/** The spans of one session. What the sampler or the caller does not want costs no object. */
export class SessionTrace implements PluginHooks {
  readonly #session: SessionHandle;
  readonly #server: ServerHandle;
  /** Undefined if it is not sampled. */
  readonly #span: Span | undefined;
  /** What a request without a context is a part of: the session. */
  readonly #context: Context | undefined;
  /** The same in an episode. */
  #current: Context | undefined;
  #episode: Span | undefined;
  /** The last request, if it is sampled: what it did is committed with its answer. */
  #last: Context | undefined;
  #restore: Span | undefined;

  constructor(session: SessionHandle, opener: Opener, server: ServerHandle) {
    this.#session = session;
    this.#server = server;
    const parent = readTraceparent(opener.traceparent);
    if (parent === null) return;
    const attributes = {
      "openenv.session": session.label,
      "openenv.environment": server.environment,
      "openenv.client": opener.client,
      "openenv.worker": server.worker,
    };
    const span = tracer.startSpan("openenv.session", { attributes }, parent ?? ROOT_CONTEXT);
    if (!span.isRecording()) return;
    this.#span = span;
    this.#current = this.#context = trace.setSpan(parent ?? ROOT_CONTEXT, span);
    if (opener.isRestored) this.#restore = tracer.startSpan("openenv.restore", {}, this.#context);
  }

  around(request: PluginRequest, next: Next): ReturnType<Next> {
    const { type, data, traceparent } = request;
    this.#last = undefined;
    if (type === "state") return next();
    const metadata = data["metadata"] as { traceparent?: unknown } | null | undefined;
    const text = traceparent ?? metadata?.traceparent;
    if (this.#span === undefined && !SAMPLED.includes(String(text).charAt(54) || "0")) return next();
    const given = readTraceparent(text);
    const parent = given === undefined ? this.#current : (given ?? undefined);
    this.#endRestore();
    if (type === "reset") return this.#reset(request, next, given);
    return parent === undefined ? next() : this.#call(request, next, parent);
  }

  committed(since: number): void {
    if (this.#last === undefined) return;
    tracer.startSpan("openenv.commit", { startTime: since }, this.#last).end(performance.now());
  }

  detached(): void {
    this.#endRestore();
  }

  ended(): void {
    this.#restore?.setStatus({ code: SpanStatusCode.ERROR }).end();
    this.#endEpisode();
    this.#span?.end();
  }

  #reset(request: PluginRequest, next: Next, given: Context | null | undefined): ReturnType<Next> {
    this.#endEpisode();
    const parent = given === undefined ? this.#context : (given ?? undefined);
    if (parent === undefined) return next();
    const episode = this.#begin(parent);
    // A span of the caller is exported, even if this process is killed.
    return this.#call(request, next, given ?? episode);
  }

  /** Returns the context of an episode. */
  #begin(parent: Context): Context {
    this.#episode = tracer.startSpan("openenv.episode", {}, parent);
    return (this.#current = trace.setSpan(parent, this.#episode));
  }

  #call(request: PluginRequest, next: Next, parent: Context): ReturnType<Next> {
    const { name, attributes } = describe(request);
    attributes["openenv.session"] = this.#session.label;
    const span = tracer.startSpan(name, { kind: SpanKind.SERVER, attributes }, parent);
    if (!span.isRecording()) return next();
    const own = (this.#last = trace.setSpan(parent, span));
    const since = performance.now();
    const answer = context.with(own, next);
    if ("then" in answer) void answer.then((late) => this.#finish({ type: request.type, span, since }, late));
    else this.#finish({ type: request.type, span, since }, answer);
    return answer;
  }

  #finish({ type, span, since }: Started, answer: PluginAnswer): void {
    const { episodeId, steps, done } = this.#session;
    if (episodeId !== null) span.setAttribute("openenv.episode", episodeId);
    span.setAttribute("openenv.step", steps);
    const error = errorOf(answer);
    if (error !== undefined) span.setAttribute("error.type", error).setStatus({ code: SpanStatusCode.ERROR });
    if ("type" in answer && answer.type === "observation") {
      const { reward } = answer.data;
      const { traceId, spanId } = span.spanContext();
      if (type === "step") this.#server.exemplify(performance.now() - since, { trace_id: traceId, span_id: spanId });
      if (done) span.setAttribute("openenv.done", true);
      if (reward !== null) {
        span.addEvent("gen_ai.evaluation.result", {
          "gen_ai.evaluation.name": "reward",
          "gen_ai.evaluation.score.value": Number(reward),
        });
      }
    }
    span.end();
    if (done || (type === "reset" && error !== undefined)) this.#endEpisode();
  }

  #endEpisode(): void {
    const episode = this.#episode;
    if (episode === undefined) return;
    this.#episode = undefined;
    this.#current = this.#context;
    const { episodeId, steps, reward, done } = this.#session;
    if (episodeId !== null) {
      const result = { "openenv.steps": steps, "openenv.reward": reward, "openenv.done": done };
      episode.setAttributes({ "openenv.episode": episodeId, ...result });
    }
    episode.end();
  }

  #endRestore(): void {
    const restore = this.#restore;
    if (restore === undefined || this.#context === undefined) return;
    this.#restore = undefined;
    restore.end();
    if (this.#session.episodeId !== null && !this.#session.done) this.#begin(this.#context);
  }
}

/** The name of a span, and what it says of the request: never its contents. */
function describe({ type, data }: PluginRequest): { name: string; attributes: Attributes } {
  const isStep = type === "step";
  const tool = type === "tool" ? data["name"] : isStep && data["type"] === "call_tool" ? data["tool_name"] : undefined;
  if (typeof tool === "string") {
    const attributes = { "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": tool };
    return { name: `execute_tool ${tool}`, attributes: isStep ? attributes : { ...attributes, ...TOOL_METHOD } };
  }
  const { seed } = data;
  const isSeeded = type === "reset" && typeof seed === "number";
  return { name: `openenv.${type}`, attributes: isSeeded ? { "openenv.seed": seed } : {} };
}

/** The code of an error, or the type of a failed tool call. */
function errorOf(answer: PluginAnswer): string | undefined {
  if (!("type" in answer)) return answer.error?.error_type;
  if (answer.type === "error") return answer.data.code;
  if (answer.type !== "observation") return undefined;
  const { error } = answer.data.observation as { error?: { error_type?: unknown } | null };
  return typeof error?.error_type === "string" ? error.error_type : undefined;
}
