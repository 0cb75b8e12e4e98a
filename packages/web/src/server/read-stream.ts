import { type AskOptions, request } from "./get.js";

/**
 * Calls `take` with the name and the data of each event of a stream, until the server ends it.
 * @throws RequestError with a message that can be shown.
 */
export async function readStream(
  path: string,
  options: AskOptions,
  take: (event: string, data: unknown) => void,
): Promise<void> {
  const { body } = await request(path, "text/event-stream", options);
  const reader = body?.pipeThrough(new TextDecoderStream()).getReader();
  if (!reader) return;
  let rest = "";
  try {
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
  } finally {
    await reader.cancel();
  }
}
