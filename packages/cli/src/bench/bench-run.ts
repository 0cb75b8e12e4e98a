import { availableParallelism, cpus } from "node:os";
import {
  type BurstMode,
  createGenerators,
  describeFailure,
  isUnreachable,
  type LoadGenerator,
  locateFutureServer,
  locateServer,
  openResultFiles,
  planProcesses,
  portsOfAddress,
  type ServerLocation,
  serverDescriptors,
  startColdServer,
  toLoadFailure,
  waitAction,
} from "@openenv-ts/bench";
import { ConfigError } from "openenv-ts/internal";
import { serverToken } from "../server-token.js";
import { exit, printNote } from "../terminal/output.js";
import { sweepBursts } from "./bench-bursts.js";
import type { BenchFlags, BenchRun } from "./bench-flags.js";
import { loopSteps } from "./bench-steps.js";

const INTERRUPTED = 130;
const OTHER_ACTION = " Serve an environment whose action has wait_seconds, such as envs/benchmark, or pass --action.";
const NEEDS_TOKEN = " Set OPENENV_TOKEN to the server's client token.";
/** Remedies by the error type of the failed request. */
const REMEDIES: Readonly<Record<string, string>> = {
  VALIDATION_ERROR: OTHER_ACTION,
  HTTP_422: OTHER_ACTION,
  UPGRADE_401: NEEDS_TOKEN,
  UNAUTHORIZED: NEEDS_TOKEN,
};

/** Measures servers and ends the process: 0 measured, 1 nothing measured, 2 invalid usage, 130 interrupted. */
export async function runBench(urls: readonly string[], given: BenchFlags): Promise<void> {
  const flags = { ...given, ...narrowed(given), ...asTrainer(given) };
  if (flags.throughput && (flags.mode === "http" || flags.compare)) {
    const mode = flags.sessions === undefined ? "--throughput" : "--sessions";
    throw new ConfigError(`${mode} always measures over WebSocket: omit --mode and --compare.`);
  }
  const { cold } = flags;
  if (cold !== undefined && flags.throughput) {
    throw new ConfigError("--cold is for bursts: omit --throughput and --sessions.");
  }
  if (cold !== undefined && cold.length !== urls.length) {
    throw new ConfigError(
      `--cold starts one server for each URL, in the same order: ${urls.length} URLs, ${cold.length} commands.`,
    );
  }
  if (flags.requireHosts && flags.expectedHosts === undefined) {
    throw new ConfigError("--require-hosts requires --expected-hosts.");
  }
  const largest = Math.max(...(flags.throughput ? flags.connectionsGrid : flags.requestsGrid));
  const processes = planProcesses(largest, flags.processes);
  const modes: BurstMode[] = flags.compare ? ["ws", "http"] : [flags.mode];
  const servers = await Promise.all(urls.map((url) => findServer(url, cold !== undefined)));
  const generator = createGenerators(processes, cold !== undefined);
  const interrupt = watchInterrupt();
  try {
    if (cold === undefined) for (const server of servers) warnOfLimits(server, largest);
    const dir = flags.outputDir ?? `bench-results/${timestamp()}`;
    const files = openResultFiles(dir, flags.throughput ? "throughput" : "bursts");
    const run: BenchRun = {
      servers,
      modes,
      ...describeHardware(flags, servers),
      generator,
      files,
      signal: interrupt.signal,
      start: cold && ((server) => startServer(cold[servers.indexOf(server)] as string, server, largest)),
      checkSubject: (server, mode) => tryOnce(generator, server, { ...flags, mode }),
    };
    const code = await (flags.throughput ? loopSteps(run, flags) : sweepBursts(run, flags));
    if (interrupt.signal.aborted) printNote(`Interrupted; the partial results are in ${files.dir}`);
    process.exitCode = interrupt.signal.aborted ? INTERRUPTED : code;
  } finally {
    interrupt.stop();
    await generator.close();
  }
  exit(Number(process.exitCode));
}

/** Replaces the grids with the single values of --requests and --wait. */
function narrowed({ requests, wait, action, requestsGrid, waitGrid }: BenchFlags) {
  const waits = wait === undefined ? waitGrid : [wait];
  return {
    requestsGrid: requests === undefined ? requestsGrid : [requests],
    // A custom action has no wait time to set.
    waitGrid: action === undefined ? waits : [0],
  };
}

const THINK_SECONDS = 10;
const FOR_SECONDS = 60;

/** Sessions that think are measured as a closed loop is, with a think time. */
function asTrainer({ sessions, think, for: duration, throughput }: BenchFlags): Partial<BenchFlags> {
  if (sessions === undefined) {
    if (think === undefined && duration === undefined) return {};
    throw new ConfigError("--think and --for need --sessions: how many sessions step like those of a trainer.");
  }
  if (throughput) throw new ConfigError("--throughput steps without a pause, --sessions with one: omit one of them.");
  return {
    throughput: true,
    connectionsGrid: [sessions],
    think: think ?? THINK_SECONDS,
    seconds: duration ?? FOR_SECONDS,
  };
}

async function startServer(command: string, server: ServerLocation, largest: number): Promise<() => Promise<void>> {
  const stop = await startColdServer(command, server);
  warnOfLimits(server, largest);
  return stop;
}

async function findServer(url: string, isCold: boolean): Promise<ServerLocation> {
  try {
    return await (isCold ? locateFutureServer : locateServer)(url, serverToken());
  } catch (error) {
    const { type, message } = toLoadFailure(error);
    if (type === "NOT_LOCAL") throw new ConfigError(`--cold starts servers on this machine: ${message}.`);
    throw new Error(`Cannot connect to ${url}: ${describeFailure(type, message)}`);
  }
}

/**
 * Makes a single request, so that a wrong address or action is an error instead of a file full of failures. A server
 * that accepted connections before and is unreachable now is a result: the burst caused it.
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
  throw new Error(`A single request to ${url} over ${mode} failed: ${describeFailure(type, String(error))}${remedy}`);
}

function warnOfLimits(server: ServerLocation, largest: number): void {
  if (!server.local) {
    const ports = portsOfAddress();
    if (largest > ports)
      printNote(
        `note: this machine has ${ports} local ports for connections to ${server.url}; further connections count as OUT_OF_PORTS.`,
      );
    return;
  }
  const room = serverDescriptors(server.port);
  if (largest > room) {
    printNote(
      `note: the processes of ${server.url} may open ${room} file descriptors (ulimit -n), fewer than ${largest}.`,
    );
  }
}

/** The cores are taken from --hardware, or from this machine when every server runs on it. */
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
