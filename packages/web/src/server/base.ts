/**
 * The URL of the server, derived from that of the page, which is at `<base>/web/` below any prefix of a reverse proxy.
 * No trailing slash.
 */
export const BASE = new URL("..", new URL(".", location.href)).href.replace(/\/$/, "");

/** The URL of `/ws` with the extensions that the page uses: with the id of a session, empty for a new one, to keep it. */
export function socketUrl(kept: string | undefined): string {
  const id = kept ? `&session_id=${kept}` : "";
  const query = kept === undefined ? "openenv=warnings" : `openenv=warnings,resume${id}`;
  return `${BASE.replace(/^http/, "ws")}/ws?${query}&view=1`;
}
