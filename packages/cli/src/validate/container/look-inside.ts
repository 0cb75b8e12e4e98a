import * as z from "zod";
import { runDocker } from "../../image/docker.js";

const TIMEOUT_MS = 30_000;

/** What the kernel says inside of a container. Sizes are bytes; what nothing bounds is Infinity. */
export interface Inside {
  /** All but the one that looks. */
  processes: { uids: number[]; capabilities: string[]; noNewPrivileges: boolean }[];
  /** Where the container can write to a disk of the machine. */
  writableMounts: string[];
  limits: Record<"memory" | "swap" | "cpus" | "processes" | "tmp", number>;
  usage: { peakMemory: number; tmp: number; oomKills: number };
}

/** Undefined where nothing can be read: the container has ended, or its image has no node. */
export async function lookInside(container: string, signal: AbortSignal): Promise<Inside | undefined> {
  const command = ["exec", container, "node", "-e", SCRIPT];
  const text = await runDocker(command, { timeoutMs: TIMEOUT_MS, signal }).catch(() => "");
  signal.throwIfAborted();
  return text === "" ? undefined : readInside(text);
}

/** Of what {@link SCRIPT} prints. */
export function readInside(text: string): Inside {
  const { processes, mounts, tmp, cgroup, hasSwap } = printed.parse(JSON.parse(text));
  const { version, memory, swap, cpu, pids, peak, events } = cgroup;
  const memoryLimit = toNumber(memory);
  // Version 1 counts memory and swap together.
  const swapLimit = version === 2 ? toNumber(swap) : toNumber(swap) - (memoryLimit === Infinity ? 0 : memoryLimit);
  const [quota = "", period = ""] = cpu.split(/\s+/);
  return {
    processes: processes.map((status) => {
      const field = (name: string): string => new RegExp(`^${name}:\\s*(.*)$`, "m").exec(status)?.[1] ?? "";
      return {
        uids: field("Uid").split(/\s+/).map(Number),
        capabilities: ["CapPrm", "CapEff", "CapBnd"].map(field),
        noNewPrivileges: field("NoNewPrivs") === "1",
      };
    }),
    writableMounts: mounts.flatMap(findWritable),
    limits: {
      memory: memoryLimit,
      swap: hasSwap ? swapLimit : 0,
      cpus: toNumber(quota) / Number(period),
      processes: toNumber(pids),
      tmp: tmp.size,
    },
    usage: {
      peakMemory: Number(peak || Number.NaN),
      tmp: tmp.used,
      oomKills: Number(/^oom_kill (\d+)$/m.exec(events)?.[1] ?? Number.NaN),
    },
  };
}

const size = z.object({ size: z.number(), used: z.number() });
const file = z.string();
const printed = z.object({
  processes: z.array(z.string()),
  mounts: z.array(z.string()),
  tmp: size,
  hasSwap: z.boolean(),
  cgroup: z.object({
    version: z.literal([1, 2]),
    memory: file,
    swap: file,
    cpu: file,
    pids: file,
    peak: file,
    events: file,
  }),
});

/** `max`, -1, a file that is not there and the largest number of version 1 are no limit. */
function toNumber(text: string): number {
  const value = Number(text || Number.NaN);
  return value >= 0 && value < 2 ** 60 ? value : Infinity;
}

/** Of a line of `/proc/self/mountinfo`. */
function findWritable(line: string): string[] {
  const [mount = "", filesystem = ""] = line.split(" - ");
  const [, , , , place = "", options = ""] = mount.split(" ");
  const [type = "", , more = ""] = filesystem.split(" ");
  const isWritable = [options, more].every((text) => text.split(",").includes("rw"));
  return isWritable && !OF_KERNEL.includes(type) ? [place] : [];
}

/** File systems of the kernel: they are in memory, and each container has separate ones. */
const OF_KERNEL = ["proc", "sysfs", "cgroup", "cgroup2", "tmpfs", "devpts", "mqueue"];

/** For any Node that runs in images. The files of version 1 of cgroups are in a folder for each controller. */
const SCRIPT = `
const fs = require("fs");
const read = (path) => { try { return fs.readFileSync(path, "utf8").trim(); } catch { return ""; } };
const ids = fs.readdirSync("/proc").filter((name) => /^[0-9]+$/.test(name) && name !== String(process.pid));
const { blocks, bfree, bsize } = fs.statfsSync("/tmp");
const isNew = fs.existsSync("/sys/fs/cgroup/cgroup.controllers");
const of = (second, first) => read("/sys/fs/cgroup/" + (isNew ? second : first));
console.log(JSON.stringify({
  processes: ids.map((id) => read("/proc/" + id + "/status")).filter(Boolean),
  mounts: read("/proc/self/mountinfo").split("\\n"),
  tmp: { size: blocks * bsize, used: (blocks - bfree) * bsize },
  hasSwap: !/^SwapTotal:\\s+0 kB$/m.test(read("/proc/meminfo")),
  cgroup: {
    version: isNew ? 2 : 1,
    memory: of("memory.max", "memory/memory.limit_in_bytes"),
    swap: of("memory.swap.max", "memory/memory.memsw.limit_in_bytes"),
    cpu: isNew ? of("cpu.max") : of("", "cpu/cpu.cfs_quota_us") + " " + of("", "cpu/cpu.cfs_period_us"),
    pids: of("pids.max", "pids/pids.max"),
    peak: of("memory.peak", "memory/memory.max_usage_in_bytes"),
    events: of("memory.events", "memory/memory.oom_control"),
  },
}));
`;
