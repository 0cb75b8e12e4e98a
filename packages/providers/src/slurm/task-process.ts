/** On a node: serves the environment, tells the one that waits for it where, and ends with the job. */
import { fork } from "node:child_process";
import { rename, writeFile } from "node:fs/promises";
import { hostname } from "node:os";
import { join } from "node:path";
import { findServeScript } from "../process/find-serve-script.js";

/** Where a server of a job answers. */
export interface TaskAddress {
  host: string;
  port: number;
  /** The name that Slurm has for the node. */
  node: string;
}

const [, , dir = "", target = "", host = ""] = process.argv;
const number = process.env["SLURM_PROCID"] ?? "0";
const task = { target, options: { host, port: 0 }, announce: false };
const child = fork(findServeScript(), [JSON.stringify(task)], { stdio: ["ignore", "inherit", "inherit", "ipc"] });
const end = (): void => {
  if (child.connected) child.disconnect();
};
for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"] as const) process.on(signal, end);
child.once("message", async (message) => {
  const { port } = message as { port: number };
  const isEverywhere = ["0.0.0.0", "::"].includes(host);
  const address = { host: isEverywhere ? hostname() : host, port, node: process.env["SLURMD_NODENAME"] ?? "" };
  const file = join(dir, `${number}.json`);
  await writeFile(`${file}.new`, JSON.stringify(address satisfies TaskAddress));
  await rename(`${file}.new`, file);
});
child.once("exit", (code) => process.exit(code ?? 1));
