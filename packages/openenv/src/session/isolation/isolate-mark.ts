/** The key of `globalThis` that marks a thread or process as an isolate of a server. */
export const ISOLATE_MARK = Symbol.for("openenv.isolate");
