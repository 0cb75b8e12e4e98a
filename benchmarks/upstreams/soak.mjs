import { randomUUID } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { rng } from "openenv-ts";
import { cameTrue, openDescriptors } from "../faults/watched-cluster.mjs";
import { killAll, startChild } from "../harness/children.mjs";
import { CLI } from "../harness/clusters.mjs";
import { Ledger, playSessions, readNumbers } from "./soak-clients.mjs";

export const title = "upstreams that are killed";

/** So many clients have no place and wait for one, for less than the time limit of a call. */
const WAITING = 4;
const REPORT_MS = 10_000;
/** So often ten seconds for all processes to start. */
const TRIES = 30;

export async function run({ python, missing, soak }) {
  const { processes, minutes, killEvery } = soak;
  if (python.missing) {
    missing.push(`Not measured, the soak: ${python.missing}.`);
    return [];
  }
  const front = await startFront(soak);
  const ledger = new Ledger();
  try {
    // Many processes need minutes to start, and a few of the Python package do, too.
    const isComplete = async () => {
      for (let tries = 0; tries < TRIES; tries++) if (await cameTrue(() => front.isIdle(processes))) return true;
      return false;
    };
    await isComplete();
    const descriptors = openDescriptors(front.pid);
    const end = performance.now() + minutes * 60_000;
    const isOver = () => performance.now() > end;
    const clients = processes + WAITING;
    const numbers = readNumbers(process.env.OPENENV_PYTHON);
    const playing = Array.from({ length: clients }, (_, client) =>
      playSessions({ url: front.url, numbers, ledger, isOver, client, clients, resume: client % 2 === 1 }),
    );
    const progress = setInterval(() => process.stderr.write(`  ${ledger.steps} steps\n`), REPORT_MS);
    const kills = await killSome(front, killEvery * 1_000, isOver);
    await Promise.all(playing).finally(() => clearInterval(progress));
    const isBack = (await isComplete()) && (await cameTrue(() => openDescriptors(front.pid) <= descriptors));
    if (!isBack) process.stderr.write(`  the front has ${openDescriptors(front.pid)} files, before ${descriptors}\n`);
    await front.close();
    for (const error of ledger.unnamed) process.stderr.write(`  not named: ${error}\n`);
    return rowsOf(ledger, { ...soak, clients, kills, isBack, ends: front.ends, left: front.processes().length });
  } finally {
    await front.close();
    killAll(front.processes());
  }
}

async function killSome(front, pauseMs, isOver) {
  const random = rng(1);
  let kills = 0;
  for (await sleep(pauseMs); !isOver(); await sleep(pauseMs)) {
    const upstreams = front.upstreams();
    if (upstreams.length === 0) continue;
    killAll([random.pick(upstreams)]);
    kills++;
  }
  return kills;
}

/** `openenv serve --upstream`. Its processes are found by a variable of their environment, also after it has ended. */
async function startFront({ command, processes, replay }) {
  const mark = `SOAK=${randomUUID()}`;
  const token = randomUUID();
  const ends = new Map();
  let text = "";
  const onText = (part) => {
    const lines = (text + part).split("\n");
    text = lines.pop();
    for (const line of lines) readLine(line, ends);
  };
  const options = ["--processes", String(processes), ...(replay ? ["--replay"] : []), "--port", "0"];
  const server = await startChild(
    [process.execPath, CLI, "serve", "--upstream", command, ...options, "--log-level", "warn"],
    {
      findPort: (printed) => / at http:\/\/[^\s:]+:(\d+)/.exec(printed)?.[1],
      env: { SOAK: mark.slice(5), OPENENV_OPERATOR_TOKEN: token },
      onText,
    },
  );
  const headers = { authorization: `Bearer ${token}`, connection: "close" };
  return {
    ...server,
    ends,
    processes: () => findProcesses(mark),
    // The others are the front and its reaper.
    upstreams: () => findProcesses(mark, "HOST=127.0.0.1"),
    async isIdle(places) {
      const { capacity } = await (await fetch(`${server.url}/sessions`, { headers })).json();
      return capacity.active_sessions === 0 && capacity.max_sessions === places;
    },
  };
}

/** Counts the upstreams that have ended, or did not start, by name. */
function readLine(line, ends) {
  if (!line.startsWith("{")) return;
  const { upstream } = JSON.parse(line);
  if (upstream !== undefined) ends.set(upstream, (ends.get(upstream) ?? 0) + 1);
}

/** The ids of the processes that have these variables in their environment. */
function findProcesses(...variables) {
  const hasAll = (pid) => {
    try {
      const found = readFileSync(`/proc/${pid}/environ`, "utf8").split("\0");
      return variables.every((variable) => found.includes(variable));
    } catch {
      return false;
    }
  };
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name) && hasAll(name))
    .map(Number);
}

function rowsOf(ledger, { processes, replay, clients, kills, isBack, ends, left }) {
  const sum = (counts) => [...counts.values()].reduce((total, count) => total + count, 0);
  const row = (id, measure, unit, value, ...targets) => ({
    ...{ id: `soak-${id}`, measure: `soak: ${measure}`, unit, targets },
    samples: { front: [value] },
  });
  const none = { limit: "at most", value: 0 };
  const elsewhere = [...ledger.lost].map(([name, lost]) => Math.max(0, lost - (ends.get(name) ?? 0)));
  return [
    row("clients", `clients of ${processes} upstreams, half of them with faults and resume`, "clients", clients),
    row("kills", "upstreams killed", "kills", kills),
    row("reported", "of them in the log, by name", "kills", sum(ends), { limit: "at least", value: kills }),
    row("faults", "faults of connections", "faults", ledger.faults),
    row("sessions", "sessions played to their end", "sessions", ledger.sessions),
    row("refused", "sessions not opened, because no place became free in time", "sessions", ledger.refused),
    row("steps", "steps", "steps", ledger.steps),
    row("repeated", "repeated steps", "steps", ledger.repeated, none),
    row("missing", "missing steps", "steps", ledger.missing, none),
    row("wrong", "wrong answers", "answers", ledger.wrong, none),
    row(
      ...["lost", "sessions lost with a killed upstream, which the error names", "sessions", sum(ledger.lost)],
      ...(replay ? [none] : []),
    ),
    row("unnamed", "sessions lost with another error", "sessions", ledger.unnamed.length, none),
    row("elsewhere", "sessions lost with an upstream that was not killed", "sessions", sum(elsewhere), none),
    row("back", "all places free at the end, no file descriptor left over", "0 or 1", Number(isBack), {
      limit: "at least",
      value: 1,
    }),
    row("processes", "processes left after the end of the front", "processes", left, none),
  ];
}
