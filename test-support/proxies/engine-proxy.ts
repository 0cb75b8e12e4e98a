import { once } from "node:events";
import { request as ask, createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import { findEngine } from "../../packages/providers/src/docker/connection.js";

/** A proxy in front of the container engine of this machine, which this process uses until it is disposed. */
export interface EngineProxy extends AsyncDisposable {
  /**
   * Makes the next matching request (such as `POST /containers/create`) wait. Resolves when it has arrived, with a
   * function that forwards it and resolves when its answer has arrived.
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
      // Sends the head at once; the body may come later.
      response.flushHeaders();
      answer.pipe(response);
    });
    onward.on("error", ({ message }) => {
      if (response.headersSent) response.destroy();
      else response.writeHead(502).end(JSON.stringify({ message: `the engine behind the proxy: ${message}` }));
    });
    // Head and body in one write: the engine may answer and close before a second write.
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
