import type { JsonObject } from "openenv-ts/protocol";
import { LoadFailure } from "./failure.js";

/** The data of an observation frame, or why it is none: an `error` frame gives its wire code. */
export function readAnswer(payload: Buffer): JsonObject | LoadFailure {
  const text = payload.toString();
  let frame: { type?: unknown; data?: unknown } | null;
  try {
    frame = JSON.parse(text) as typeof frame;
  } catch (cause) {
    return new LoadFailure("PROTOCOL_ERROR", `an answer that is no JSON: ${excerpt(text)}`, { cause });
  }
  const data = frame?.data;
  if (typeof data !== "object" || data === null) return protocolError(text);
  if (frame?.type === "observation") return data as JsonObject;
  const { code, message } = data as { code?: unknown; message?: unknown };
  if (frame?.type !== "error" || typeof code !== "string") return protocolError(text);
  return new LoadFailure(code, typeof message === "string" ? `${code}: ${message}` : code);
}

function protocolError(text: string): LoadFailure {
  return new LoadFailure("PROTOCOL_ERROR", `no observation: ${excerpt(text)}`);
}

function excerpt(text: string): string {
  return text.slice(0, 200);
}
