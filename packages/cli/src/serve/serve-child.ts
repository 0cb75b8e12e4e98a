import { watchParent } from "openenv-ts/internal";
import type { RunningServer, ServeOptions } from "openenv-ts/server";
import { locateEnvironment } from "../project/find-environment.js";
import { recordReads } from "../project/record-reads.js";
import { exit, print, reportError } from "../terminal/output.js";
import { applyVariables } from "./apply-manifest.js";
import { renderStart } from "./banner.js";
import { serveModule } from "./serve-module.js";

/** What the watching process, or the process provider, hands to the serving one. */
export interface ChildTask {
  /** Folder or module of the environment. */
  target: string;
  options: ServeOptions;
  /** Of the manifest, where the target is a module. */
  version?: string | undefined;
  /** Print the URLs and how to use them: the first time only. */
  announce: boolean;
  /** With them the operator's token, which the child has from the environment. */
  operatorToken?: boolean;
  /** Report the files that it reads. */
  reportReads?: boolean;
}

/** Sent once, when the server listens. */
export interface ChildReady {
  port: number;
}

/** Sent for each file or folder that the process reads, where that is asked for. */
export interface ChildRead {
  read: string;
}

let server: RunningServer | undefined;

/** Whoever started this asks for the end, or is itself gone: nothing may be left behind. */
async function end(): Promise<void> {
  await server?.close();
  process.exit(0);
}

process.once("disconnect", end);
// Also from within an endless loop.
void watchParent({ parent: process.ppid });
if (!process.connected) await end();
try {
  const task = JSON.parse(process.argv[2] ?? "") as ChildTask;
  const { target, options, version, announce, operatorToken } = task;
  if (task.reportReads) recordReads((read) => process.connected && process.send?.({ read } satisfies ChildRead));
  const { file, manifest } = await locateEnvironment(target);
  if (manifest) applyVariables(manifest);
  server = await serveModule(file, options, version ?? manifest?.version);
  if (announce && server.role !== "worker") {
    const token = operatorToken ? process.env["OPENENV_OPERATOR_TOKEN"] : undefined;
    const { url, environment, webInterface } = server;
    const { name, version: shown, schemas } = environment.contract;
    print(await renderStart(url, { name, version: shown, schemas: schemas(), webInterface }, token));
  }
  if (server.role !== "worker") process.send?.({ port: server.port } satisfies ChildReady);
} catch (error) {
  exit(reportError(error));
}
