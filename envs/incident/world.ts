import { posix } from "node:path";
import { type Files, put, readConf } from "./files.js";

export interface Service {
  name: string;
  role: string;
  /** Where clients expect it. */
  port: number;
  /** What it really uses. */
  needMb: number;
  /** Roles of the services that it uses. */
  links: readonly string[];
  /** What its config must have. */
  keys: readonly string[];
  pid: number | null;
  /** The config that it read at its last start. */
  loaded: Record<string, string>;
  /** Why it does not run. */
  failure: string | null;
  /** The problem that it logged last. */
  logged: string | null;
}

/** A host as plain JSON. */
export interface World {
  clock: number;
  nextPid: number;
  files: Files;
  /** In the order in which they start. */
  services: Service[];
  /**
   * Secrets and certificates by the name of their service and their content, and folders of releases in the same way: null
   * for one that works, else the reason. No change of a file makes another one work.
   */
  facts: Record<string, string | null>;
  /** Starts and stops of services that were healthy. */
  needless: number;
}

export const HOST_MB = 4_096;
/** The size of the disk at /var. */
export const DISK_BYTES = 256 * 1024;
export const SEGMENTS = 4;
const DEBUG_BYTES = 64 * 1024;
const MINUTE = 60_000;

export const confOf = (name: string): string => `/etc/${name}/${name}.conf`;
export const logOf = (name: string): string => `/var/log/${name}.log`;
export const lockOf = (name: string): string => `/run/${name}.lock`;
export const isHealthy = (world: World): boolean => world.services.every((one) => findProblem(world, one) === null);
export const sumUsage = (files: Files): number =>
  Object.entries(files).reduce((sum, [path, { data }]) => sum + (path.startsWith("/var/") ? data.length : 0), 0);

export function log({ clock, files }: World, path: string, text: string, most = Number.POSITIVE_INFINITY): void {
  const line = `${new Date(clock).toISOString().slice(0, 19)}Z ${text}\n`;
  const more = most < Number.POSITIVE_INFINITY ? line.repeat(Math.ceil(most / line.length)).slice(0, most) : line;
  const folders = ["/var", "/var/log"].map((one) => files[one]?.kind ?? "folder");
  // An agent may have put something else in the place of a log.
  if (folders.some((kind) => kind !== "folder") || (files[path]?.kind ?? "file") !== "file") return;
  put(files, path, (files[path]?.data ?? "") + more, { time: clock });
}

/** Starts a service, or records why it cannot start. It reads its config only now. */
export function start(world: World, service: Service): void {
  service.loaded = readConf(world.files, confOf(service.name));
  service.pid = null;
  service.failure = findFailure(world, service);
  if (service.failure === null) service.pid = world.nextPid++;
  service.logged = service.failure;
  const text = service.failure === null ? `INFO started on port ${service.loaded["port"]}` : `FATAL ${service.failure}`;
  log(world, logOf(service.name), text);
}

/** A minute passes: services write logs. */
export function tick(world: World): void {
  world.clock += MINUTE;
  for (const { name, pid, loaded } of world.services) {
    if (pid === null || loaded["log_level"] !== "debug") continue;
    const room = Math.max(0, DISK_BYTES - sumUsage(world.files));
    log(world, `/var/log/${name}.debug.log`, "DEBUG poll: nothing to do", Math.min(room, DEBUG_BYTES));
  }
  for (const service of world.services) {
    const problem = findProblem(world, service);
    if (problem !== service.logged)
      log(world, logOf(service.name), problem ? `ERROR ${problem}` : "INFO healthy again");
    service.logged = problem;
  }
}

/** Why a service does not work; null if it is healthy. */
export function findProblem(world: World, service: Service): string | null {
  const { files, services } = world;
  const { pid, loaded, port, needMb, links, failure } = service;
  if (pid === null) return failure ?? "stopped";
  if (needMb > Number(loaded["memory_mb"])) return `killed: out of memory at the limit of ${loaded["memory_mb"]} MB`;
  const { data } = loaded;
  if ((data || loaded["log_level"] === "debug") && sumUsage(files) >= DISK_BYTES)
    return "write failed: no space left on the device of /var";
  if (data && Object.keys(files).filter((path) => path.startsWith(`${data}/`)).length < SEGMENTS)
    return `data in ${data} is missing`;
  if (Number(loaded["port"]) !== port) return `the watchdog gets no answer on port ${port}`;
  for (const role of links) {
    const address = loaded[`upstream.${role}`] ?? "";
    const found = services.find((one) => one.pid !== null && address === `127.0.0.1:${one.loaded["port"]}`);
    if (found === undefined) return `upstream ${role} at ${address}: connection refused`;
    if (found.role !== role) return `upstream ${role} at ${address}: unexpected answer of another service`;
    if (findProblem(world, found) !== null) return `upstream ${role} at ${address}: 503`;
  }
  return null;
}

/** Why a service cannot start with the config that it has read. */
function findFailure({ files, services, facts }: World, { name, keys, loaded }: Service): string | null {
  const missing = keys.find((key) => !loaded[key]);
  if (missing !== undefined) return `${confOf(name)}: ${missing} is missing`;
  const lock = files[lockOf(name)];
  if (lock !== undefined) return `another instance, process ${lock.data.trim()}, holds ${lockOf(name)}`;
  const { secret = "", release, port, memory_mb } = loaded;
  const mode = files[secret]?.mode ?? 0o600;
  if (!(mode & 0o400)) return `${secret}: permission denied`;
  if (mode & 0o177) return `${secret}: mode ${(mode & 0o777).toString(8)} is too open, it must be 600`;
  for (const path of [secret, loaded["tls_cert"], release]) {
    if (path === undefined) continue;
    const data = files[path]?.data ?? "";
    const target = path === release ? posix.resolve(posix.dirname(path), data) : path;
    const reason = facts[`${name} ${files[`${target}/manifest`] ? target : data}`];
    if (reason !== null) return `${target}: ${reason ?? "missing, or not valid"}`;
  }
  const others = services.filter((one) => one.pid !== null && one.name !== name);
  const left = others.reduce((mb, one) => mb - Number(one.loaded["memory_mb"]), HOST_MB);
  if (!(Number(memory_mb) > 0 && Number(memory_mb) <= left)) return `cannot reserve ${memory_mb} of ${left} free MB`;
  const taken = others.find((one) => one.loaded["port"] === port);
  return taken ? `cannot listen on port ${port}: in use by process ${taken.pid}` : null;
}
