import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, it } from "vitest";
import { parseAddress } from "./address.js";
import { createHttpClient } from "./http.js";

describe("a request whose connection closes without an answer", () => {
  it("is repeated if it only reads", async () => {
    await using server = await startDyingServer(1);
    expect(await server.client.get("/schema")).toEqual({ path: "/schema" });
    expect(server.asked).toEqual(["GET /schema", "GET /schema"]);
  });

  it("is sent once if it may have changed something", async () => {
    await using server = await startDyingServer(1);
    await expect(server.client.post("/step", {})).rejects.toMatchObject({ code: "CONNECTION_FAILED" });
    expect(server.asked).toEqual(["POST /step"]);
  });

  it("fails if the second attempt is not answered either", async () => {
    await using server = await startDyingServer(2);
    await expect(server.client.get("/schema")).rejects.toMatchObject({ code: "CONNECTION_FAILED" });
    expect(server.asked).toHaveLength(2);
  });
});

it("accepts a time limit that is not a whole number of milliseconds, or is over", async () => {
  await using server = await startDyingServer(0);
  expect(await server.client.post("/step", {}, { timeoutMs: 10_000 / 3 })).toEqual({ path: "/step" });
  await expect(server.client.post("/step", {}, { timeoutMs: -1 })).rejects.toMatchObject({ code: "CLIENT_TIMEOUT" });
});

/** Closes the connections of the first `deaths` requests, and answers those after them. */
async function startDyingServer(deaths: number) {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push(`${request.method} ${request.url}`);
    if (asked.length <= deaths) request.socket.destroy();
    else response.end(JSON.stringify({ path: request.url }));
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const address = parseAddress(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  return {
    asked,
    client: createHttpClient(address, { headers: {}, timeoutMs: 10_000 }),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
    },
  };
}
