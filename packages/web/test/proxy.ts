import { once } from "node:events";
import { createServer, request } from "node:http";
import { type AddressInfo, connect } from "node:net";

/** A reverse proxy that serves another server below a prefix, WebSockets too; `added` are headers of its own. */
export async function startProxy(target: { url: string }, prefix: string, added: Record<string, string> = {}) {
  const { port, hostname } = new URL(target.url);
  const strip = (path = ""): string => path.slice(prefix.length);
  const proxy = createServer((incoming, response) => {
    if (!incoming.url?.startsWith(`${prefix}/`)) return response.writeHead(404).end();
    const { method } = incoming;
    const headers = { ...incoming.headers, ...added };
    const outgoing = request({ hostname, port, path: strip(incoming.url), method, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    });
    outgoing.on("error", () => response.destroy());
    incoming.pipe(outgoing);
  });
  proxy.on("upgrade", ({ url, rawHeaders }, client) => {
    const server = connect(Number(port), hostname);
    const lines = rawHeaders.flatMap((name, at) => (at % 2 === 0 ? [`${name}: ${rawHeaders[at + 1]}`] : []));
    server.write(`GET ${strip(url)} HTTP/1.1\r\n${lines.join("\r\n")}\r\n\r\n`);
    for (const side of [client, server]) side.on("error", () => side.destroy());
    client.pipe(server).pipe(client);
    client.on("close", () => server.destroy());
  });
  await once(proxy.listen(0, "127.0.0.1"), "listening");
  return {
    url: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      proxy.closeAllConnections();
      proxy.close();
    },
  };
}
