import { rng } from "openenv-ts";
import { connect, connectVector } from "openenv-ts/client";

/** Turns from one reset to the next. */
const EPISODE = 25;
/** Undisturbed sessions that are played at once. */
const AT_ONCE = 64;
/** Waits that are short, so that the run is. The clients must find out by themselves. */
const OPTIONS = { check: false, connectTimeoutMs: 1000, resume: { pingIntervalMs: 250 } };

/** Clients of this package: a crew of each of these sizes and options. */
export const crewsOf = (sizes) => ({
  async open(url) {
    const crews = [];
    let first = 0;
    for (const crew of sizes) {
      crews.push(await openCrew(url, { ...OPTIONS, ...crew, first }));
      first += crew.size;
    }
    // A connection that fails before there is a session is an error for its caller.
    await Promise.all(crews.map((crew) => crew.play((turn) => turn === 1)));
    let lost = [];
    return {
      async play(isOver) {
        const ends = await Promise.all(crews.map((crew) => crew.play(isOver)));
        lost = ends.filter((end) => end).map(({ code, message }) => `${code}: ${message}`);
      },
      async end() {
        await Promise.all(crews.map((crew) => crew.close()));
        const refused = crews.reduce((sum, crew) => sum + crew.refused, 0);
        return { lost, refused, transcripts: new Map(crews.flatMap(transcriptsOf)) };
      },
    };
  },
  /** Plays these players for as many turns without `resume`. */
  async replay(url, turns) {
    const left = [...turns];
    const transcripts = new Map();
    const playNext = async () => {
      for (let next = left.pop(); next; next = left.pop()) {
        const [first, count] = next;
        const crew = await openCrew(url, { first, size: 1, label: " undisturbed", check: false });
        await crew.play((turn) => turn === count);
        for (const [player, transcript] of transcriptsOf(crew)) transcripts.set(player, transcript);
        await crew.close();
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, playNext));
    return transcripts;
  },
});

function transcriptsOf({ players, transcripts }) {
  return players.map((player, nth) => [
    player,
    transcripts[nth].map((answer, turn) => ({ isEvent: kindOf(turn) !== "state", answer })),
  ]);
}

/**
 * Sessions that make their calls together: one of `connect`, or those of a vector environment. `size` players, numbered
 * from `first` on.
 */
async function openCrew(url, { first, size, label = "", ...options }) {
  const single = size === 1;
  const env = await (single ? connect(url, options) : connectVector(url, { size, ...options }));
  const players = Array.from({ length: size }, (_, nth) => first + nth);
  /** What each player was answered, turn by turn. */
  const transcripts = players.map(() => []);
  let turn = 0;
  let refused = 0;
  const call = async (due) => {
    const kind = kindOf(turn);
    const values = players.map((player, nth) => (due.includes(nth) ? argumentOf(kind, player, { turn, label }) : null));
    if (kind === "state") return single ? [await env.state()] : env.state();
    if (!single) return env[kind](values);
    return [await (kind === "step" ? env.tryStep(values[0]) : env.reset(values[0]))];
  };
  /** The answers of a turn. A call that ran at two kills is refused and has changed nothing: it is made again. */
  const makeTurn = async () => {
    const results = [];
    for (let due = [...players.keys()]; due.length > 0; ) {
      const answers = await call(due).catch((error) => [{ error, outcome: error.outcome ?? "lost" }]);
      for (const nth of due) results[nth] = answers[nth];
      due = due.filter((nth) => answers[nth]?.error?.code === "STEP_CRASHED");
      refused += due.length;
    }
    return results;
  };
  return {
    players,
    transcripts,
    /** Calls that were refused with STEP_CRASHED. */
    get refused() {
      return refused;
    },
    /** Plays until `isOver`, or until a session is lost; resolves with its error. */
    async play(isOver) {
      for (; !isOver(turn); turn++) {
        const results = await makeTurn();
        const lost = results.find((result) => result?.outcome === "lost");
        if (lost) return lost.error;
        for (const [nth, result] of results.entries()) transcripts[nth].push(render(result));
      }
    },
    close: () => env.close(),
  };
}

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
