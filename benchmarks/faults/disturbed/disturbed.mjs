import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { startServer } from "./processes.mjs";
import { startFaultProxy } from "./proxy.mjs";

/** Kinds after which a client waits for a time limit. */
const WEIGHTS = { "connection without an answer": 0.1, "connection that falls silent": 0.2 };
const PROGRESS_MS = 5_000;

/** Between two faults of processes, and how many of each kind there are at least. */
const PAUSE = { quick: 1_000, full: 3_000 };
const ROUNDS = { quick: 1, full: 5 };

/**
 * Clients play through a proxy until it has made so many faults; then each session is played once more without faults, and
 * the answers are compared. `kinds` are those of the proxy, all by default. With a journal (`startJournal(folder)`) also
 * processes fail: `interruptions({ server, journal })` has them by kind; they come in turn.
 */
export async function playDisturbed(options) {
  const { id, who, clients, faults, seed, quick, kinds, startJournal, interruptions } = options;
  const folder = mkdtempSync(join(tmpdir(), "openenv-faults-"));
  const journal = await startJournal?.(folder);
  const server = await startServer(folder, journal?.url);
  const proxy = await startFaultProxy({ url: server.url, seed, kinds, weights: WEIGHTS });
  try {
    const opened = await clients.open(proxy.url);
    const interruption = interrupt(interruptions?.({ server, journal }) ?? {}, quick ? "quick" : "full");
    proxy.disturb();
    let failure;
    const isOver = () => failure !== undefined || (proxy.faults >= faults && interruption.isComplete());
    const progress = setInterval(() => process.stderr.write(`  ${proxy.faults} faults\n`), PROGRESS_MS);
    const interrupted = interruption.run(isOver).catch((error) => {
      failure = error;
      throw error;
    });
    await Promise.all([opened.play(isOver), interrupted]).finally(() => clearInterval(progress));
    proxy.calm();
    const { transcripts, lost, raised, refused } = await opened.end();
    for (const reason of lost) process.stderr.write(`  ${reason}\n`);
    const turns = new Map([...transcripts].map(([player, transcript]) => [player, transcript.length]));
    return rowsOf(id, who, {
      counts: { ...proxy.counts, ...interruption.counts },
      mayRepeat: interruption.kills() * transcripts.size,
      lost: lost.length,
      raised,
      refused,
      ...compare(transcripts, await clients.replay(server.url, turns)),
      ...countCalls(folder, transcripts),
    });
  } finally {
    await proxy.close();
    await server.close();
    await journal?.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Lets processes fail by turns: `kinds` has `act`, which resolves with whether it did, and `isKill`. */
function interrupt(kinds, length) {
  const names = Object.keys(kinds);
  const counts = Object.fromEntries(names.map((name) => [name, 0]));
  return {
    counts,
    isComplete: () => names.every((name) => counts[name] >= ROUNDS[length]),
    /** After how many of them running steps may be executed again. */
    kills: () => names.reduce((sum, name) => sum + (kinds[name].isKill ? counts[name] : 0), 0),
    async run(isOver) {
      for (let turn = 0; names.length > 0 && !isOver(); turn++) {
        await sleep(PAUSE[length]);
        const name = names[turn % names.length];
        if (await kinds[name].act()) counts[name]++;
      }
    },
  };
}

/** How many answers differ from those of undisturbed sessions, and how many calls have no answer because they raised. */
function compare(transcripts, undisturbed) {
  let [different, unknown] = [0, 0];
  for (const [player, transcript] of transcripts) {
    const expected = undisturbed.get(player);
    for (const [turn, { answer }] of transcript.entries()) {
      if (answer === null) unknown++;
      else if (answer !== expected[turn]?.answer) {
        different++;
        process.stderr.write(`  player ${player}, turn ${turn}: ${answer}, undisturbed: ${expected[turn]?.answer}\n`);
      }
    }
  }
  return { different, unknown };
}

/** Compares what the environments have written with what the clients were answered. */
function countCalls(folder, transcripts) {
  const texts = readdirSync(folder)
    .filter((file) => file.endsWith(".calls"))
    .map((file) => readFileSync(join(folder, file), "utf8"));
  const executed = texts
    .join("")
    .trimEnd()
    .split("\n")
    .filter((line) => !line.includes("undisturbed"));
  const answered = [...transcripts].flatMap(([player, transcript]) =>
    transcript.flatMap(({ isEvent }, turn) => (isEvent ? [`${player} ${turn}`] : [])),
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

function rowsOf(part, who, { counts, raised, refused, mayRepeat, ...seen }) {
  const row = (id, measure, unit, value, ...targets) => {
    return { id: `${part}-${id}`, measure: `${who}: ${measure}`, unit, samples: { measured: [value] }, targets };
  };
  const none = { limit: "at most", value: 0 };
  const atMost = (value) => ({ limit: "at most", value });
  const sum = (values) => Object.values(values).reduce((total, value) => total + value, 0);
  return [
    row("all", "faults", "faults", sum(counts)),
    ...Object.entries(counts).map(([kind, count]) => row(kind.replaceAll(" ", "-"), kind, "faults", count)),
    ...(raised === undefined
      ? []
      : [
          row("raised", "calls that raised", "calls", sum(raised)),
          row("unknown", "of them executed, seen by the step count, answer lost", "calls", seen.unknown),
        ]),
    row("refused", "calls that ran at two kills, refused and made again", "calls", refused, atMost(mayRepeat)),
    row("events", "resets and steps of the transcripts", "events", seen.events),
    row(
      "executed",
      "executions, counted by the environments",
      "events",
      seen.executed,
      atMost(seen.events + mayRepeat),
    ),
    row("missing", "in a transcript and not executed", "events", seen.missing, none),
    row("repeated", "executed more than once", "events", seen.repeated, atMost(mayRepeat)),
    row("unanswered", "executed and in no transcript", "events", seen.unanswered, none),
    row("different", "answers other than without faults", "answers", seen.different, none),
    row("lost", "lost sessions and groups", "sessions", seen.lost, none),
  ];
}
