import { type ServerView, type ServerViewSession, type SessionColumn, sessionState } from "openenv-ts/protocol";

/** One line of the table of sessions. Times are seconds. */
export interface SessionTableRow {
  session: ServerViewSession;
  client: string;
  state: ReturnType<typeof sessionState>;
  openFor: number;
  idleFor: number;
  rate: number | undefined;
}

/** The server sorts; it does not know the rates, which the page computes for the sessions that it shows. */
export const COLUMNS: readonly { name: SessionColumn | "rate"; label: string; look: string }[] = [
  { name: "session", label: "Session", look: "" },
  { name: "client", label: "Client", look: "lo" },
  { name: "state", label: "State", look: "" },
  { name: "open", label: "Open for", look: "num" },
  { name: "episodes", label: "Episodes", look: "num lo" },
  { name: "step", label: "Step", look: "num lo" },
  { name: "rate", label: "Steps/s", look: "num" },
  { name: "idle", label: "Last active", look: "num lo" },
  { name: "worker", label: "Worker", look: "num lo" },
];

interface RowOptions {
  /** Unix seconds of the answer. */
  at: number;
  rates: ReadonlyMap<string, number>;
  /** Episode ids of this page. */
  own: ReadonlySet<string>;
}

const CLIENTS = { websocket: "WebSocket", batch: "Batch", http: "HTTP", mcp: "MCP" } as const;
const THIS_PAGE = "This page";

export function rowOf(session: ServerViewSession, { at, rates, own }: RowOptions): SessionTableRow {
  const { client, created_at, episode_id, last_activity_at } = session;
  return {
    session,
    client: episode_id !== null && own.has(episode_id) ? THIS_PAGE : CLIENTS[client],
    state: sessionState(session, at),
    openFor: Math.max(0, at - created_at),
    idleFor: Math.max(0, at - last_activity_at),
    rate: rates.get(session.session_id),
  };
}

/** Sessions that cannot be listed: their workers do not answer. */
export function countUnlisted({ silent_workers }: ServerView): number {
  return silent_workers.reduce((all, { sessions }) => all + sessions, 0);
}

/** The search that the server makes: it knows the page's session by its episode only. */
export function searchFor(find: string, ownEpisode: string | null): string {
  return ownEpisode === null ? find : find.replace(new RegExp(THIS_PAGE, "i"), ownEpisode);
}

/** The start of an id, without the worker that a cluster puts before it. */
export function shortId(id: string): string {
  return id.replace(/^w\d+-/, "").slice(0, 8);
}
