import { type FSWatcher, statSync, watch } from "node:fs";
import { basename, dirname, join } from "node:path";

export interface SourceWatcher {
  /**
   * Replaces the files that are watched; a folder among them stands for all in it. With `siblings` any visible file in
   * the folders of the files counts.
   */
  follow(files: readonly string[], options?: { siblings?: boolean }): void;
  /** Resolves after the next change, or at once after one that nobody has waited for. */
  changed(): Promise<void>;
  close(): void;
}

/** Editors write a file in several steps, and save all files at once. */
const SETTLE_MS = 80;

/** Watches folders, not files: an editor that replaces a file would take a file's watcher with it. */
export function createSourceWatcher(): SourceWatcher {
  const folders = new Map<string, FSWatcher>();
  let files = new Set<string>();
  let anySibling = false;
  let pending = false;
  let wake = (): void => {};
  let timer: NodeJS.Timeout | undefined;

  function notice(folder: string, name: string | null): void {
    const counts =
      name === null ||
      files.has(folder) ||
      files.has(join(folder, name)) ||
      (anySibling && !basename(name).startsWith("."));
    if (!counts) return;
    clearTimeout(timer);
    timer = setTimeout(() => {
      pending = true;
      wake();
    }, SETTLE_MS);
  }

  return {
    follow(paths, { siblings = false } = {}) {
      files = new Set(paths);
      anySibling = siblings;
      const wanted = new Set(paths.map((path) => (isFolder(path) ? path : dirname(path))));
      for (const [folder, watcher] of folders) {
        if (wanted.delete(folder)) continue;
        watcher.close();
        folders.delete(folder);
      }
      for (const folder of wanted) {
        const watcher = watch(folder, { recursive: files.has(folder) }, (_event, name) => notice(folder, name));
        // A folder that is removed ends its watcher; the files in it are then missed at the next build.
        watcher.on("error", () => watcher.close());
        folders.set(folder, watcher);
      }
    },
    async changed() {
      if (!pending) await new Promise<void>((resolve) => (wake = resolve));
      pending = false;
    },
    close() {
      clearTimeout(timer);
      for (const watcher of folders.values()) watcher.close();
      folders.clear();
    },
  };
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}
