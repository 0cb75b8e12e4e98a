/** Calls into an environment that may block the event loop; each is noted as its number. */
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
} as const;
export type CallNumber = (typeof CALL)[keyof typeof CALL];

/** Added to the number of a call while its synchronous part runs. */
export const RUNNING = 16;

/** Stands for the session of a call that belongs to none. */
export const NO_SESSION = 0;

/** What the watchdog reads: beats of the event loop, then server, session and number of the latest call. */
export const marks = new Int32Array(new (globalThis.SharedArrayBuffer ?? ArrayBuffer)(16));

/** Notes that a call into an environment begins. Plain writes and nothing else: this runs at every step. */
export function enterCall(server: number, session: number, call: CallNumber): void {
  marks[1] = server;
  marks[2] = session;
  marks[3] = call | RUNNING;
}

/** Notes that the call has returned, or has returned a promise. It stays the latest. */
export function leaveCall(): void {
  marks[3] = (marks[3] as number) & ~RUNNING;
}

/** Notes the synchronous part of `run` as a call. */
export function markCall<T>(of: { server: number; session: number }, call: CallNumber, run: () => T): T {
  enterCall(of.server, of.session, call);
  try {
    return run();
  } finally {
    leaveCall();
  }
}
