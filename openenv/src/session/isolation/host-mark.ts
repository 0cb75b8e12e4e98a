/** The key of `globalThis` that says: this thread or process plays the sessions of a server elsewhere. */
export const HOST_MARK = Symbol.for("openenv.host");
