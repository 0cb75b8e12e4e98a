import { Bash, type CommandName, defineCommand, InMemoryFs } from "just-bash";
import { type Files, readConf } from "./files.js";
import { LONGEST_OUTPUT } from "./models.js";
import {
  confOf,
  DISK_BYTES,
  findProblem,
  HOST_MB,
  logOf,
  type Service,
  start,
  sumUsage,
  tick,
  type World,
} from "./world.js";

/** Without those that read the clock of the machine, compress, or start threads. */
const COMMANDS = (
  "alias awk base64 basename bash cat chmod column comm cp cut diff dirname du echo egrep env expand expr false fgrep find " +
  "fold grep head help history hostname join jq ln ls md5sum mkdir mv nl od paste printenv printf pwd readlink rev rg rm " +
  "rmdir sed seq sh sha256sum sleep sort split stat strings tac tail tee touch tr tree true unalias unexpand uniq wc " +
  "which whoami xargs"
).split(" ") as CommandName[];

const MB = 1024 * 1024;
/** Counts end a command at the same point each time. Its time is only the last limit, far above what they allow. */
const LIMITS = {
  ...{ maxCommandCount: 2_000, maxLoopIterations: 2_000, maxCallDepth: 50, maxSubstitutionDepth: 20 },
  ...{ maxOutputSize: MB / 2, maxStringLength: MB / 2, maxHeredocSize: MB / 2, maxInputBytes: 4 * MB },
  ...{ maxLiveBytes: 16 * MB, maxTraversalEntries: 10_000, maxBraceExpansionResults: 1_000, maxArrayElements: 10_000 },
  maxExecutionTimeMs: 60_000,
};
const MOST_FILES = 1_000;
const MOST_JOBS = 4;
/** just-bash makes these for each command, and changes in them are not kept. */
const MADE = /^\/(?:$|(?:bin|usr\/bin|dev|proc)(?:\/|$))/;

/** Runs a command, then a minute passes. */
export async function run(world: World, command: string) {
  const result = await execute(world, command);
  await pass(world);
  return result;
}

/** A minute passes: jobs run, and services write their logs. */
export async function pass(world: World): Promise<void> {
  for (const job of listJobs(world).slice(0, MOST_JOBS)) await execute(world, job);
  tick(world);
}

async function execute(world: World, command: string) {
  const before = { ...world, services: structuredClone(world.services) };
  const disk = new Disk(world.clock);
  await disk.load(world.files);
  const options = { fs: disk, cwd: "/", commands: COMMANDS, sleep: async () => {}, env: { HOME: "/" } };
  const limits = { executionLimitProfile: "hardened" as const, executionLimits: LIMITS };
  const bash = new Bash({ ...options, ...limits, customCommands: defineCommands(world, disk) });
  const { stdout, stderr, exitCode } = await bash.exec(command);
  const files = await disk.save();
  if (Object.keys(files).length > MOST_FILES) {
    Object.assign(world, before);
    return { stdout: "", stderr: `bash: more than ${MOST_FILES} files, none was changed\n`, exit_code: 126 };
  }
  world.files = files;
  return { stdout: clip(stdout), stderr: clip(stderr), exit_code: exitCode };
}

function clip(text: string): string {
  const more = text.length - LONGEST_OUTPUT;
  // The cut may leave half a character, which cannot be sent.
  const start = text.slice(0, LONGEST_OUTPUT).replace(/\p{Surrogate}/gu, "\ufffd");
  return more <= 0 ? start : `${start}\n[${more} more characters]\n`;
}

/** The clock of the host does not run during a command. */
class Disk extends InMemoryFs {
  readonly #clock: number;

  constructor(clock: number) {
    super({}, { maxTotalBytes: 4 * MB });
    this.#clock = clock;
  }

  override stat = async (path: string) => this.#date(await super.stat(path));
  override lstat = async (path: string) => this.#date(await super.lstat(path));

  async load(files: Files): Promise<void> {
    for (const path of ["/tmp", "/run"]) if (!files[path]) this.mkdirSync(path);
    for (const [path, { kind, data, mode, time }] of Object.entries(files)) {
      if (kind === "link") await this.symlink(data, path);
      else if (kind === "file")
        this.writeFileSync(path, Buffer.from(data, "latin1"), {}, { mode, mtime: new Date(time) });
      else this.mkdirSync(path, { recursive: true });
      if (kind === "folder") await this.chmod(path, mode);
    }
  }

  async save(): Promise<Files> {
    const files: Files = {};
    const paths = this.getAllPaths().filter((path) => !MADE.test(path));
    for (const path of paths.sort()) {
      const { isFile, isDirectory, mode, mtime } = await this.lstat(path);
      const rest = { mode, time: mtime.getTime() };
      if (isDirectory) files[path] = { kind: "folder", data: "", ...rest };
      else if (isFile) files[path] = { kind: "file", data: toBytes(await this.readFileBuffer(path)), ...rest };
      else files[path] = { kind: "link", data: await this.readlink(path), ...rest };
    }
    return files;
  }

  #date<T extends { mtime: Date }>(found: T): T {
    return { ...found, mtime: new Date(Math.min(found.mtime.getTime(), this.#clock)) };
  }
}

const toBytes = (bytes: Uint8Array): string => Buffer.from(bytes).toString("latin1");

/** The commands of jobs that are due. A schedule is `*`, or `*` and a slash and minutes, and four more fields. */
function listJobs({ files, clock }: World): string[] {
  const tables = Object.entries(files).filter(([path, { kind }]) => path.startsWith("/etc/cron.d/") && kind === "file");
  const lines = tables.flatMap(([, { data }]) => [...data.matchAll(/^\*(?:\/(\d+))?(?: \*){4} \w+ (.{1,500})$/gm)]);
  const isDue = (every: string) => Math.floor(clock / 60_000) % Number(every) === 0;
  return lines.flatMap(([, every = "1", command = ""]) => (isDue(every) ? [command] : []));
}

/** Each returns its output; undefined for wrong arguments. Output that begins with FAILED is a failure. */
const PROGRAMS: Record<string, (world: World, args: string[]) => string | undefined> = {
  svc: (world, [verb = "", name, more]) => {
    if (verb === "list" && name === undefined) return renderTable(world.services.map((one) => describe(world, one)));
    const service = world.services.find((one) => one.name === name);
    if (service === undefined || more !== undefined) return undefined;
    if (verb === "status") return `${renderTable([describe(world, service)])}The log is ${logOf(service.name)}.\n`;
    if (!["start", "stop", "restart"].includes(verb)) return undefined;
    if (verb === "start" && service.pid !== null) return `${service.name} is running\n`;
    if (isNeedless(world, service)) world.needless++;
    if (verb === "stop") [service.pid, service.failure] = [null, "stopped"];
    else start(world, service);
    if (verb !== "stop" && service.pid === null) return `FAILED ${service.name}: see ${logOf(service.name)}\n`;
    return `${service.name}: ${verb} done\n`;
  },
  ps: ({ services }) => {
    const running = services.filter(({ pid }) => pid !== null);
    return renderTable([["PID", "PORT", "COMMAND"], ...running.map((one) => [one.pid, one.loaded["port"], one.name])]);
  },
  df: ({ files }) => {
    const used = Math.min(sumUsage(files), DISK_BYTES);
    const sizes = [DISK_BYTES, used, DISK_BYTES - used].map((bytes) => `${Math.floor(bytes / 1024)}K`);
    return renderTable([
      ["MOUNTED", "SIZE", "USED", "FREE"],
      ["/var", ...sizes],
    ]);
  },
  date: ({ clock }) => `${new Date(clock).toISOString().slice(0, 19)}Z\n`,
  metrics: ({ services }, [name]) => {
    const chosen = services.filter((one) => name === undefined || one.name === name);
    const rows = chosen.map((one) => [one.name, one.needMb, one.loaded["memory_mb"] ?? "-"]);
    return rows.length > 0 ? renderTable([[`HOST ${HOST_MB}`, "PEAK_MB", "LIMIT_MB"], ...rows]) : undefined;
  },
  curl: (world, args) => {
    const [, port] = /^(?:http:\/\/)?(?:localhost|127\.0\.0\.1):(\d+)(?:\/health)?\/?$/.exec(args.at(-1) ?? "") ?? [];
    if (port === undefined) return undefined;
    const service = world.services.find(({ pid, loaded }) => pid !== null && loaded["port"] === port);
    if (service === undefined) return `FAILED to connect to port ${port}: connection refused\n`;
    return findProblem(world, service) === null ? "200 ok\n" : "503 unavailable\n";
  },
};

function defineCommands(world: World, disk: Disk) {
  return Object.entries(PROGRAMS).map(([name, program]) =>
    defineCommand(name, async (args) => {
      world.files = await disk.save();
      const before = { ...world.files };
      const stdout = program(world, args);
      // What services have logged.
      for (const [path, entry] of Object.entries(world.files))
        if (entry !== before[path]) await disk.writeFile(path, Buffer.from(entry.data, "latin1"));
      if (stdout === undefined)
        return { stdout: "", stderr: `${name}: wrong arguments, see /RUNBOOK.md\n`, exitCode: 2 };
      return { stdout, stderr: "", exitCode: stdout.startsWith("FAILED") ? 1 : 0 };
    }),
  );
}

function renderTable(rows: unknown[][]): string {
  return rows.map((cells) => `${cells.join("\t")}\n`).join("");
}

function describe(world: World, service: Service): unknown[] {
  const running = findProblem(world, service) === null ? "healthy" : "unhealthy";
  const state = service.pid === null ? (service.failure === "stopped" ? "stopped" : "failed") : running;
  return [service.name, state, service.pid ?? "-"];
}

/** It is healthy, and has the config that it would read. */
function isNeedless(world: World, service: Service): boolean {
  const conf = readConf(world.files, confOf(service.name));
  return findProblem(world, service) === null && JSON.stringify(conf) === JSON.stringify(service.loaded);
}
