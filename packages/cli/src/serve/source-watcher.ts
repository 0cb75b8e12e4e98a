import { type FSWatcher, statSync, watch } from "node:fs";
import { basename, dirname, join, sep } from "node:path";

export interface SourceWatcher {
  /**
   * Replaces the files that are watched; a folder among them stands for all in it, and one that does not exist is noticed
   * when it appears. With `siblings` any visible file in the folders of the files counts.
   */
  follow(files: readonly string[], options?: { siblings?: boolean }): void;
  /** Watches one more until the next `follow`. */
  add(file: string): void;
  /** Resolves after the next change, or at once after one that nobody has waited for. */
  changed(): Promise<void>;
  close(): void;
}

/** Editors write a file in several steps, and save all files at once. */
const SETTLE_MS = 80;

/** Watches folders, not files: an editor that replaces a file would take a file's watcher with it. */
export function createSourceWatcher(): SourceWatcher {
  /** By folder and inode: one that is removed and made again is another. */
  const watchers = new Map<string, FSWatcher>();
  let files = new Set<string>();
  let anySibling = false;
  let pending = false;
  let wake = (): void => {};
  let timer: NodeJS.Timeout | undefined;

  function notice(folder: string, name: string | null): void {
    const counts =
      name === null ||
      files.has(folder) ||
      leadsToFile(join(folder, name)) ||
      (anySibling && !basename(name).startsWith("."));
    if (!counts) return;
    clearTimeout(timer);
    timer = setTimeout(() => {
      pending = true;
      wake();
    }, SETTLE_MS);
  }

  /** Also a folder that appears on the way to a file that does not exist yet. */
  function leadsToFile(path: string): boolean {
    return files.has(path) || [...files].some((file) => file.startsWith(path + sep));
  }

  function watchFolder(key: string, folder: string): void {
    if (watchers.has(key)) return;
    const watcher = watch(folder, { recursive: files.has(folder) }, (_event, name) => notice(folder, name));
    // A folder that is removed ends its watcher; the files in it are then missed at the next build.
    watcher.on("error", () => watcher.close());
    watchers.set(key, watcher);
  }

  return {
    follow(paths, { siblings = false } = {}) {
      files = new Set(paths);
      anySibling = siblings;
      const wanted = new Map(paths.map(findFolder).map(({ folder, inode }) => [`${inode} ${folder}`, folder]));
      for (const [key, watcher] of watchers) {
        if (wanted.has(key)) continue;
        watcher.close();
        watchers.delete(key);
      }
      for (const [key, folder] of wanted) watchFolder(key, folder);
    },
    add(path) {
      if (files.has(path)) return;
      files.add(path);
      const { folder, inode } = findFolder(path);
      watchFolder(`${inode} ${folder}`, folder);
    },
    async changed() {
      if (!pending) await new Promise<void>((resolve) => (wake = resolve));
      pending = false;
    },
    close() {
      clearTimeout(timer);
      for (const watcher of watchers.values()) watcher.close();
      watchers.clear();
    },
  };
}

/** The path itself, or the nearest folder above it that exists. */
function findFolder(path: string): { folder: string; inode: number } {
  for (let folder = path; ; folder = dirname(folder)) {
    const stats = statSync(folder, { throwIfNoEntry: false });
    if (stats?.isDirectory() || folder === dirname(folder)) return { folder, inode: stats?.ino ?? 0 };
  }
}
