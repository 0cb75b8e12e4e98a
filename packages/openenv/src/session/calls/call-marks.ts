import { type ClientMessage, FRAMES } from "../../protocol/messages.js";

const OTHERS = ["tool", "create", "render", "actions", "tasks", "capture", "restore"] as const;
/** The calls into an environment that may block the event loop, with their numbers from 1. */
export const CALL = Object.fromEntries(
  [...Object.keys(FRAMES), ...OTHERS].map((name, index) => [name, index + 1]),
) as Readonly<Record<ClientMessage["type"] | (typeof OTHERS)[number], number>>;

/** Added to the number of a call while its synchronous part runs. */
export const RUNNING = 64;

/** The session of a call that belongs to no session. */
export const NO_SESSION = 0;

/** Read by the watchdog: a heartbeat of the event loop, then server, session and number of the latest call. */
export const marks = new Int32Array(new (globalThis.SharedArrayBuffer ?? ArrayBuffer)(16));

/** Records the start of a call into an environment. Only plain writes, because this runs in every step. */
export function enterCall(server: number, session: number, call: number): void {
  marks[1] = server;
  marks[2] = session;
  marks[3] = call | RUNNING;
}

/** Records that the call has returned a value or a promise. It stays the latest call. */
export function leaveCall(): void {
  marks[3] = (marks[3] as number) & ~RUNNING;
}

/** Records the synchronous part of `run` as a call. */
export function markCall<T>(of: { server: number; session: number }, call: number, run: () => T): T {
  enterCall(of.server, of.session, call);
  try {
    return run();
  } finally {
    leaveCall();
  }
}
