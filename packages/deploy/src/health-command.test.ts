import { execFile } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { OPERATOR_TOKEN, WITH_OPERATOR } from "../../../test-support/operator.js";
import { useServers } from "../../../test-support/servers/servers.js";
import { healthCommand } from "./targets/container.js";
import { parseTopology } from "./topology.js";

const { start } = useServers();
const DOCKERFILE = join(import.meta.dirname, "../../cli/templates/env/server/Dockerfile");

async function commandOfImage(): Promise<string[]> {
  const [, command = ""] = /HEALTHCHECK[^\n]*\\\n\s*CMD (\[.*\])/.exec(await readFile(DOCKERFILE, "utf8")) ?? [];
  return JSON.parse(command) as string[];
}

const COMMANDS: [string, (port: number) => Promise<string[]>][] = [
  ["an image", () => commandOfImage()],
  ["rendered files", async (port) => healthCommand(parseTopology({ name: "env", image: "env", port }))],
];

test.each(COMMANDS)(
  "the health check of %s fails for a server that closes connections without a response",
  async (_of, find) => {
    // A socket that is not read stays open after its client has exited.
    await using server = createServer((socket) => socket.resume().end()).listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    const [file = "", ...args] = await find(port);
    const checked = promisify(execFile)(file, args, { env: { ...process.env, PORT: String(port) } });
    await expect(checked).rejects.toMatchObject({ code: 1 });
  },
);

test.each(COMMANDS)(
  "the health check of %s passes for a paused server and fails for one that does not respond",
  async (_of, find) => {
    const server = await start(WITH_OPERATOR);
    const [file = "", ...args] = await find(server.port);
    const check = (): Promise<unknown> =>
      promisify(execFile)(file, args, { env: { ...process.env, PORT: String(server.port) } });
    await check();
    const headers = { authorization: `Bearer ${OPERATOR_TOKEN}` };
    await fetch(`${server.url}/sessions/pause`, { method: "POST", headers });
    expect((await fetch(`${server.url}/health`)).status).toBe(503);
    await check();
    await server.close();
    await expect(check()).rejects.toMatchObject({ code: 1 });
  },
);
