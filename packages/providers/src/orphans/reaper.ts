import { spawn } from "node:child_process";
import type { Writable } from "node:stream";
import { fileURLToPath } from "node:url";
import type { ProviderDescriptor } from "../provider.js";
import { OWNER } from "./owner.js";
import { stateDir } from "./state-dir.js";

/** The line that stops the reaper. Input that ends without it means that the owner is gone. */
export const DONE = "done";

let input: Writable | undefined;
let watched = 0;
const sent = new Set<string>();

/**
 * Starts a separate process that removes what this process starts if it ends without doing so: by an exit, a crash,
 * Ctrl-C or `kill -9`. The reaper lives as long as something runs. `finder` describes how it searches. Returns a
 * function to call when the resource is closed.
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
    // Ctrl-C in a terminal must reach only the owner.
    detached: true,
    cwd: "/",
    // NODE_OPTIONS may have paths relative to the owner's working directory.
    env: { ...process.env, NODE_OPTIONS: undefined, OPENENV_STATE_DIR: stateDir() },
    stdio: ["pipe", "ignore", "ignore"],
  });
  child.on("error", () => {});
  child.stdin.on("error", () => {});
  child.unref();
  (child.stdin as unknown as { unref(): void }).unref();
  return child.stdin;
}

/** Everything is closed; a later start gets a new reaper. */
function endReaper(): void {
  input?.end(`${DONE}\n`);
  input = undefined;
  sent.clear();
}
