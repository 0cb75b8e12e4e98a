import { spawn } from "node:child_process";
import type { Writable } from "node:stream";
import { fileURLToPath } from "node:url";
import type { Recipe } from "../provider.js";
import { OWNER } from "./owner.js";
import { stateDir } from "./state-dir.js";

/** The line that ends the guard; input that ends without it means that the owner is gone. */
export const DONE = "done";

let input: Writable | undefined;
let watched = 0;
const told = new Set<string>();

/**
 * Has a process of its own remove what this one starts, should this one end without doing so: by an exit, a crash,
 * Ctrl-C or `kill -9`. The guard lives as long as something runs. `sweeper` makes what
 * it looks through then. Returns what says that it is closed.
 */
export function guard(sweeper: Recipe): () => void {
  watched++;
  input ??= startGuard();
  const line = `${JSON.stringify(sweeper)}\n`;
  if (!told.has(line)) input.write(line);
  told.add(line);
  let ended = false;
  return () => {
    if (ended) return;
    ended = true;
    watched--;
    if (watched === 0) endGuard();
  };
}

function startGuard(): Writable {
  const script = fileURLToPath(new URL("./guard-process.js", import.meta.url));
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
function endGuard(): void {
  input?.end(`${DONE}\n`);
  input = undefined;
  told.clear();
}
