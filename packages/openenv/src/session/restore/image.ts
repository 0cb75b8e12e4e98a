import type { Contract } from "../../contract/contract.js";
import type { Environment } from "../../environment/environment.js";
import { type SavedEnvironment, saveAll } from "../../environment/wrappers/wrapper.js";
import { stringifyJson } from "../../protocol/codec/json.js";
import { errorData, type WireCode } from "../../protocol/messages.js";
import { isThenable } from "../../util/async/thenable.js";
import { snapshot as snapshotOf } from "../../util/snapshot.js";
import type { MaybePromise } from "../../util/types.js";
import { toJsonSafe } from "../../validation/json-safe.js";
import type { Progress, SavedState, SessionImage } from "../calls/session-event.js";
import { describeError, toError } from "../failure.js";
import type { Runtime } from "../runtime.js";
import { SessionKilledError } from "../session-killed.js";
import { SessionRejectedError } from "../session-rejected-error.js";
import type { RecordedSession, SessionEvents } from "./session-events.js";
import { decodeBytes, encodeBytes } from "./snapshot-bytes.js";

interface ImagedSession extends RecordedSession {
  readonly events: SessionEvents;
  readonly progress: Progress;
}

/**
 * The image of a session while no call can begin: for a recorder. Others use `capture`.
 * @throws SessionRejectedError (NOT_RESTORABLE, SNAPSHOT_FAILED), or rejects with it; the session continues.
 */
export function takeImage(session: ImagedSession): MaybePromise<SessionImage> {
  const { environment, events, runtime } = session;
  if (environment === undefined) throw refuse("NOT_RESTORABLE", "the session has no environment yet");
  const known = events.history?.at(events.last);
  if (known !== undefined) return known;
  const { tier } = events;
  if (tier.tier === "none") throw refuse("NOT_RESTORABLE", `the session cannot be restored: ${tier.reason}`);
  const kept = tier.tier === "replay" ? events.kept : [];
  if (typeof kept === "string") throw refuse("NOT_RESTORABLE", `the session cannot be restored: ${kept}`);
  const saved = tier.tier === "replay" ? { events: kept } : saveEnvironment(environment, runtime);
  return isThenable(saved)
    ? saved.then((restore) => describeSession(session, restore))
    : describeSession(session, saved);
}

/** An image with what restores the environment, which the caller has. */
export function describeSession(
  { events, progress, runtime }: ImagedSession,
  restore: SessionImage["restore"],
): MaybePromise<SessionImage> {
  const { contract, snapshotVersion } = runtime.definition;
  const hash = contractHash(contract);
  const finish = (known: string): SessionImage => {
    return { contract: known, snapshotVersion, event: events.last, ...progress, rng: events.rngState, restore };
  };
  return isThenable(hash) ? hash.then(finish) : finish(hash);
}

/** @throws SessionRejectedError (SNAPSHOT_FAILED), or rejects with it. */
function saveEnvironment(environment: Environment, { mode, restore }: Runtime): MaybePromise<SavedState> {
  const fail = (error: unknown): never => {
    if (error instanceof SessionRejectedError || error instanceof SessionKilledError) throw error;
    throw refuse("SNAPSHOT_FAILED", `snapshot() failed: ${describeError(error, mode)}`, error);
  };
  try {
    const saved = saveAll(environment);
    const copy = (one: SavedEnvironment): SavedState => copySaved(one, restore.snapshotBytes);
    return isThenable(saved) ? Promise.resolve(saved).then(copy).then(undefined, fail) : copy(saved);
  } catch (error) {
    return fail(error);
  }
}

/** A copy, since the environment may go on to change what it returned. */
function copySaved({ snapshot, more }: SavedEnvironment, limit: number): SavedState {
  const copy = snapshot instanceof Uint8Array ? new Uint8Array(snapshot) : toText(snapshot);
  checkSize(copy.length, limit);
  return { snapshot: copy, more: snapshotOf(more) };
}

function toText(value: unknown): string {
  const { value: safe, nonFinite } = toJsonSafe(encodeBytes(value), "snapshot");
  if (nonFinite > 0)
    throw refuse("SNAPSHOT_FAILED", "snapshot() returned NaN or an infinity, which JSON does not have");
  return stringifyJson(safe);
}

/** What `restore()` receives. */
export function readSnapshot(saved: SavedState["snapshot"]): unknown {
  return typeof saved === "string" ? decodeBytes(JSON.parse(saved)) : snapshotOf(saved);
}

function checkSize(size: number, limit: number): void {
  if (size <= limit) return;
  const message = `snapshot() returned ${size} bytes; the limit is ${limit}: save only what restore() needs, or raise SNAPSHOT_BYTES`;
  throw refuse("SNAPSHOT_FAILED", message);
}

/** @throws SessionRejectedError (SNAPSHOT_MISMATCH), or rejects with it, when the image is of another version. */
export async function checkImage(image: SessionImage, { definition }: Runtime): Promise<void> {
  const hash = await contractHash(definition.contract);
  const { snapshotVersion } = definition;
  const isReplay = "events" in image.restore;
  if (image.contract !== hash) {
    const message = `the session was saved with the contract ${image.contract}, but the server has ${hash}`;
    throw refuse("SNAPSHOT_MISMATCH", message);
  }
  if (!isReplay && image.snapshotVersion !== snapshotVersion) {
    const message = `the session was saved with snapshotVersion ${image.snapshotVersion}, but the server has ${snapshotVersion}`;
    throw refuse("SNAPSHOT_MISMATCH", message);
  }
}

const hashes = new WeakMap<Contract, string>();

/** Sync from the second time on. */
function contractHash(contract: Contract): MaybePromise<string> {
  const known = hashes.get(contract);
  if (known !== undefined) return known;
  return contract.fingerprint().then(({ hash }) => {
    hashes.set(contract, hash);
    return hash;
  });
}

export function refuse(code: WireCode, message: string, cause?: unknown): SessionRejectedError {
  return new SessionRejectedError(
    errorData(code, message),
    cause === undefined ? undefined : { cause: toError(cause) },
  );
}
