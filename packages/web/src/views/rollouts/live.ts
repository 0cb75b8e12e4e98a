import type { RolloutLive } from "openenv-ts/protocol";
import { BASE } from "../../server/base.js";
import { RequestError } from "../../server/get.js";
import { tokenHeaders } from "../../server/token.js";

/** Calls `take` with each message of `/rollouts/live`, until the server ends the stream. */
export async function readLive(signal: AbortSignal, take: (message: RolloutLive) => void): Promise<void> {
  const headers = { accept: "text/event-stream", ...tokenHeaders() };
  const response = await fetch(`${BASE}/rollouts/live`, { headers, signal, cache: "no-store" });
  if (!response.ok || !response.body)
    throw new RequestError(response.status, `The server answered ${response.status}.`);
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const lines = (rest + value).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) {
      if (line.startsWith("data:")) take(JSON.parse(line.slice(5)) as RolloutLive);
    }
  }
}
