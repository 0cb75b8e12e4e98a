import type { RolloutLive } from "openenv-ts/protocol";
import { readStream } from "../../server/read-stream.js";

/** Calls `take` with each message of `/rollouts/live`, until the server ends the stream. */
export function readLive(signal: AbortSignal, take: (message: RolloutLive) => void): Promise<void> {
  return readStream("/rollouts/live", { signal }, (event, data) => {
    if (event === "message") take(data as RolloutLive);
  });
}
