/** Numbers of the calls into an environment that may block the event loop. */
export const CALL = {
  reset: 1,
  step: 2,
  state: 3,
  tool: 4,
  create: 5,
  close: 6,
  render: 7,
  actions: 8,
  tasks: 9,
  capture: 10,
  restore: 11,
} as const;
export type CallNumber = (typeof CALL)[keyof typeof CALL];

/** Added to the number of a call while its synchronous part runs. */
export const RUNNING = 16;

/** The session of a call that belongs to no session. */
export const NO_SESSION = 0;

/** Read by the watchdog: a heartbeat of the event loop, then server, session and number of the latest call. */
export const marks = new Int32Array(new (globalThis.SharedArrayBuffer ?? ArrayBuffer)(16));

/** Records the start of a call into an environment. Only plain writes, because this runs in every step. */
export function enterCall(server: number, session: number, call: CallNumber): void {
  marks[1] = server;
  marks[2] = session;
  marks[3] = call | RUNNING;
}

/** Records that the call has returned a value or a promise. It stays the latest call. */
export function leaveCall(): void {
  marks[3] = (marks[3] as number) & ~RUNNING;
}

/** Records the synchronous part of `run` as a call. */
export function markCall<T>(of: { server: number; session: number }, call: CallNumber, run: () => T): T {
  enterCall(of.server, of.session, call);
  try {
    return run();
  } finally {
    leaveCall();
  }
}
