import { lstatSync, readlinkSync } from "node:fs";
import { dirname } from "node:path";
import type { Command } from "./languages.js";
import { FILE_BYTES } from "./limits.js";

/** What differs between the ways in which machines let it run. */
export interface Confinement {
  /** Without it, it has to be started by root, and what it runs changes to a uid of its own. */
  userNamespace: boolean;
  /** A container may forbid to mount one; nothing then shows processes at all. */
  proc: boolean;
  /** Forbids further user namespaces inside; older versions cannot. */
  lastUserNamespace: boolean;
}

const SHARED_MEMORY_BYTES = FILE_BYTES;
const INNER_ID = "1000";
/** What programs of a distribution need; not all of /usr, where applications are installed as well. */
const SYSTEM = ["/usr/bin", "/usr/lib", "/usr/lib64", "/usr/libexec", "/usr/local/bin", "/usr/local/lib"];
const SYSTEM_PARTS = ["/usr/share/zoneinfo", "/etc/ld.so.cache"];
const LINKS = ["/bin", "/lib", "/lib64"];

/** The arguments of `bwrap` up to and with the command it runs, which changes to `uid` where there is one. */
export function renderArguments(command: Command, confinement: Confinement, uid: number | undefined): string[] {
  const { userNamespace, proc, lastUserNamespace } = confinement;
  const own = command.reads.filter((path) => !["/usr", "/usr/local"].includes(path) && !isSystem(path));
  return [
    ...["--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try"],
    ...(userNamespace ? ["--unshare-user", "--uid", INNER_ID, "--gid", INNER_ID] : []),
    ...(userNamespace && lastUserNamespace ? ["--disable-userns"] : []),
    // Bubblewrap has no right to end what changed its uid: there it needs a first process of its own, which it may end.
    ...(userNamespace ? ["--as-pid-1"] : []),
    ...["--cap-drop", "ALL"],
    ...(userNamespace ? [] : ["--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID"]),
    ...["--die-with-parent", "--new-session", "--info-fd", "5", "--hostname", "sandbox"],
    ...[...SYSTEM, ...SYSTEM_PARTS].flatMap((path) => bind(path, path, "--ro-bind-try")),
    ...LINKS.flatMap(bindOrLink),
    ...own.flatMap((path) => bind(path, path)),
    ...command.seen.flatMap(([from, to]) => bind(from, to)),
    ...["--dev", "/dev", ...scratch("/dev/shm", SHARED_MEMORY_BYTES), "--remount-ro", "/dev"],
    ...(proc ? ["--proc", "/proc"] : []),
    ...[...scratch("/tmp", FILE_BYTES), "--chdir", "/tmp", "--remount-ro", "/"],
    ...["--", ...(userNamespace || uid === undefined ? [] : renderUidChange(uid)), command.file, ...command.args],
  ];
}

/** A command that runs the one after it as this uid, and sees that it ends with its parent: the change undoes that. */
function renderUidChange(uid: number): string[] {
  return ["setpriv", `--reuid=${uid}`, `--regid=${uid}`, "--clear-groups", "--pdeathsig=KILL", "--"];
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

function scratch(path: string, bytes: number): string[] {
  return ["--size", String(bytes), "--perms", "1777", "--tmpfs", path];
}
