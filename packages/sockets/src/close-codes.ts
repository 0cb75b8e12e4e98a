/** The standard close codes that the server sends by itself (RFC 6455, section 7.4.1, and the registry of IANA). */
export const CLOSE = {
  goingAway: 1001,
  policy: 1008,
  tooLarge: 1009,
  noPong: 1011,
  overloaded: 1013,
} as const;

/** Why a connection ended: a browser sends this code when its page is closed, left or loaded again. */
export const PAGE_LEFT = "the page was left";

/** Why a connection has ended, by the close code of the peer. */
export function reasonOf(code: unknown): string {
  if (code === CLOSE.tooLarge) return "a frame was too large";
  return code === CLOSE.goingAway ? PAGE_LEFT : "disconnected";
}
