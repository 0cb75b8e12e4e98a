import cluster from "node:cluster";
import { prepareSandbox } from "../sandbox/sandbox.js";
import { defineCoding } from "./coding-environment.js";
import { readConfig } from "./config.js";

const config = readConfig(process.env);
// Here, so that a server that cannot isolate programs does not start.
const sandbox = await prepareSandbox({ ...config, group: `${serverPid()}-server` });
if (sandbox.warning && isFirst()) console.warn(`coding_env: ${sandbox.warning}`);

export default defineCoding(sandbox, config.limits.timeoutSeconds);

/** The process that all of the server's descend from: its supervisor, where it has one. Hosts of sessions inherit it. */
function serverPid(): string {
  return (process.env["CODING_ENV_SERVER"] ??= String(cluster.isWorker ? process.ppid : process.pid));
}

/** Each process of a server loads this module. The warning is for the whole server. */
function isFirst(): boolean {
  if (process.env["CODING_ENV_WARNED"] || (cluster.worker?.id ?? 1) > 1) return false;
  process.env["CODING_ENV_WARNED"] = "1";
  return true;
}
