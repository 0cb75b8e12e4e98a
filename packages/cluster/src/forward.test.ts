import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { type AddressInfo, createServer as createLocal } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { forwardRequest } from "./forward.js";

let folder = "";
const local = createLocal((socket) => socket.destroy());
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "forward-"));
  await writeFile(join(folder, "left.sock"), "");
  await once(local.listen(join(folder, "ends.sock")), "listening");
});
afterAll(async () => {
  local.close();
  await rm(folder, { recursive: true });
});

const GONE = [404, "SESSION_ERROR", null];
const BUSY = [503, "CAPACITY_REACHED", "1"];

test.each([
  ["does not exist any more", "gone.sock", GONE],
  ["was killed", "left.sock", GONE],
  ["ends during the request", "ends.sock", GONE],
  ["cannot be reached for another reason", "left.sock/w1.sock", BUSY],
])("a request to a worker that %s gets an error for the session that it names", async (_what, path, told) => {
  expect(await forwarded(path, true)).toEqual(told);
  expect(await forwarded(path, false)).toEqual(BUSY);
});

async function forwarded(path: string, named: boolean): Promise<unknown[]> {
  const server = createServer((request, response) =>
    forwardRequest(join(folder, path), { request, response, body: "", named }),
  );
  await once(server.listen(0, "127.0.0.1"), "listening");
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const answer = await fetch(url, { headers: { connection: "close" } });
  server.close();
  const { code, detail } = (await answer.json()) as { code: string; detail: string };
  expect(detail).toMatch(/POST \/reset without the session|try again/);
  return [answer.status, code, answer.headers.get("retry-after")];
}
