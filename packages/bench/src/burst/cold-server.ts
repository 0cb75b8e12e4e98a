import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { LoadFailure } from "../failure.js";
import { locateServer, type ServerLocation } from "../locate.js";
import { findListeners, readServerUse } from "./local-server.js";

const START_TIMEOUT_MS = 120_000;
const STOP_TIMEOUT_MS = 20_000;
const POLL_MS = 20;
/** A server has started when its processes used at most a tenth of one core for this time. */
const IDLE_MS = 500;
const IDLE_SHARE = 0.1;

const running = new Set<ChildProcess>();

/**
 * Runs the command in a shell and resolves when the server accepts connections and has nothing left to do. What it
 * resolves with ends the server and all processes that the command has started.
 * @throws LoadFailure when another server is there, or when the command ends or has not started one within 2 minutes.
 */
export async function startColdServer(command: string, { url, port }: ServerLocation): Promise<() => Promise<void>> {
  if (findListeners(port).length > 0) {
    throw new LoadFailure("PORT_IN_USE", `port ${port} is in use, so the server of --cold cannot start: stop it first`);
  }
  // Its own process group, so that a signal reaches everything that the shell has started.
  const child = spawn(command, { shell: true, detached: true, stdio: ["ignore", "ignore", "inherit"] });
  running.add(child);
  if (running.size === 1) process.on("exit", killAll);
  try {
    await untilStarted(child, { url, port, command });
  } catch (error) {
    await stop(child);
    throw error;
  }
  return () => stop(child);
}

async function untilStarted(
  child: ChildProcess,
  { url, port, command }: { url: string; port: number; command: string },
): Promise<void> {
  const deadline = performance.now() + START_TIMEOUT_MS;
  for (let accepts = false; !accepts; ) {
    if (child.exitCode !== null || child.signalCode !== null) {
      throw new LoadFailure(
        "SERVER_ENDED",
        `\`${command}\` ended (${child.signalCode ?? child.exitCode}) before ${url} answered`,
      );
    }
    if (performance.now() > deadline) {
      throw new LoadFailure("SERVER_TIMEOUT", `\`${command}\` has not started a server at ${url} in 2 minutes`);
    }
    await sleep(POLL_MS);
    accepts = await locateServer(url).then(
      () => true,
      () => false,
    );
  }
  // With several workers, the first one listens before the last has started.
  for (let before = readServerUse(port).cpuSeconds; performance.now() < deadline; ) {
    await sleep(IDLE_MS);
    const { cpuSeconds } = readServerUse(port);
    if (cpuSeconds - before <= (IDLE_MS / 1000) * IDLE_SHARE) return;
    before = cpuSeconds;
  }
}

async function stop(child: ChildProcess): Promise<void> {
  signal(child, "SIGTERM");
  const deadline = performance.now() + STOP_TIMEOUT_MS;
  while (signal(child, 0) && performance.now() < deadline) await sleep(POLL_MS);
  signal(child, "SIGKILL");
  if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
  running.delete(child);
  if (running.size === 0) process.off("exit", killAll);
}

/** Sends a signal to the group; false when no process of it is left. */
function signal({ pid }: ChildProcess, name: NodeJS.Signals | 0): boolean {
  try {
    process.kill(-(pid as number), name);
    return true;
  } catch {
    return false;
  }
}

function killAll(): void {
  for (const child of running) signal(child, "SIGKILL");
}
