import { connect, connectVector } from "openenv-ts/client";
import { rng } from "openenv-ts/internal";

/** Turns from one reset to the next. */
const EPISODE = 25;

/**
 * Sessions that make their calls together: one of `connect`, or those of a vector environment. `size` players, numbered
 * from `first` on.
 */
export async function openCrew(url, { first, size, label = "", ...options }) {
  const single = size === 1;
  const env = await (single ? connect(url, options) : connectVector(url, { size, ...options }));
  const players = Array.from({ length: size }, (_, nth) => first + nth);
  /** What each player was answered, turn by turn. */
  const transcripts = players.map(() => []);
  let turn = 0;
  const call = async () => {
    const kind = kindOf(turn);
    const values = players.map((player) => argumentOf(kind, player, { turn, label }));
    if (kind === "state") return single ? [await env.state()] : env.state();
    if (!single) return env[kind](values);
    return [await (kind === "step" ? env.tryStep(values[0]) : env.reset(values[0]))];
  };
  return {
    players,
    transcripts,
    /** Goes on until `isOver`, or until a session is lost; resolves with the error of that. */
    async play(isOver) {
      for (; !isOver(turn); turn++) {
        const results = await call().catch((error) => [{ error, outcome: error.outcome ?? "lost" }]);
        const lost = results.find(({ outcome }) => outcome === "lost");
        if (lost) return lost.error;
        for (const [nth, result] of results.entries()) transcripts[nth].push(render(result));
      }
    },
    close: () => env.close(),
  };
}

/** Whether a turn calls the environment, rather than the server alone. */
export const isEvent = (turn) => kindOf(turn) !== "state";

function kindOf(turn) {
  if (turn % EPISODE === 0) return "reset";
  return rng(turn).next() < 0.1 ? "state" : "step";
}

/** The same for the same player and turn. */
function argumentOf(kind, player, { turn, label }) {
  if (kind === "reset") return { player: `${player}${label}`, turn };
  const random = rng(player * 1_000_003 + turn);
  return { turn, amount: random.int(0, 20), wait_ms: random.next() < 0.1 ? random.int(1, 30) : 0 };
}

/** What must be the same as without faults. */
function render({ outcome, observation, reward, done, error, step_count }) {
  return JSON.stringify({
    outcome,
    observation,
    reward,
    done,
    step_count,
    error: error && `${error.code}: ${error.message}`,
  });
}
