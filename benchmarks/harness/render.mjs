import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { CLI } from "./clusters.mjs";

/** `openenv deploy render` into a folder. */
export async function render(target, dir, args) {
  const command = [CLI, "deploy", "render", "--target", target, "--output-dir", dir, ...args.map(String)];
  await promisify(execFile)(process.execPath, command);
}
