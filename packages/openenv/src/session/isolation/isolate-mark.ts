/** The key of `globalThis` that says: this thread or process plays the sessions of a server elsewhere. */
export const ISOLATE_MARK = Symbol.for("openenv.isolate");
