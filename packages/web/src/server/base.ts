/**
 * The URL of the server, derived from that of the page, which is at `<base>/web/` below any prefix of a reverse proxy.
 * No trailing slash.
 */
export const BASE = new URL("..", new URL(".", location.href)).href.replace(/\/$/, "");

/** The URL of `/ws` with the extensions that the page uses, for a new session or a copy. */
export function socketUrl(copy: string | undefined): string {
  const query = copy === undefined ? "openenv=warnings" : `openenv=warnings,resume&session_id=${copy}`;
  return `${BASE.replace(/^http/, "ws")}/ws?${query}&view=1`;
}
