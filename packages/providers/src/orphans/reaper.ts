import { spawn } from "node:child_process";
import type { Writable } from "node:stream";
import { fileURLToPath } from "node:url";
import type { ProviderDescriptor } from "../provider.js";
import { OWNER } from "./owner.js";
import { stateDir } from "./state-dir.js";

/** The line that ends the guard; input that ends without it means that the owner is gone. */
export const DONE = "done";

let input: Writable | undefined;
let watched = 0;
const sent = new Set<string>();

/**
 * Has a process of its own remove what this one starts, should this one end without doing so: by an exit, a crash,
 * Ctrl-C or `kill -9`. The guard lives as long as something runs. `finder` makes what
 * it looks through then. Returns what says that it is closed.
 */
export function registerOrphans(finder: ProviderDescriptor): () => void {
  watched++;
  input ??= startReaper();
  const line = `${JSON.stringify(finder)}\n`;
  if (!sent.has(line)) input.write(line);
  sent.add(line);
  let ended = false;
  return () => {
    if (ended) return;
    ended = true;
    watched--;
    if (watched === 0) endReaper();
  };
}

function startReaper(): Writable {
  const script = fileURLToPath(new URL("./reaper-process.js", import.meta.url));
  const child = spawn(process.execPath, [script, OWNER.id], {
    // A terminal's Ctrl-C is for its owner only.
    detached: true,
    cwd: "/",
    // NODE_OPTIONS may name files from where the owner is.
    env: { ...process.env, NODE_OPTIONS: undefined, OPENENV_STATE_DIR: stateDir() },
    stdio: ["pipe", "ignore", "ignore"],
  });
  child.on("error", () => {});
  child.stdin.on("error", () => {});
  child.unref();
  (child.stdin as unknown as { unref(): void }).unref();
  return child.stdin;
}

/** Everything was closed in order; what is started from now on has another guard. */
function endReaper(): void {
  input?.end(`${DONE}\n`);
  input = undefined;
  sent.clear();
}
