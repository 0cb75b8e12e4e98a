import { once } from "node:events";
import type { Readable } from "node:stream";

const MAX_CHARACTERS = 64 * 1024;

/** The last output of several streams. */
export interface Tail {
  readonly text: string;
  /** Resolves when the stream has ended. */
  follow(stream: Readable): Promise<unknown>;
}

export function createTail(): Tail {
  let text = "";
  return {
    get text() {
      return text.slice(-MAX_CHARACTERS);
    },
    follow(stream) {
      stream.setEncoding("utf8").on("data", (chunk: string) => {
        text += chunk;
        // The text is not cut for every chunk: that would copy all of it each time.
        if (text.length > 2 * MAX_CHARACTERS) text = text.slice(-MAX_CHARACTERS);
      });
      return once(stream, "close").catch(() => {});
    },
  };
}
