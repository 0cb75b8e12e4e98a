import { readFileSync } from "node:fs";
import { findEnvironment } from "../project/find-environment.js";
import { loadEnvironment } from "../project/load-environment.js";

/** The number of workers of an image: the build argument, and a sentence for the author. */
export interface WorkerCount {
  buildArgs: string[];
  note?: string;
}

/**
 * One worker for an environment that does not declare that its sessions share nothing: in several, they would silently
 * not see each other. A Dockerfile without `ARG WORKERS`, and a count that the caller passes, stay as they are.
 */
export async function countWorkers(
  dir: string,
  { dockerfile, buildArgs }: { dockerfile: string; buildArgs: readonly string[] },
): Promise<WorkerCount> {
  const isSettable = /^ARG WORKERS\b/m.test(readFileSync(dockerfile, "utf8"));
  if (!isSettable || buildArgs.some((pair) => /^WORKERS(?:=|$)/.test(pair))) return { buildArgs: [] };
  const reason = await undeclared(dir);
  if (reason === undefined) return { buildArgs: [] };
  const note = `The image runs one worker, because ${reason}. See docs/guide/shared-state.md.`;
  return { buildArgs: ["WORKERS=1"], note };
}

/** Why the sessions may not run in several processes; undefined if they may. */
async function undeclared(dir: string): Promise<string | undefined> {
  try {
    const { sharesState } = await loadEnvironment(await findEnvironment(dir));
    if (sharesState === "no") return undefined;
    return `the environment ${sharesState === "process" ? "declares" : "does not declare"} sharesState: "${sharesState ?? "no"}"`;
  } catch (error) {
    const [line] = (error as Error).message.split("\n");
    return `the environment could not be loaded to read its sharesState (${line})`;
  }
}
