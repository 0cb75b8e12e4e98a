import { mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { ConfigError } from "openenv-ts/internal";
import { describePath } from "../project/bundle.js";

export interface PackageFiles {
  /** Written each time; their first line says so. */
  generated: Record<string, string>;
  /** Written once: an author may change them. */
  once: Record<string, string>;
}

/**
 * Writes a package into a folder and returns the paths that were written, sorted.
 * @throws ConfigError when a file is in the way that this did not write, before anything is written.
 */
export async function writePackage(dir: string, { generated, once }: PackageFiles): Promise<string[]> {
  const written: string[] = [];
  try {
    for (const [path, text] of Object.entries(generated)) await rejectForeign(join(dir, path), text);
    for (const [path, text] of Object.entries(generated)) {
      await write(join(dir, path), text, "w");
      written.push(path);
    }
    for (const [path, text] of Object.entries(once)) if (await write(join(dir, path), text, "wx")) written.push(path);
  } catch (error) {
    if (error instanceof ConfigError) throw error;
    throw new ConfigError(`Cannot write ${describePath(dir)} (${(error as Error).message}); choose a folder with -o.`);
  }
  return written.sort();
}

async function rejectForeign(file: string, text: string): Promise<void> {
  const found = await readFile(file, "utf8").catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return undefined;
    throw error;
  });
  if (found === undefined || found === text || firstLine(found) === firstLine(text)) return;
  throw new ConfigError(`${describePath(file)} was not written by this command; move it, or choose a folder with -o.`);
}

function firstLine(text: string): string {
  return text.slice(0, text.indexOf("\n"));
}

/** False when the file is there and is not to be replaced. */
async function write(file: string, text: string, flag: "w" | "wx"): Promise<boolean> {
  await mkdir(dirname(file), { recursive: true });
  try {
    await writeFile(file, text, { flag });
    return true;
  } catch (error) {
    if (flag === "wx" && (error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw error;
  }
}
