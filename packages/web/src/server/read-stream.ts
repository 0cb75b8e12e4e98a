import { BASE } from "./base.js";
import { type AskOptions, describe, RequestError } from "./get.js";
import { tokenHeaders } from "./token.js";

/**
 * Calls `take` with the name and the data of each event of a stream, until the server ends it.
 * @throws RequestError with a message that can be shown.
 */
export async function readStream(
  path: string,
  { body, signal }: AskOptions,
  take: (event: string, data: unknown) => void,
): Promise<void> {
  const headers = { accept: "text/event-stream", ...tokenHeaders() };
  const sent = body === undefined ? {} : { method: "POST", body: JSON.stringify(body) };
  const response = await fetch(BASE + path, { ...sent, headers, cache: "no-store", signal: signal ?? null });
  if (!response.ok || !response.body) {
    throw new RequestError(response.status, describe(response.status, await response.text()));
  }
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const blocks = (rest + value).split("\n\n");
    rest = blocks.pop() ?? "";
    for (const block of blocks) {
      const data = /^data: ?(.*)$/m.exec(block)?.[1];
      if (data !== undefined) take(/^event: ?(.*)$/m.exec(block)?.[1] ?? "message", JSON.parse(data));
    }
  }
}
