import { once } from "node:events";
import { createServer, type IncomingHttpHeaders, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

export interface ReceivedChatRequest {
  path: string | undefined;
  headers: IncomingHttpHeaders;
  body: { model: string; messages: { role: string; content: string }[] } & Record<string, unknown>;
}

export interface ChatServer extends AsyncDisposable {
  readonly url: string;
  readonly requests: ReceivedChatRequest[];
  /** The number of connections that their client closed before the answer. */
  readonly givenUp: number;
}

/** A server with OpenAI's chat completions API that answers each request as the script says. */
export async function startChatServer(script: (response: ServerResponse, nth: number) => void): Promise<ChatServer> {
  const requests: ReceivedChatRequest[] = [];
  let givenUp = 0;
  const server = createServer(async (request, response) => {
    response.on("close", () => {
      if (!response.writableFinished) givenUp++;
    });
    let text = "";
    for await (const chunk of request.setEncoding("utf8")) text += chunk;
    requests.push({ path: request.url, headers: request.headers, body: JSON.parse(text) });
    script(response, requests.length);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    requests,
    get givenUp() {
      return givenUp;
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

export function sayText(response: ServerResponse, content: string | null, more: Record<string, unknown> = {}): void {
  const message = { role: "assistant", content, ...(more["message"] as object | undefined) };
  const choice = { index: 0, message, finish_reason: more["finish_reason"] ?? "stop" };
  sayStatus(response, 200, { id: "1", object: "chat.completion", choices: [choice] });
}

export function sayStatus(response: ServerResponse, status: number, body: unknown, headers = {}): void {
  response.writeHead(status, { "content-type": "application/json", ...headers });
  response.end(typeof body === "string" ? body : JSON.stringify(body));
}
