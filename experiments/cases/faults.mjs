import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startCluster } from "../clusters.mjs";
import { isEvent, openCrew } from "../faults/crews.mjs";
import { startFaultProxy } from "../faults/proxy.mjs";

export const title = "faults between clients and server";

const WORKERS = 2;
/** Sessions by client: 64 of `connect` (every other one with MessagePack), 8 sockets of 12 sessions, 16 own sockets. */
const CREWS = [
  ...Array.from({ length: 64 }, (_, nth) => ({ size: 1, binary: nth % 2 === 1 })),
  ...Array.from({ length: 8 }, () => ({ size: 12 })),
  { size: 16, ownSockets: true },
];
/** Waits that are short, so that the run is. The clients must find out by themselves. */
const CLIENT = { check: false, connectTimeoutMs: 1000, resume: { pingIntervalMs: 250 } };
/** Kinds after which a client waits for a time limit. */
const WEIGHTS = { "connection without an answer": 0.1, "connection that falls silent": 0.2 };
/** Undisturbed sessions that are played at once. */
const AT_ONCE = 64;

export const run = ({ faults, seed }) => playDisturbed({ id: "faults", faults, seed, crews: CREWS });

/**
 * Plays until the proxy has made so many faults, then compares. With `killEveryMs` a worker is killed as often, and a
 * journal restores its sessions.
 */
export async function playDisturbed({ id, faults, seed, crews: sizes, killEveryMs }) {
  const folder = mkdtempSync(join(tmpdir(), "openenv-faults-"));
  const server = await startCluster("node", {
    target: "controls/counted.mjs",
    args: [
      ...["--workers", String(WORKERS), "--max-concurrent-envs", "1000"],
      ...(killEveryMs ? ["--journal", join(folder, "sessions.lmdb")] : []),
    ],
    env: { COUNTED_CALLS: folder },
  });
  const proxy = await startFaultProxy({ url: server.url, seed, weights: WEIGHTS });
  try {
    const crews = await openCrews(proxy.url, sizes);
    proxy.disturb();
    let kills = 0;
    const kill = () => {
      const workers = server.processes().filter((pid) => pid !== server.pid);
      if (workers.length === WORKERS) process.kill(workers[kills++ % WORKERS], "SIGKILL");
    };
    const killing = killEveryMs && setInterval(kill, killEveryMs);
    const progress = setInterval(() => process.stderr.write(`  ${proxy.faults} faults\n`), 5000);
    const ends = await Promise.all(crews.map((crew) => crew.play(() => proxy.faults >= faults)));
    clearInterval(progress);
    clearInterval(killing);
    proxy.calm();
    await Promise.all(crews.map((crew) => crew.close()));
    for (const end of ends) if (end) process.stderr.write(`  ${end.code}: ${end.message}\n`);
    const different = await compareUndisturbed(server.url, crews);
    const sessions = crews.flatMap(({ players }) => players).length;
    return rowsOf(proxy, {
      id,
      kills,
      mayRepeat: kills * sessions,
      lost: ends.filter((end) => end).length,
      different,
      ...countCalls(folder, crews),
    });
  } finally {
    await proxy.close();
    await server.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function openCrews(url, sizes) {
  const crews = [];
  let first = 0;
  for (const crew of sizes) {
    crews.push(await openCrew(url, { ...CLIENT, ...crew, first }));
    first += crew.size;
  }
  // A connection that fails before there is a session is an error for its caller.
  await Promise.all(crews.map((crew) => crew.play((turn) => turn === 1)));
  return crews;
}

/** Plays every session again without faults and without `resume`; returns the number of answers that differ. */
async function compareUndisturbed(url, crews) {
  const left = crews.flatMap(({ players, transcripts }) => players.map((player, nth) => [player, transcripts[nth]]));
  let different = 0;
  const compareNext = async () => {
    for (let next = left.pop(); next; next = left.pop()) {
      const [player, transcript] = next;
      const crew = await openCrew(url, { first: player, size: 1, label: " undisturbed", check: false });
      await crew.play((turn) => turn === transcript.length);
      const [undisturbed] = crew.transcripts;
      different += transcript.filter((answer, turn) => answer !== undisturbed[turn]).length;
      await crew.close();
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, compareNext));
  return different;
}

/** Compares what the environments have written with what the clients were answered. */
function countCalls(folder, crews) {
  const texts = readdirSync(folder)
    .filter((file) => file.endsWith(".calls"))
    .map((file) => readFileSync(join(folder, file), "utf8"));
  const executed = texts
    .join("")
    .trimEnd()
    .split("\n")
    .filter((line) => !line.includes("undisturbed"));
  const answered = crews.flatMap(({ players, transcripts }) =>
    players.flatMap((player, nth) =>
      Array.from(transcripts[nth].keys())
        .filter(isEvent)
        .map((turn) => `${player} ${turn}`),
    ),
  );
  const [once, events] = [new Set(executed), new Set(answered)];
  return {
    events: events.size,
    executed: executed.length,
    repeated: executed.length - once.size,
    missing: answered.filter((call) => !once.has(call)).length,
    unanswered: [...once].filter((call) => !events.has(call)).length,
  };
}

function rowsOf(
  proxy,
  { id: experiment, kills, mayRepeat, lost, different, events, executed, repeated, missing, unanswered },
) {
  const row = (id, measure, unit, value, ...targets) => {
    return { id: `${experiment}-${id}`, measure, unit, samples: { measured: [value] }, targets };
  };
  const none = { limit: "at most", value: 0 };
  return [
    row("all", "faults", "faults", proxy.faults, ...(kills ? [] : [{ limit: "at least", value: 10_000 }])),
    row("kills", "workers killed", "kills", kills),
    ...Object.entries(proxy.counts).map(([kind, count]) => row(kind.replaceAll(" ", "-"), kind, "faults", count)),
    row("events", "resets and steps that were answered", "events", events),
    row("executed", "executions, counted by the environments", "events", executed, {
      limit: "at most",
      value: events + mayRepeat,
    }),
    row("missing", "answered and not executed", "events", missing, none),
    row("repeated", "executed more than once", "events", repeated, { ...none, value: mayRepeat }),
    row("unanswered", "executed and not answered", "events", unanswered, none),
    row("different", "answers other than without faults", "answers", different, none),
    row("lost", "lost sessions and groups", "sessions", lost, none),
  ];
}
