/**
 * The server's own address, from the address of this page: the page is at `<base>/web/`, whatever prefix a reverse
 * proxy has put in front. No trailing slash.
 */
export const BASE = new URL("..", new URL(".", location.href)).href.replace(/\/$/, "");

/** The address of `/ws`, asking for the extensions that the page shows. */
export function socketUrl(): string {
  return `${BASE.replace(/^http/, "ws")}/ws?openenv=warnings&view=1`;
}
