import { fork } from "node:child_process";
import { once } from "node:events";
import { realpath } from "node:fs/promises";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { BundleError, bundle, describePath, findPackageRoot } from "../project/bundle.js";
import { exit, printError, printNote } from "../terminal/output.js";
import { findDataFiles, isDataFile } from "../validate/data-files.js";
import { makeOperatorToken } from "./operator-token.js";
import type { ChildRead, ChildReady, ChildTask } from "./serve-child.js";
import type { ServedModule } from "./serve-module.js";
import { createSourceWatcher } from "./source-watcher.js";

/**
 * Serves a module in a child process and replaces that process when a source file changes. After the first successful
 * start, it reports an edit that does not compile or load, and waits for the next one.
 * @throws ConfigError when the source does not compile at the first start.
 */
export async function serveAndWatch({ file, options, version, plugins }: ServedModule): Promise<void> {
  const sources = createSourceWatcher();
  const root = findPackageRoot(await realpath(file));
  sources.follow(await findSources([file, ...plugins]));
  const operatorToken = makeOperatorToken() !== undefined;
  const onRead = (path: string): void => {
    if (isDataFile(root, path)) sources.add(path);
  };
  const task = { target: file, version, plugins, reportReads: true };
  let child = startChild({ ...task, options, announce: true, operatorToken }, onRead);
  endWithSignals(() => child);

  const started = await child.started;
  if (!started) {
    exit(await child.exited);
    return;
  }
  printNote(`Watching ${describePath(file)}, what it imports and the data files that it reads.`);
  noteUnexpectedExit(child);
  for (;;) {
    await sources.changed();
    if (!(await compiles())) continue;
    await child.stop();
    child = startChild({ ...task, options: { ...options, port: started.port }, announce: false }, onRead);
    child.started.then((ready) => ready && printNote("Restarted after a change."));
    noteUnexpectedExit(child);
  }

  async function compiles(): Promise<boolean> {
    try {
      sources.follow(await findSources([file, ...plugins]));
      return true;
    } catch (error) {
      if (!(error instanceof BundleError)) throw error;
      // A new file may fix the error, so watch the folders too.
      sources.follow(error.inputs, { siblings: true });
      printError(`${error.message}\nThe previous version keeps running; waiting for a change.`);
      return false;
    }
  }
}

/** The source files of the environment and of plugins, and the data files that they reference. */
async function findSources(files: readonly string[]): Promise<string[]> {
  const inputs = (await Promise.all(files.map((file) => bundle(file)))).flatMap((bundled) => bundled.inputs);
  const named = (await Promise.all(inputs.map(findDataFiles))).flat().map(({ path, text }) => path ?? resolve(text));
  return [...inputs, ...named, join(findPackageRoot(await realpath(files[0] as string)), "data")];
}

interface Child {
  /** Resolves when the server listens, or with undefined when the process ended before. */
  readonly started: Promise<ChildReady | undefined>;
  /** The exit code; 1 when a signal ended the process. */
  readonly exited: Promise<number>;
  readonly stopping: boolean;
  /** Resolves when the process is gone. */
  stop(): Promise<void>;
  kill(): boolean;
}

/** Longer than a clean shutdown takes, so that only a blocked event loop is killed. */
const KILL_AFTER_MS = 15_000;

function startChild(task: ChildTask, onRead: (path: string) => void): Child {
  const script = fileURLToPath(new URL("./serve-child.js", import.meta.url));
  const running = fork(script, [JSON.stringify(task)]);
  const exited = once(running, "exit").then(([code]) => (code as number | null) ?? 1);
  const ready = new Promise<ChildReady>((resolve) => {
    running.on("message", (message: ChildReady | ChildRead) => {
      if ("read" in message) onRead(message.read);
      else resolve(message);
    });
  });
  let stopping = false;
  return {
    started: Promise.race([ready, exited.then(() => undefined)]),
    exited,
    get stopping() {
      return stopping;
    },
    async stop() {
      stopping = true;
      // SIGTERM is not sent: on Ctrl-C the terminal signals the child too, and a second one would skip a clean shutdown.
      if (running.connected) running.disconnect();
      const timer = setTimeout(() => running.kill("SIGKILL"), KILL_AFTER_MS);
      await exited;
      clearTimeout(timer);
    },
    kill: () => running.kill("SIGKILL"),
  };
}

function noteUnexpectedExit(child: Child): void {
  child.exited.then(() => {
    if (!child.stopping) printNote("The server exited; waiting for a change.");
  });
}

/** The first Ctrl-C or SIGTERM stops the server cleanly; the next one kills it. */
function endWithSignals(current: () => Child): void {
  let signalled = false;
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    process.on(signal, async () => {
      if (signalled) current().kill();
      signalled = true;
      await current().stop();
      exit(0);
    });
  }
}
