import { readdir, realpath } from "node:fs/promises";
import { isAbsolute, join, relative, resolve, sep } from "node:path";
import { ProviderError } from "openenv-ts";

/** The absolute path of a repository's file below the folder. @throws ProviderError when it would be outside. */
export function placeInside(dir: string, path: string): string {
  const place = resolve(dir, path);
  const parts = path.split(/[\\/]/);
  if (path !== "" && isBelow(dir, place) && !parts.includes("..") && !parts.includes(".git")) return place;
  throw escaped(path);
}

/** @throws ProviderError when a link in the folder leads outside. */
export async function rejectEscapingLinks(dir: string): Promise<void> {
  const root = await realpath(dir);
  for (const entry of await readdir(root, { recursive: true, withFileTypes: true })) {
    if (!entry.isSymbolicLink()) continue;
    const link = join(entry.parentPath, entry.name);
    const target = await realpath(link).catch(() => undefined);
    // The target of a dangling link may be created later.
    if (target === undefined || !isBelow(root, target)) throw escaped(relative(root, link));
  }
}

function isBelow(dir: string, place: string): boolean {
  const path = relative(dir, place);
  return path !== "" && path !== ".." && !path.startsWith(`..${sep}`) && !isAbsolute(path);
}

function escaped(path: string): ProviderError {
  return new ProviderError(
    "SOURCE_NOT_FOUND",
    `The repository has ${JSON.stringify(path)}, which leads outside its folder. It is not used; report this to its author.`,
  );
}
