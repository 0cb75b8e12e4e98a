import { describePython, type Manifest } from "@openenv-ts/providers/manifest";
import { printNote } from "../terminal/output.js";

type Read<T> = (dir: string, onWarning: (line: string) => void) => Promise<T>;

/** Reads a manifest and prints what an author should know: first how a Python environment is served, then ignored fields. */
export async function readWithNotes<T extends Manifest | undefined>(read: Read<T>, dir: string): Promise<T> {
  const warnings: string[] = [];
  const manifest = await read(dir, (line) => warnings.push(line));
  if (manifest?.runtime === "fastapi") printNote(describePython(dir, manifest.app));
  for (const warning of warnings) printNote(`warning: ${warning}`);
  return manifest;
}
