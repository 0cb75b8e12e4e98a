import { availableParallelism, cpus } from "node:os";
import {
  type BurstMode,
  createGenerators,
  describeFailure,
  isUnreachable,
  type LoadGenerator,
  locateServer,
  openResultFiles,
  planProcesses,
  portsOfAddress,
  type ServerLocation,
  serverDescriptors,
  toLoadFailure,
  waitAction,
} from "@openenv-ts/bench/internal";
import { ConfigError } from "openenv-ts/internal";
import { serverToken } from "../server-token.js";
import { exit, printNote } from "../terminal/output.js";
import { sweepBursts } from "./bench-bursts.js";
import type { BenchFlags, BenchRun } from "./bench-flags.js";
import { loopSteps } from "./bench-steps.js";

const INTERRUPTED = 130;
const OTHER_ACTION = " Serve an environment whose action has wait_seconds, such as envs/benchmark, or give --action.";
const NEEDS_TOKEN = " Set OPENENV_TOKEN to the server's client token.";
/** By what a single request failed with. */
const REMEDIES: Readonly<Record<string, string>> = {
  VALIDATION_ERROR: OTHER_ACTION,
  HTTP_422: OTHER_ACTION,
  UPGRADE_401: NEEDS_TOKEN,
  UNAUTHORIZED: NEEDS_TOKEN,
};

/** Measures servers and ends the process: 0 measured, 1 nothing to measure, 2 wrong usage, 130 interrupted. */
export async function runBench(urls: readonly string[], given: BenchFlags): Promise<void> {
  const flags = { ...given, ...narrowed(given) };
  if (flags.throughput && (flags.mode === "http" || flags.compare)) {
    throw new ConfigError("Steps in a closed loop are measured over WebSocket: leave out --mode and --compare.");
  }
  if (flags.requireHosts && flags.expectedHosts === undefined) {
    throw new ConfigError("--require-hosts needs to know how many: give --expected-hosts.");
  }
  const largest = Math.max(...(flags.throughput ? flags.connectionsGrid : flags.requestsGrid));
  const processes = planProcesses(largest, flags.processes);
  const modes: BurstMode[] = flags.compare ? ["ws", "http"] : [flags.mode];
  const servers = await Promise.all(urls.map(findServer));
  const generator = createGenerators(processes);
  const interrupt = watchInterrupt();
  try {
    for (const server of servers) warnOfLimits(server, largest);
    const dir = flags.outputDir ?? `bench-results/${timestamp()}`;
    const files = openResultFiles(dir, flags.throughput ? "throughput" : "bursts");
    const run: BenchRun = {
      servers,
      modes,
      ...describeHardware(flags, servers),
      generator,
      files,
      signal: interrupt.signal,
      checkSubject: (server, mode) => tryOnce(generator, server, { ...flags, mode }),
    };
    const code = await (flags.throughput ? loopSteps(run, flags) : sweepBursts(run, flags));
    if (interrupt.signal.aborted) printNote(`Interrupted; what was measured is in ${files.dir}`);
    process.exitCode = interrupt.signal.aborted ? INTERRUPTED : code;
  } finally {
    interrupt.stop();
    await generator.close();
  }
  exit(Number(process.exitCode));
}

/** One batch, one wait: instead of the grids. */
function narrowed({ requests, wait, action, requestsGrid, waitGrid }: BenchFlags) {
  const waits = wait === undefined ? waitGrid : [wait];
  return {
    requestsGrid: requests === undefined ? requestsGrid : [requests],
    // How long a step of another kind takes is not ours to choose.
    waitGrid: action === undefined ? waits : [0],
  };
}

async function findServer(url: string): Promise<ServerLocation> {
  try {
    return await locateServer(url, serverToken());
  } catch (error) {
    const { type, message } = toLoadFailure(error);
    throw new Error(`${url} cannot be reached: ${describeFailure(type, message)}`);
  }
}

/**
 * Makes a single request, so that a wrong address or action is an error and does not fill files with failures. A server
 * that accepted a connection before and is gone now is a result: the burst did that.
 */
async function tryOnce(
  generator: LoadGenerator,
  { url, address, token }: ServerLocation,
  { mode, timeout, action = waitAction(0) }: Pick<BenchFlags, "mode" | "timeout" | "action">,
): Promise<void> {
  const job = { url, address, token, mode, action, requests: 1, timeoutMs: timeout * 1000 };
  const { rows } = await generator.burst(job, () => {});
  const { error_type: type, error } = rows[0] ?? {};
  if (!type || type === "CAPACITY_REACHED" || type === "INTERRUPTED" || isUnreachable(type)) return;
  const remedy = REMEDIES[type] ?? "";
  throw new Error(`${url} fails a single request over ${mode}: ${describeFailure(type, String(error))}${remedy}`);
}

function warnOfLimits(server: ServerLocation, largest: number): void {
  if (!server.local) {
    const ports = portsOfAddress();
    if (largest > ports)
      printNote(`note: this machine has ${ports} ports towards ${server.url}; OUT_OF_PORTS counts the rest.`);
    return;
  }
  const room = serverDescriptors(server.port);
  if (largest > room) {
    printNote(`note: the processes of ${server.url} may open ${room} descriptors (ulimit -n), less than ${largest}.`);
  }
}

/** Cores are those the text names, else this machine's when every server runs on it. */
function describeHardware({ hardware }: BenchFlags, servers: readonly ServerLocation[]) {
  const named = /(\d+)[\s-]*(?:v?cpus?|cores?)\b/i.exec(hardware ?? "")?.[1];
  const local = servers.every((server) => server.local);
  const cores = named !== undefined ? Number(named) : local && hardware === undefined ? availableParallelism() : null;
  return { hardware: hardware ?? (local ? `${cores} cores, ${cpus()[0]?.model ?? process.arch}` : ""), cores };
}

function timestamp(): string {
  return new Date().toISOString().slice(0, 19).replaceAll(":", "-");
}

/** The first Ctrl-C ends the measurement, the second the process. */
function watchInterrupt(): { signal: AbortSignal; stop(): void } {
  const controller = new AbortController();
  const interrupt = (): void => controller.abort();
  process.once("SIGINT", interrupt).once("SIGTERM", interrupt);
  return {
    signal: controller.signal,
    stop: () => void process.off("SIGINT", interrupt).off("SIGTERM", interrupt),
  };
}
