import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:net";
import { describe, expect, it } from "vitest";
import { findServerProcesses, readServerUse } from "./local-server.js";

/** A process that listens, with a child that only waits. */
const SCRIPT = `
  const child = require("node:child_process").spawn(process.execPath, ["-e", "setInterval(() => {}, 1e6)"]);
  process.on("disconnect", () => (child.kill(), process.exit()));
  require("node:net").createServer().listen(0, "127.0.0.1", function () {
    process.send({ port: this.address().port, child: child.pid });
  });`;

describe.skipIf(process.platform !== "linux")("the processes of a local server", () => {
  it("are the listening process and its children, with their resource use", async () => {
    const server = spawn(process.execPath, ["-e", SCRIPT], { stdio: ["ignore", "ignore", "inherit", "ipc"] });
    const [{ port, child }] = (await once(server, "message")) as [{ port: number; child: number }];
    try {
      expect(findServerProcesses(port).sort()).toEqual([server.pid, child].sort());
      const use = readServerUse(port);
      expect(use.processes).toBe(2);
      expect(use.bytes).toBeGreaterThan(10_000_000);
      expect(use.cpuSeconds).toBeGreaterThan(0);
    } finally {
      server.disconnect();
      await once(server, "exit");
    }
    expect(findServerProcesses(port)).toEqual([]);
  });

  it("are empty when the server is this process, because its use would be the client's", async () => {
    const server = createServer().listen(0, "127.0.0.1");
    await once(server, "listening");
    expect(findServerProcesses((server.address() as { port: number }).port)).toEqual([]);
    server.close();
  });
});
