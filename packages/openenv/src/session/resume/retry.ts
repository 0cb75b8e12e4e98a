import { isThenable } from "../../util/async/thenable.js";
import { isObject } from "../../util/is-object.js";
import type { Resumption } from "./resumptions.js";

/**
 * Answers that could not be written to a socket, for clients with retries of their own: below `/session/<name>/retry` the
 * first frame of the next connection gets such an answer if it is an equal step. Elsewhere equal steps are two steps.
 */

/** The key among the stored answers; an id of a client has at least one character and no NUL. */
const KEY = "\0retry";

type Frame = string | Uint8Array;

/** Functions that are true over HTTP while the client of the last step waits: a second equal step is another one. */
const waiting = new WeakMap<Resumption, () => boolean>();

/** The answer for an equal step, if it was not written; `isFirst`: the step is the first frame of its connection. */
export function takeRetry(
  resumption: Resumption,
  digest: string,
  isFirst: boolean,
): Frame | Promise<Frame> | undefined {
  if (!isFirst || waiting.get(resumption)?.() === true) return undefined;
  const last = resumption.answers.find(KEY);
  return last?.request === digest ? last.answer : undefined;
}

/** Keeps the answer of a step until it is written. An answer that is known at once is written at once. */
export function holdRetry<T extends Frame | Promise<Frame>>(resumption: Resumption, digest: string, answer: T): T {
  const { answers, journal } = resumption;
  answers.drop(KEY);
  journal?.dropUnsent();
  if (isThenable(answer)) answers.restore(KEY, digest, answer);
  return answer;
}

/** Answers a request over HTTP as the first frame on a socket is answered. `call` performs it. */
export async function retryOverHttp(
  resumption: Resumption,
  digest: string,
  { isOpen, call }: { isOpen(): boolean; call(): Promise<string> },
): Promise<string> {
  const stored = takeRetry(resumption, digest, true);
  waiting.set(resumption, isOpen);
  const answer = String(await (stored ?? holdRetry(resumption, digest, call())));
  settleRetry(resumption, answer, isOpen());
  return answer;
}

/** The answer is ready: it is written now, or kept because its connection has ended. */
export function settleRetry(resumption: Resumption | undefined, answer: string, isWritten: boolean): void {
  if (resumption === undefined) return;
  const { answers, journal } = resumption;
  const last = answers.find(KEY);
  // Another request has come meanwhile.
  if (last?.answer !== answer) return;
  if (!isWritten) return journal?.keepUnsent(String(last.request), answer);
  answers.drop(KEY);
  journal?.dropUnsent();
}

/** A frame that is not a step says that its client does not repeat one. */
export function dropRetry({ answers, journal }: Resumption, frame: unknown): void {
  if (isObject(frame) && frame["type"] === "step") return;
  answers.drop(KEY);
  journal?.dropUnsent();
}

/** What the process before this one could not send. */
export function restoreRetry({ answers }: Resumption, { digest, answer }: { digest: string; answer: string }): void {
  answers.restore(KEY, digest, answer);
}
