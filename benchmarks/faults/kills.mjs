import { setTimeout as sleep } from "node:timers/promises";
import { WebSocket } from "ws";
import { cameTrue, openDescriptors, startWatchedCluster } from "./watched-cluster.mjs";

export const title = "kill -9 of workers under load";

const WORKERS = 3;
const CAPACITY = 200;
const PLAYERS = 32;
const STEPS = 20;
const RESET = JSON.stringify({ type: "reset" });

export async function run({ kills }) {
  const cluster = await startWatchedCluster(WORKERS, CAPACITY);
  try {
    const isIdle = async () => {
      const { active_sessions, max_sessions } = await cluster.capacity();
      return active_sessions === 0 && max_sessions === WORKERS * CAPACITY;
    };
    await playAll(cluster.url, 1);
    await cameTrue(isIdle);
    const before = countAll(cluster);
    const seen = createRecord();
    const peers = playAll(cluster.url, Number.POSITIVE_INFINITY, seen);
    while (seen.kills < kills) {
      if (!(await cameTrue(() => seen.serving.size > 1))) throw new Error("fewer than two workers serve");
      const [pid] = seen.serving;
      seen.serving.delete(pid);
      seen.killed.set(pid, performance.now());
      process.kill(pid, "SIGKILL");
      seen.kills++;
      if (seen.kills % 50 === 0) process.stderr.write(`  ${seen.kills} killed\n`);
    }
    seen.stopping = true;
    await peers;
    await cameTrue(isIdle);
    await cameTrue(() => isBack(before, countAll(cluster)));
    const { active_sessions } = await cluster.capacity();
    return rowsOf(seen, before, { ...countAll(cluster), slots: active_sessions, told: cluster.log.lost });
  } finally {
    await cluster.close();
  }
}

/** `killed` has the time of the last kill by process id, because ids are reused. */
function createRecord() {
  return { kills: 0, finished: 0, wrong: 0, lost: 0, lostElsewhere: 0, serving: new Set(), killed: new Map() };
}

function countAll(cluster) {
  const workers = cluster.workers();
  return {
    processes: workers.length,
    supervisor: openDescriptors(cluster.supervisor),
    worker: Math.max(...workers.map(openDescriptors)),
    files: cluster.socketFiles().length,
  };
}

function isBack(before, now) {
  return Object.entries(before).every(([name, count]) => now[name] <= count);
}

function rowsOf(seen, before, after) {
  const row = (id, measure, unit, value, ...targets) => {
    return { id, measure, unit, samples: { measured: [value] }, targets };
  };
  const none = { limit: "at most", value: 0 };
  return [
    row("kills", "workers killed under load", "kills", seen.kills),
    row("kills-told", "of them logged and replaced", "kills", after.told, {
      limit: "at least",
      value: seen.kills,
    }),
    row("kills-finished", "sessions completed meanwhile", "sessions", seen.finished),
    row("kills-lost", "sessions that ended with their worker", "sessions", seen.lost),
    row("kills-elsewhere", "sessions lost in workers that were not killed", "sessions", seen.lostElsewhere, none),
    row("kills-wrong", "wrong answers", "answers", seen.wrong, none),
    row("kills-slots", "slots left over", "slots", after.slots, none),
    row("kills-processes", "processes left over", "processes", after.processes - before.processes, none),
    row(
      "kills-supervisor",
      "file descriptors left over in the supervisor",
      "files",
      after.supervisor - before.supervisor,
      none,
    ),
    row("kills-workers", "additional file descriptors in any worker", "files", after.worker - before.worker, none),
    row("kills-files", "local sockets left over", "files", after.files - before.files, none),
  ];
}

/** Plays sessions one after the other in each peer: `rounds` of them, or until `seen.stopping`. */
function playAll(url, rounds, seen = createRecord()) {
  const peer = async (_, index) => {
    for (let round = 0; round < rounds && !seen.stopping; round++)
      await play(`${url.replace("http", "ws")}/ws`, seen, index);
  };
  return Promise.all(Array.from({ length: PLAYERS }, peer));
}

async function play(url, seen, peer) {
  const began = performance.now();
  const wasKilled = (pid) => seen.killed.get(pid) >= began;
  const ws = new WebSocket(url, { perMessageDeflate: false });
  // The "close" event that follows has the reason.
  ws.on("error", () => {});
  const next = (event) => new Promise((resolve) => ws.once(event, resolve));
  const closed = next("close").then(() => undefined);
  const opened = await Promise.race([next("open").then(() => true), closed]);
  // The handshake was with a killed worker.
  if (!opened) return;
  let pid = 0;
  for (let turn = 0; turn <= STEPS; turn++) {
    const wait = (peer + turn) / 10_000;
    ws.send(turn === 0 ? RESET : JSON.stringify({ type: "step", data: { wait_seconds: wait } }));
    const answer = await Promise.race([next("message"), closed]);
    if (answer === undefined) {
      if (pid === 0) return;
      seen.lost++;
      if (!wasKilled(pid)) seen.lostElsewhere++;
      return;
    }
    const { type, data } = JSON.parse(answer);
    pid ||= data.observation?.pid ?? 0;
    const right = type === "observation" && data.observation.pid === pid;
    if (!right || (turn > 0 && data.observation.waited_seconds !== wait)) seen.wrong++;
    if (pid > 0 && !wasKilled(pid)) seen.serving.add(pid);
  }
  await sleep(1);
  ws.close();
  await closed;
  seen.finished++;
}
