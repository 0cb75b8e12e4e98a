import { setTimeout as sleep } from "node:timers/promises";
import { type FactoryContext, SessionLostError } from "openenv-ts";
import { parseAddress } from "openenv-ts/internal";
import type { JsonObject } from "openenv-ts/protocol";
import type { Fleet, UpstreamPlace } from "../fleet/types.js";
import { openWebSocket, UpstreamSocket } from "./upstream-socket.js";

/** A session of an upstream, and its place there. */
export interface OpenSession {
  readonly socket: UpstreamSocket;
  readonly place: UpstreamPlace;
  /** Its observations come with the views of the author. */
  readonly hasViews: boolean;
}

const TRIES = 3;
const CONNECT_MS = 10_000;
/** An upstream frees the slot of a session shortly after its socket has closed. */
const FREE_WITHIN_MS = 5_000;
/** Answered by every upstream, and changes nothing. */
const PROBE = '{"type":"state"}';

/**
 * Takes a place, and opens a session there, with views on request; an upstream that does not answer is left for another.
 * Rejects with an error that names the last upstream.
 */
export async function openSession(
  fleet: Fleet,
  { signal, wait, traceparent }: FactoryContext,
  hasViews = false,
): Promise<OpenSession> {
  for (let left = TRIES; ; left--) {
    const place = await wait(fleet.take(signal));
    try {
      return await openAt(place, { signal, hasViews, traceparent });
    } catch (error) {
      const isDown = (error as { fault?: unknown }).fault !== "environment" && !signal.aborted;
      if (isDown) place.suspect();
      place[Symbol.dispose]();
      if (!isDown || left === 1) throw error;
    }
  }
}

/** Opens a session with views in the same place. Rejects with SessionLostError when the upstream does not open it. */
export async function openAgain({ place, socket }: OpenSession): Promise<OpenSession> {
  await socket.close();
  try {
    return await openAt(place, { signal: AbortSignal.timeout(CONNECT_MS), hasViews: true });
  } catch (error) {
    throw new SessionLostError((error as Error).message);
  }
}

interface Opening {
  signal: AbortSignal;
  hasViews: boolean;
  traceparent?: string | undefined;
}

async function openAt(place: UpstreamPlace, { signal, hasViews, traceparent }: Opening): Promise<OpenSession> {
  const { name, url } = place.upstream;
  const until = performance.now() + FREE_WITHIN_MS;
  for (let delayMs = 20; ; delayMs *= 2) {
    const options = { name, signal, timeoutMs: CONNECT_MS, headers: traceparent === undefined ? {} : { traceparent } };
    const ws = await openWebSocket(parseAddress(url).socket(hasViews ? { view: "1" } : {}), options);
    const socket = new UpstreamSocket(ws, { name, ended: place.ended });
    // An upstream that has no room says so instead of an answer.
    const answer = JSON.parse(await socket.ask(PROBE)) as Answer;
    const refusal = refusalOf(answer);
    if (refusal === undefined) {
      return { place, socket, hasViews: answer.openenv?.extensions?.includes("view") === true };
    }
    await socket.close();
    if (refusal.code === "FACTORY_ERROR" || performance.now() + delayMs > until) {
      const fault = refusal.code === "FACTORY_ERROR" ? "environment" : "infrastructure";
      throw Object.assign(new Error(`${name} has opened no session: ${refusal.message}`), { fault });
    }
    await sleep(delayMs, undefined, { signal });
  }
}

interface Answer {
  type?: unknown;
  data?: JsonObject;
  openenv?: { extensions?: unknown[] };
}

function refusalOf({ type, data = {} }: Answer): { code: string; message: string } | undefined {
  const code = String(data["code"]);
  const isRefusal = type === "error" && (code === "CAPACITY_REACHED" || code === "FACTORY_ERROR");
  return isRefusal ? { code, message: String(data["message"]) } : undefined;
}
