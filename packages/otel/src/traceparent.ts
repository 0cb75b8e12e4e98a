import { type Context, ROOT_CONTEXT, TraceFlags, trace } from "@opentelemetry/api";

const VALID = /^(?!ff)[\da-f]{2}-(?!0{32})([\da-f]{32})-(?!0{16})([\da-f]{16})-([\da-f]{2})(?:-|$)/;
/** Characters of version 00; later versions may have more. */
const LENGTH = 55;

/**
 * The context of a `traceparent` (W3C). Null if the caller has decided that the trace is not sampled; undefined for what
 * is not a context.
 */
export function readTraceparent(given: unknown): Context | null | undefined {
  if (typeof given !== "string" || (given.startsWith("00-") && given.length !== LENGTH)) return undefined;
  const [, traceId, spanId, flags] = VALID.exec(given) ?? [];
  if (traceId === undefined || spanId === undefined) return undefined;
  const traceFlags = Number.parseInt(flags ?? "", 16) & TraceFlags.SAMPLED;
  if (traceFlags === TraceFlags.NONE) return null;
  return trace.setSpanContext(ROOT_CONTEXT, { traceId, spanId, traceFlags, isRemote: true });
}
