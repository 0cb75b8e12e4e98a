/**
 * The URL of the server, derived from that of the page, which is at `<base>/web/` below any prefix of a reverse proxy.
 * No trailing slash.
 */
export const BASE = new URL("..", new URL(".", location.href)).href.replace(/\/$/, "");

/** The URL of `/ws` with the extensions that the page uses. */
export function socketUrl(): string {
  return `${BASE.replace(/^http/, "ws")}/ws?openenv=warnings&view=1`;
}
