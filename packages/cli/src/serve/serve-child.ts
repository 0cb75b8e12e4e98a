import { loadCluster } from "openenv-ts/internal";
import type { RunningServer, ServeOptions } from "openenv-ts/server";
import { locateEnvironment } from "../project/find-environment.js";
import { recordReads } from "../project/record-reads.js";
import { exit, print, reportError } from "../terminal/output.js";
import { applyVariables } from "./apply-manifest.js";
import { describeStart } from "./banner.js";
import { findPlugins } from "./load-plugins.js";
import { serveModule } from "./serve-module.js";

/** The task that the watching process or the process provider passes to the serving process. */
export interface ChildTask {
  /** Folder or module of the environment. */
  target: string;
  options: ServeOptions;
  /** Version of the manifest, when the target is a module. */
  version?: string | undefined;
  /** Modules of plugins; those of the manifest are not among them. */
  plugins?: string[];
  /** Print the URLs and how to use them: only at the first start. */
  announce: boolean;
  /** Print the operator token too, which the child reads from its environment. */
  operatorToken?: boolean;
  /** Report the files that the child reads. */
  reportReads?: boolean;
}

/** Sent once, when the server listens. */
export interface ChildReady {
  port: number;
}

/** Sent for each file or folder that the process reads, when `reportReads` is set. */
export interface ChildRead {
  read: string;
}

let server: RunningServer | undefined;

/** Stops the server when the parent disconnects or is gone, so that it does not outlive the parent. */
async function end(): Promise<void> {
  await server?.close();
  process.exit(0);
}

process.once("disconnect", end);
// Ends the process even when the environment is in an endless loop.
void (await loadCluster()).watchParent({ parent: process.ppid });
if (!process.connected) await end();
try {
  const task = JSON.parse(process.argv[2] ?? "") as ChildTask;
  const { target, options, version, announce, operatorToken, plugins = [] } = task;
  if (task.reportReads) recordReads((read) => process.connected && process.send?.({ read } satisfies ChildRead));
  const { file, manifest } = await locateEnvironment(target);
  if (manifest) applyVariables(manifest);
  const files = findPlugins({ given: plugins, folder: target, manifest, isAllowed: false });
  server = await serveModule({ file, options, version: version ?? manifest?.version, plugins: files });
  if (announce && server.role !== "worker") {
    const token = operatorToken ? process.env["OPENENV_OPERATOR_TOKEN"] : undefined;
    print(await describeStart(server, token));
  }
  if (server.role !== "worker") process.send?.({ port: server.port } satisfies ChildReady);
} catch (error) {
  exit(reportError(error));
}
