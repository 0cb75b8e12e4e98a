import { expect, test } from "vitest";
import { expectNoOperator } from "../../../../../test-support/clients/stranger.js";
import { startGateway } from "../../../../../test-support/proxies/gateway.js";
import { useServers } from "../../../../../test-support/servers/servers.js";

const { start } = useServers();

test("a caller through a TCP forwarder is not an operator of a server without a token", async () => {
  const server = await start();
  await using forwarder = await startGateway(server, "passes");
  await expectNoOperator(server, forwarder.url);
});

test("neither is who comes from the machine itself, under any name that a proxy may claim", async () => {
  const server = await start();
  await expectNoOperator(server, server.url);
  for (const [name, value] of [
    ["x-forwarded-for", "127.0.0.1"],
    ["x-real-ip", "127.0.0.1"],
    ["forwarded", "for=127.0.0.1"],
  ] as const) {
    expect((await fetch(`${server.url}/sessions`, { headers: { [name]: value } })).status).toBe(401);
  }
});
