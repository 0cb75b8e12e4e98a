import { homedir } from "node:os";
import { join, resolve } from "node:path";

/** Where what was started is written down: `OPENENV_STATE_DIR`, else as the XDG specification says. Absolute. */
export function stateDir(): string {
  const state = process.env["XDG_STATE_HOME"] || join(homedir(), ".local", "state");
  return resolve(process.env["OPENENV_STATE_DIR"] || join(state, "openenv"));
}
