import { CLOSE_CODES } from "../../protocol/messages.js";

const MEANINGS: Record<number, string> = {
  1001: "the server went away",
  1006: "the connection broke",
  [CLOSE_CODES.tooLarge]: "a frame was too large",
  [CLOSE_CODES.noPong]: "the server failed or did not receive a pong in time",
  [CLOSE_CODES.restart]: "the server is restarting",
  [CLOSE_CODES.overloaded]: "the server is overloaded",
  [CLOSE_CODES.sessionEnded]: "the server ended the session",
  [CLOSE_CODES.resumedElsewhere]: "another connection has resumed the session",
};

/** Describes why a socket was closed: `the server is restarting (1012)`. */
export function describeClose(code: number, reason: string): string {
  const meaning = MEANINGS[code] ?? "the server closed it";
  return reason ? `${meaning} (${code}: ${reason})` : `${meaning} (${code})`;
}
