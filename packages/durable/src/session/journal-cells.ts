import type { BinaryCodec } from "#core/protocol/codec/binary.js";
import type { SessionOpener } from "#core/session/attachable-session.js";
import type { SessionEvent, SessionImage } from "#core/session/calls/session-event.js";
import type { Frame } from "#core/session/registry/session-keeper.js";
import { DAMAGED, type JournalChanges, type JournalRecord } from "../journals/journal.js";

/** What a repeated request gets after a restore. */
export interface AnswerRecord {
  seq: number;
  request: Frame;
  answer: Frame;
  /** The id of the request, in a session by address; the request is then its digest. */
  id?: string;
}

// The names of the cells of a session. In a batch, the number of the session and a dot come before each. Events have their
// number after the letter, answers that of the first one in their cell.

/** The id of a session in a batch; how a session by address was opened. */
export const OPEN = "open";
export const IMAGE = "image";
/** Why the session cannot be restored. */
export const LOST = "lost";
/** The step whose answer could not be sent, by its digest, and the answer: for a client that retries by itself. */
export const UNSENT = "unsent";
/** The request that runs first after a restore: its number, or its digest in a session by address. */
export const RUNNING = "running";
/** The tool calls of agents are steps: stored when this is chosen, because the image changes only with an event. */
export const STEPS = "steps";
/** The process before has left the session between two requests. */
export const CLEAN = "clean";
/** The number of processes in a row that have begun to restore the session and not finished, with the present one. */
export const RESTORING = "restoring";
export const EVENT = "e";
export const EVENT_NAME = /^((?:\d+\.)?)(e\d+)$/;
export const ANSWER = "a";
const OPENING_BRACE = 0x7b;

/** The stored answers of a session that was taken over, in the order of their numbers. */
export function readAnswers({ cells }: JournalRecord, codec: BinaryCodec): (AnswerRecord & { cell: string })[] {
  const answers = [...cells].filter(([name]) => name.startsWith(ANSWER));
  return answers
    .map(([cell, value]) => {
      const [seq, request, answer, id] = codec.decode(value).value as [number, Frame, Frame, string?];
      return { cell, seq, request, answer, ...(id !== undefined && { id }) };
    })
    .sort((one, other) => one.seq - other.seq);
}

/** The peer that opened a session by address. */
export function readOpener({ cells }: JournalRecord): SessionOpener | undefined {
  const value = cells.get(OPEN);
  return value && (JSON.parse(Buffer.from(value).toString()) as SessionOpener);
}

/** The sessions of a batch: their numbers and ids. */
export function readBatch({ cells }: JournalRecord): Map<number, string> {
  const opened = [...cells].filter(([name]) => name.endsWith(`.${OPEN}`));
  return new Map(opened.map(([name, id]) => [Number.parseInt(name, 10), Buffer.from(id).toString()]));
}

/** Why it cannot be restored; undefined when it can. Of a batch, for one session or for any of them. */
export function readLost({ cells, isDamaged }: JournalRecord, prefix?: string): string | undefined {
  if (isDamaged) return DAMAGED;
  const isLost = (name: string): boolean =>
    prefix === undefined ? name === LOST || name.endsWith(`.${LOST}`) : name === prefix + LOST;
  const [, reason] = [...cells].find(([name]) => isLost(name)) ?? [];
  return reason && Buffer.from(reason).toString();
}

/** Encodes as JSON, which takes half the time of MessagePack; a snapshot of bytes has no JSON. */
export function encodeImage(image: SessionImage, codec: BinaryCodec): Uint8Array {
  const { restore } = image;
  const hasBytes = "snapshot" in restore && typeof restore.snapshot !== "string";
  return hasBytes ? codec.encode(image) : Buffer.from(JSON.stringify(image));
}

/** What a session continues from; undefined for one that has had no event. */
export function readImage({ cells }: JournalRecord, codec: BinaryCodec, prefix = ""): SessionImage | undefined {
  const value = cells.get(prefix + IMAGE);
  if (value === undefined) return undefined;
  const isText = value[0] === OPENING_BRACE;
  const image = (isText ? JSON.parse(Buffer.from(value).toString()) : codec.decode(value).value) as SessionImage;
  if (!("events" in image.restore)) return image;
  const events = [...cells].filter(([name]) => EVENT_NAME.exec(name)?.[1] === prefix);
  const parsed = events.map(([, text]) => JSON.parse(Buffer.from(text).toString()) as SessionEvent);
  return { ...image, restore: { events: parsed.sort((one, other) => one.event - other.event) } };
}

/** The request that ran when the process ended, if it was the first after a restore. */
export function readRunning({ cells }: JournalRecord): string | undefined {
  const value = cells.get(RUNNING);
  return value && Buffer.from(value).toString();
}

/** The number of processes in a row that have ended while they restored the session. */
export function readRestores({ cells }: JournalRecord): number {
  return Number(Buffer.from(cells.get(RESTORING) ?? "0").toString());
}

export function readUnsent({ cells }: JournalRecord): { digest: string; answer: string } | undefined {
  const cell = cells.get(UNSENT);
  if (cell === undefined) return undefined;
  const [digest, answer] = JSON.parse(Buffer.from(cell).toString()) as [string, string];
  return { digest, answer };
}

export function putRestores(count: number): JournalChanges {
  return { put: [[RESTORING, Buffer.from(String(count))]], remove: [] };
}
