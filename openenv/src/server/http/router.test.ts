import { once } from "node:events";
import { connect } from "node:net";
import { expect, test } from "vitest";
import { useServers } from "../../../test-support/servers.js";

const { start } = useServers();

/** The head of the answer to a GET whose target no client library would send. */
async function get(target: string): Promise<string> {
  const { port } = await start();
  const socket = connect(port, "127.0.0.1");
  socket.write(`GET ${target} HTTP/1.1\r\nHost: localhost:${port}\r\nConnection: close\r\n\r\n`);
  let text = "";
  socket.on("data", (chunk) => {
    text += chunk;
  });
  await once(socket, "close");
  return text.slice(0, text.indexOf("\r\n\r\n"));
}

test.each([
  ["http://localhost/health", /^HTTP\/1.1 200/],
  ["HTTP://localhost:80/health?x=1", /^HTTP\/1.1 200/],
  ["/%68ealth", /^HTTP\/1.1 200/],
  ["/COUNTER%5Fenv/splits", /^HTTP\/1.1 501/],
  ["/%zz", /^HTTP\/1.1 404/],
  ["/health/?x=1", /^HTTP\/1.1 307[\s\S]*\nlocation: \/health\?x=1\r\n/i],
  ["/%68ealth//", /^HTTP\/1.1 307[\s\S]*\nlocation: \/%68ealth\r\n/i],
  ["/a%0d%0aset-cookie:x/splits/", /^HTTP\/1.1 307[\s\S]*\nlocation: \/a%0d%0aset-cookie:x\/splits\r\n/i],
  ["//health/", /^HTTP\/1.1 404/],
  ["http://localhost", /^HTTP\/1.1 404/],
  ["*", /^HTTP\/1.1 404/],
])("GET %s", async (target, head) => {
  expect(await get(target)).toMatch(head);
});
