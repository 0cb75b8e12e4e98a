/** A plugin that gives each principal a number of sessions at once, counted over all workers. */
import { randomUUID } from "node:crypto";
import { definePlugin, integer } from "openenv-ts/plugin";

interface Message {
  type: "take" | "give";
  name: string;
  /** Names the place. */
  id: string;
  limit: number;
}

export default definePlugin({
  name: "quota",
  // OPENENV_QUOTA_SESSIONS
  settings: { sessions: { kind: integer(1, 1_000_000), fallback: 10 } },

  // One for the whole server.
  central() {
    // The places of each principal, with the worker that has each.
    const taken = new Map<string, Map<string, number>>();
    return {
      answer(message, worker) {
        const { type, name, id, limit } = message as Message;
        const places = taken.get(name) ?? new Map<string, number>();
        const isAdmitted = type === "take" && places.size < limit;
        if (isAdmitted) taken.set(name, places.set(id, worker));
        if (type === "give" && places.delete(id) && places.size === 0) taken.delete(name);
        return isAdmitted;
      },
      // Its sessions end with it.
      workerEnded(ended) {
        for (const [name, places] of taken) {
          for (const [id, worker] of places) if (worker === ended) places.delete(id);
          if (places.size === 0) taken.delete(name);
        }
      },
    };
  },

  async admit({ principal }, server) {
    const limit = server.settings.sessions;
    const name = principal?.name ?? "anonymous";
    const place = { name, id: randomUUID(), limit };
    const give = (): void => void server.ask({ type: "give", ...place }).catch(() => {});
    // Without an answer, the place may have been taken.
    const isAdmitted = await server.ask({ type: "take", ...place }).catch((error) => {
      give();
      throw error;
    });
    if (isAdmitted) return { [Symbol.dispose]: give };
    return { code: "CAPACITY_REACHED", message: `${name} has ${limit} sessions: close one first.` };
  },
});
