import type { ServerView } from "openenv-ts/protocol";

/** A session as the server lists it. */
export type ListedSession = ServerView["sessions"][number];

/** A row of the table of sessions. Times are in seconds. */
export interface SessionTableRow {
  session: ListedSession;
  client: string;
  state: ListedSession["state"];
  openFor: number;
  idleFor: number;
  rate: number | undefined;
}

/** The server sorts. It does not know the rates, which the page computes for the listed sessions. */
export const COLUMNS: readonly { name: string; label: string; look: string }[] = [
  { name: "session", label: "Session", look: "" },
  { name: "client", label: "Client", look: "lo" },
  { name: "state", label: "State", look: "" },
  { name: "open", label: "Open for", look: "num lo" },
  { name: "episodes", label: "Episodes", look: "num lo" },
  { name: "step", label: "Step", look: "num lo" },
  { name: "reward", label: "Reward", look: "num" },
  { name: "failed", label: "Failed", look: "num lo" },
  { name: "rate", label: "Steps/s", look: "num" },
  { name: "idle", label: "Last active", look: "num lo" },
  { name: "worker", label: "Worker", look: "num lo" },
];

interface RowOptions {
  /** Time of the response in Unix seconds. */
  at: number;
  rates: ReadonlyMap<string, number>;
  /** Episode ids of this page. */
  own: ReadonlySet<string>;
}

const CLIENTS = { websocket: "WebSocket", batch: "Batch", http: "HTTP", mcp: "MCP", plugin: "Plugin" } as const;
const THIS_PAGE = "This page";

export function rowOf(session: ListedSession, { at, rates, own }: RowOptions): SessionTableRow {
  const { client, created_at, episode_id, last_activity_at } = session;
  return {
    session,
    client: episode_id !== null && own.has(episode_id) ? THIS_PAGE : CLIENTS[client],
    state: session.state,
    openFor: Math.max(0, at - created_at),
    idleFor: Math.max(0, at - last_activity_at),
    rate: rates.get(session.session_id),
  };
}

/** The number of sessions that cannot be listed because their workers do not respond. */
export function countUnlisted({ silent_workers }: ServerView): number {
  return silent_workers.reduce((all, { sessions }) => all + sessions, 0);
}

/** The search term for the server, which knows the page's session only by its episode. */
export function searchFor(find: string, ownEpisode: string | null): string {
  return ownEpisode === null ? find : find.replace(new RegExp(THIS_PAGE, "i"), ownEpisode);
}

/** The task and the seed of an episode, as far as they are known. */
export function describeTask({ task }: ListedSession): string {
  const place = [task?.split, task?.index].filter((part) => part !== undefined).join(" / ");
  return [place, task?.seed === undefined ? "" : `seed ${task.seed}`].filter(Boolean).join(" · ");
}

/** The beginning of an id, without the worker prefix of a cluster. */
export function shortId(id: string): string {
  return id.replace(/^w\d+-/, "").slice(0, 8);
}
