import { once } from "node:events";
import { Worker } from "node:worker_threads";
import type { LogLevel } from "../util/log.js";
import { CALL, marks, NO_SESSION, RUNNING } from "./calls/call-marks.js";

/** A server whose blocking calls the watchdog logs. */
export interface WatchedLoop {
  /** Number of the server's runtime, recorded with each call. */
  number: number;
  environment: string;
  /** Prefix of its session ids. */
  prefix: string;
  logLevel: LogLevel;
}

/** Conditions under which the watchdog kills this process. */
export interface Watched {
  /** Parent process, without which this process must not run. */
  parent: number;
  /** Memory limit of this process in megabytes; 0 for no limit. */
  memoryMb?: number;
  /** Folder to remove when the parent has ended. */
  folder?: string | undefined;
}

const TURN_MS = 250;
/** Blocked time that is logged; logged again each time it has doubled. */
const BLOCKED_MS = 2_000;
const ALONE_MS = 3_000;
const LEVELS = { trace: 10, debug: 20, info: 30, warn: 40, error: 50, fatal: 60, silent: Infinity } as const;

/**
 * Runs in a thread, because it must log and check the parent while the event loop of this process is blocked. It counts
 * its own intervals, so that a pause of the whole process does not count as blocking.
 */
const THREAD = `
const { parentPort, workerData: { marks, calls } } = require("node:worker_threads");
const { rmSync, writeSync } = require("node:fs");
const servers = new Map();
let watched = { parent: 0, memoryMb: 0 };
let named, alone = 0, beat = -1, blocked = 0, next = ${BLOCKED_MS};
parentPort.on("message", ({ watch, add, remove }) => {
  if (watch !== undefined) watched = watch;
  if (add !== undefined) servers.set(add.number, add);
  servers.delete(remove);
});
setInterval(() => {
  const { parent, memoryMb = 0, folder } = watched;
  const latest = Atomics.load(marks, 0);
  // A process that is not blocked exits by itself when its channel to the parent closes.
  alone = parent !== 0 && process.ppid !== parent && latest === beat ? alone + 1 : 0;
  if (alone * ${TURN_MS} >= ${ALONE_MS}) {
    try {
      if (folder !== undefined) rmSync(folder, { recursive: true, force: true });
    } finally {
      process.kill(process.pid, "SIGKILL");
    }
  }
  if (memoryMb > 0 && process.memoryUsage.rss() > memoryMb * 1048576) process.kill(process.pid, "SIGKILL");
  if (latest === beat && servers.size > 0) {
    if (++blocked * ${TURN_MS} < next) return;
    next *= 2;
    named = latestCall();
    say(50, (marks[3] & ${RUNNING}) !== 0 ? "a call blocks the event loop; all sessions of this process are waiting"
      : "code outside of a call blocks the event loop; all sessions of this process are waiting; these fields name the latest call");
    return;
  }
  if (next > ${BLOCKED_MS}) say(40, "the event loop runs again");
  beat = latest;
  blocked = 0;
  next = ${BLOCKED_MS};
}, ${TURN_MS});
function latestCall() {
  const server = servers.get(marks[1]);
  const call = calls[(marks[3] & ~${RUNNING}) - 1];
  const isOfSession = server !== undefined && marks[2] !== ${NO_SESSION};
  const session = !isOfSession ? undefined : server.prefix + (marks[2] >>> 0).toString(16).padStart(8, "0");
  return { session, environment: server?.environment, call, logs: server?.level ?? Math.min(...[...servers.values()].map((one) => one.level)) };
}
function say(level, msg) {
  const { logs, ...call } = named;
  if (level < logs) return;
  try {
    writeSync(2, JSON.stringify({ level, time: Date.now(), ...call, blockedMs: blocked * ${TURN_MS}, msg }) + "\\n");
  } catch {
    // A log reader that is gone or slow must not stop the watchdog.
  }
}
`;

let users = 0;
let running: { thread: Worker; beat: NodeJS.Timeout } | undefined;

/** Logs calls that block the event loop for 2 s. Returns a function that stops watching. */
export function watchLoop({ number, environment, prefix, logLevel }: WatchedLoop): () => void {
  const { thread } = start();
  users++;
  thread.postMessage({ add: { number, environment, prefix, level: LEVELS[logLevel] } });
  return () => {
    thread.postMessage({ remove: number });
    if (--users === 0) stop();
  };
}

/**
 * Kills this process when its parent has ended and it has been blocked for 3 s since, or when it uses too much memory.
 * Resolves when the watchdog runs or cannot be started.
 */
export async function watchParent(watched: Watched): Promise<void> {
  const isNew = running === undefined;
  const { thread } = start();
  users++;
  thread.postMessage({ watch: watched });
  if (isNew) await once(thread, "online").catch(() => {});
}

function start(): NonNullable<typeof running> {
  if (running !== undefined) return running;
  const thread = new Worker(THREAD, {
    eval: true,
    // Options and variables of this process could prevent the thread from starting.
    execArgv: [],
    env: {},
    workerData: { marks, calls: Object.keys(CALL) },
    resourceLimits: { maxOldGenerationSizeMb: 8, maxYoungGenerationSizeMb: 1 },
  });
  // If the thread fails, the server runs without a watchdog.
  thread.on("error", () => {});
  thread.unref();
  const beat = setInterval(() => {
    marks[0] = (marks[0] as number) + 1;
  }, TURN_MS);
  beat.unref();
  running = { thread, beat };
  return running;
}

function stop(): void {
  clearInterval(running?.beat);
  void running?.thread.terminate();
  running = undefined;
}
