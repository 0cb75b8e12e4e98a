/** A supervisor whose workers do not start. They are scripts, because no real worker fails like this. */
import cluster from "node:cluster";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { readSettings } from "#core/server/config/read-settings.js";
import { Central } from "#core/server/plugins/central.js";
import { type Log, silentLog } from "#core/util/log.js";
import { openTestSocket } from "../../../test-support/sockets/socket.js";
import { superviseWorkers } from "./supervise.js";
import { Supervisor } from "./supervisor.js";

let folder = "";
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "supervisor-"));
});
afterAll(async () => {
  // Other files of this process start workers, too, and the folder is gone then.
  cluster.setupPrimary({ exec: process.argv[1] ?? "", cwd: undefined, args: [], execArgv: [] });
  await rm(folder, { recursive: true });
});

/** Makes later workers run `script` in `cwd`. */
async function runAsWorker(script: string, cwd = folder): Promise<void> {
  const exec = join(folder, "worker.cjs");
  await writeFile(exec, script);
  cluster.setupPrimary({ exec, cwd, args: [], execArgv: [] });
}

const createSupervisor = (log: Log = silentLog) =>
  new Supervisor({ workers: 1, port: 0, log, graceMs: 0, drainMs: 0, hangMs: 30_000, central: new Central(log) });

test("a process that cannot be started counts as a worker that exited", async () => {
  await runAsWorker("", join(folder, "nowhere"));
  await expect(createSupervisor().start()).rejects.toMatchObject({
    code: "INVALID_CONFIG",
    message: expect.stringMatching(/exited before it was ready \(spawn .* ENOENT\)/),
  });
});

test("a socket that no worker can accept is rejected with 503", async () => {
  await runAsWorker(`
    const server = require("node:http").createServer();
    server.on("upgrade", ({ url, headers }, socket) =>
      process.send({ type: "upgrade", envelope: { url, headers, head: "", tried: [] } }, socket));
    server.listen(0, "127.0.0.1");
  `);
  const supervisor = createSupervisor();
  const listening = once(cluster, "listening");
  void supervisor.start();
  const [, { port }] = (await listening) as [unknown, { port: number }];
  await expect(openTestSocket(`http://127.0.0.1:${port}/ws`)).rejects.toThrow(/503/);
  await supervisor.close();
});

test("a worker that has served is replaced after a delay that grows up to half a second", async () => {
  // It receives the list of peers once it is ready.
  await runAsWorker(`
    process.on("message", () => process.exit(1));
    process.send({ type: "ready" });
  `);
  const delays: number[] = [];
  const error = (fields: object): void => void delays.push((fields as { delay: number }).delay);
  const supervisor = createSupervisor({ ...silentLog, error });
  await supervisor.start();
  await expect.poll(() => delays.length, { timeout: 20_000 }).toBeGreaterThanOrEqual(5);
  await supervisor.close();
  expect(delays.slice(0, 5)).toEqual([100, 200, 400, 500, 500]);
});

test("leaves nothing behind when its workers exit at once", async () => {
  await runAsWorker("process.exit(3)");
  const before = process.listenerCount("exit");
  await expect(superviseWorkers(readSettings({ port: 0, workers: 2 }, {}))).rejects.toThrow(/exit code 3/);
  expect(process.listenerCount("exit")).toBe(before);
});
