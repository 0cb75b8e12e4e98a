import { once } from "node:events";
import { request as ask, createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import { findEngine } from "../../packages/providers/src/docker/connection.js";

/** Stands in front of the container engine of this machine; this process asks it until it is disposed. */
export interface EngineProxy extends AsyncDisposable {
  /**
   * The next request that matches (`POST /containers/create`) waits. Resolves when it has come, with what lets it go on
   * and resolves when its answer has arrived.
   */
  hold(request: RegExp): Promise<() => Promise<void>>;
}

export async function startEngineProxy(): Promise<EngineProxy> {
  const { socketPath, host, port } = findEngine(process.env);
  const target = socketPath === undefined ? { host, port } : { socketPath };
  const before = process.env["DOCKER_HOST"];
  let holding: { pattern: RegExp; take(pass: () => Promise<void>): void } | undefined;

  const pass = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { method, url: path, headers } = request;
    const body = await buffer(request);
    const onward = ask({ ...target, method, path, headers, agent: false }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      // An answer that comes later has begun.
      response.flushHeaders();
      answer.pipe(response);
    });
    onward.on("error", ({ message }) => {
      if (response.headersSent) response.destroy();
      else response.writeHead(502).end(JSON.stringify({ message: `the engine behind the proxy: ${message}` }));
    });
    // Head and body in one write: the engine answers and closes before a second one is out.
    onward.end(body);
    await once(response, "close");
  };
  const server = createServer((request, response) => {
    const held = holding?.pattern.test(`${request.method} ${request.url}`) ? holding : undefined;
    if (held === undefined) return void pass(request, response);
    holding = undefined;
    held.take(() => pass(request, response));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  process.env["DOCKER_HOST"] = `tcp://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    hold: (pattern) =>
      new Promise((take) => {
        holding = { pattern, take };
      }),
    [Symbol.asyncDispose]: async () => {
      if (before === undefined) delete process.env["DOCKER_HOST"];
      else process.env["DOCKER_HOST"] = before;
      server.closeAllConnections();
      server.close();
    },
  };
}
