import type { SessionCopy } from "../server/server-socket.js";
import type { Timeline } from "./timeline.js";

/** A copy of a session for another tab, with what happened before. */
export interface Forked {
  copy: SessionCopy;
  timeline: Timeline;
}

const KEY = "openenv-web.fork";

/** Opens a tab that begins with the copy. A new tab starts with a copy of the storage of this one. */
export function openFork(forked: Forked): boolean {
  try {
    sessionStorage.setItem(KEY, JSON.stringify(forked));
    return window.open(location.href) !== null;
  } catch {
    return false;
  } finally {
    sessionStorage.removeItem(KEY);
  }
}

/** What this tab begins with. */
export function takeFork(): Forked | undefined {
  try {
    const text = sessionStorage.getItem(KEY);
    sessionStorage.removeItem(KEY);
    return text === null ? undefined : (JSON.parse(text) as Forked);
  } catch {
    return undefined;
  }
}
