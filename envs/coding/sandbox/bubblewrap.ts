import { lstatSync, readlinkSync } from "node:fs";
import { dirname } from "node:path";
import type { SandboxCommand } from "./languages.js";
import { FILE_BYTES, FILES } from "./limits.js";

/** What differs between the ways in which machines let it run. */
export interface Confinement {
  /** Without it, it has to be started by root, and what it runs changes to a separate uid. */
  userNamespace: boolean;
  /** A container may forbid to mount one; nothing then shows processes at all. */
  proc: boolean;
  /** What it runs mounts the temporary files, because it cannot limit their number; some machines forbid that. */
  countedFiles: boolean;
}

/** A file system for temporary files: where it is, and its options. */
export type Scratch = readonly [path: string, options: string];

const PLACES = ["/dev/shm", "/tmp"];
const INNER_ID = "1000";
/** What programs of a distribution need; not all of /usr, where applications are installed as well. */
const SYSTEM = ["/usr/bin", "/usr/lib", "/usr/lib64", "/usr/libexec", "/usr/local/bin", "/usr/local/lib"];
const SYSTEM_PARTS = ["/usr/share/zoneinfo", "/etc/ld.so.cache"];
const LINKS = ["/bin", "/lib", "/lib64"];

/** The file systems that the command has to mount itself. */
export function listScratch({ countedFiles }: Confinement): Scratch[] {
  return countedFiles ? PLACES.map((path) => [path, `size=${FILE_BYTES},nr_inodes=${FILES},mode=1777`]) : [];
}

/** The arguments of `bwrap` up to the command it runs, which has the capabilities that `confine.py` drops. */
export function renderArguments(command: SandboxCommand, confinement: Confinement): string[] {
  const { userNamespace, proc, countedFiles } = confinement;
  const own = command.reads.filter((path) => !["/usr", "/usr/local"].includes(path) && !isSystem(path));
  return [
    ...["--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try"],
    ...(userNamespace ? ["--unshare-user", "--uid", INNER_ID, "--gid", INNER_ID] : []),
    // Bubblewrap has no right to end what changed its uid: there it needs its own first process, which it may end.
    ...(userNamespace ? ["--as-pid-1"] : []),
    ...["--cap-drop", "ALL"],
    ...(userNamespace ? [] : ["--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID"]),
    ...(countedFiles ? ["--cap-add", "CAP_SYS_ADMIN"] : []),
    ...["--die-with-parent", "--new-session", "--info-fd", "5", "--hostname", "sandbox"],
    ...[...SYSTEM, ...SYSTEM_PARTS].flatMap((path) => bind(path, path, "--ro-bind-try")),
    ...LINKS.flatMap(bindOrLink),
    ...own.flatMap((path) => bind(path, path)),
    ...command.seen.flatMap(([from, to]) => bind(from, to)),
    ...["--dev", "/dev", ...PLACES.flatMap((path) => (countedFiles ? ["--dir", path] : scratch(path)))],
    ...["--remount-ro", "/dev"],
    ...(proc ? ["--proc", "/proc"] : []),
    ...["--chdir", "/tmp", "--remount-ro", "/"],
    "--",
  ];
}

function isSystem(path: string): boolean {
  return SYSTEM.some((folder) => path === folder || path.startsWith(`${folder}/`));
}

/** The folders above are made one by one, because bubblewrap would close those it makes to other uids. */
function bind(from: string, to: string, option = "--ro-bind"): string[] {
  const above: string[] = [];
  for (let folder = dirname(to); folder !== "/"; folder = dirname(folder)) above.unshift("--dir", folder);
  return [...above, option, from, to];
}

/** In most distributions /lib is a link to usr/lib. */
function bindOrLink(path: string): string[] {
  const stats = lstatSync(path, { throwIfNoEntry: false });
  if (!stats) return [];
  return stats.isSymbolicLink() ? ["--symlink", readlinkSync(path), path] : ["--ro-bind", path, path];
}

function scratch(path: string): string[] {
  return ["--size", String(FILE_BYTES), "--perms", "1777", "--tmpfs", path];
}
