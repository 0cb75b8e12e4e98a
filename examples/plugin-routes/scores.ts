/** A plugin with routes next to those of the environment: the best episodes of this worker, and a page for people. */
import { definePlugin, type ServerHandle } from "openenv-ts/plugin";

interface Score {
  session: string;
  steps: number;
  reward: number;
}

/** The plugin may be used by several servers of one process. */
const scores = new WeakMap<ServerHandle, Score[]>();
const scoresOf = (server: ServerHandle): Score[] => scores.get(server) ?? [];

export default definePlugin({
  name: "scores",

  session: (session, _opener, server) => ({
    record() {
      if (!session.done) return;
      const score = { session: session.label, steps: session.steps, reward: session.reward };
      const best = [...scoresOf(server), score].sort((a, b) => b.reward - a.reward || a.steps - b.steps);
      scores.set(server, best.slice(0, 10));
    },
  }),

  routes: {
    // For clients: with the client token, if the server has one.
    "/scores": { GET: (_request, { server }) => Response.json(scoresOf(server)) },
    "/scores/page": {
      access: "open",
      GET: () => new Response("<h1>Scores</h1>", { headers: { "content-type": "text/html" } }),
    },
  },
});
