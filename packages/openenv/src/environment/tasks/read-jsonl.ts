import { readFileSync, statSync } from "node:fs";
import { basename, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { ConfigError } from "../../errors.js";
import { parseJsonl } from "./jsonl.js";
import type { TaskList } from "./task-lists.js";

/**
 * Tasks from a JSON Lines file, for {@link createTasks}. A path is relative to the working directory. The file is read
 * on first use, its tasks are parsed on access.
 * @throws ConfigError at once when the file does not exist.
 */
export function readJsonl(file: string | URL): TaskList {
  const path = resolve(file instanceof URL ? fileURLToPath(file) : file);
  if (statSync(path, { throwIfNoEntry: false })?.isFile() !== true) {
    throw new ConfigError(
      `There is no file ${path}. Keep data files in data/ of the package, name them new URL("../data/tasks.jsonl", ` +
        "import.meta.url), and let the build script copy data/ to dist/data.",
    );
  }
  // Clients see the error of a line, so its name must not contain the path.
  return parseJsonl(() => readFileSync(path), basename(path));
}
