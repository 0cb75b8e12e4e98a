import { useState, useSyncExternalStore } from "react";
import { MAX_TOLD_SESSIONS, type ServerView, type ServerViewSession } from "../../../../openenv/src/protocol/web.js";
import { formatDuration, formatRate } from "../../parts/format.js";
import { Icon } from "../../parts/icon.js";
import type { Play } from "../../play/play.js";
import { COLUMNS, type Column, type Row, rowsOf, shortId } from "./session-rows.js";

interface SessionsCardProps {
  view: ServerView;
  /** Steps a second, by session id. */
  rates: ReadonlyMap<string, number>;
  play: Play;
  /** Asks the server for more sessions than it told; undefined while it is asked for nothing. */
  onMore: (() => void) | undefined;
}

const FEW_ROWS = 50;

/** The sessions, sorted by a column and found by a word. */
export function SessionsCard({ view, rates, play, onMore }: SessionsCardProps) {
  const [find, setFind] = useState("");
  const [sort, setSort] = useState<{ column: Column; down: boolean }>({ column: "open", down: true });
  const [most, setMost] = useState(FEW_ROWS);
  const { timeline } = useSyncExternalStore(play.subscribe, play.snapshot);
  const own = new Set(timeline.episodes.flatMap(({ id }) => (id === null ? [] : [id])));
  const rows = rowsOf(view.sessions, { at: view.at, rates, own, find, sort });
  const { active_sessions: all } = view.capacity;
  const toggle = (column: Column): void =>
    setSort((before) => ({ column, down: before.column === column ? !before.down : column !== "session" }));
  return (
    <section className="card" aria-labelledby="sessions-h">
      <header className="card__head card__head--wrap">
        <h2 id="sessions-h">Sessions</h2>
        <span className="muted">{all.toLocaleString("en")}</span>
        <div className="end with-icon find-sessions">
          <Icon name="search" />
          <input
            className="input"
            type="search"
            placeholder="Find by id, client, worker"
            aria-label="Find a session"
            value={find}
            onChange={({ currentTarget }) => setFind(currentTarget.value)}
          />
        </div>
      </header>
      <div className="table-wrap" tabIndex={0} role="region" aria-label="Sessions, scrolls sideways">
        <table className="sessions">
          <thead>
            <tr>
              {COLUMNS.map(({ name, label, look }) => (
                <th
                  key={name}
                  className={`${look} sessions__${name}`}
                  aria-sort={sort.column === name ? order(sort.down) : undefined}
                >
                  <button type="button" onClick={() => toggle(name)}>
                    {label}
                    {sort.column === name ? <Icon name={sort.down ? "down" : "up"} /> : null}
                  </button>
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.slice(0, most).map((row) => (
              <SessionRow key={row.session.session_id} row={row} />
            ))}
          </tbody>
        </table>
      </div>
      {rows.length === 0 ? (
        <p className="pad muted">{find === "" ? "No session is open." : `No session has “${find}”.`}</p>
      ) : null}
      {rows.length > 0 ? (
        <div className="tl__foot">
          <span>
            {Math.min(rows.length, most).toLocaleString("en")} of{" "}
            {(find === "" ? all : rows.length).toLocaleString("en")}
          </span>
          <span className="grow" />
          {rows.length > most ? (
            <button type="button" className="more" onClick={() => setMost(Infinity)}>
              Show all {rows.length.toLocaleString("en")}
            </button>
          ) : onMore && view.sessions.length < all && view.sessions.length < MAX_TOLD_SESSIONS ? (
            <button type="button" className="more" onClick={onMore}>
              Show more
            </button>
          ) : null}
        </div>
      ) : null}
    </section>
  );
}

function SessionRow({ row }: { row: Row }) {
  const { session, client, state, openFor, idleFor, rate } = row;
  return (
    <tr>
      <td className="mono" title={session.session_id}>
        {shortId(session.session_id)}
      </td>
      <td className="lo">{client}</td>
      <td>
        <State session={session} state={state} />
      </td>
      <td className="num">{formatDuration(openFor)}</td>
      <td className="num lo">{session.episodes.toLocaleString("en")}</td>
      <td className="num lo">{session.step_count.toLocaleString("en")}</td>
      <td className="num">{rate === undefined ? "" : formatRate(rate)}</td>
      <td className="num lo">{idleFor < 2 ? "now" : formatDuration(idleFor)}</td>
      <td className="num lo">{session.worker}</td>
    </tr>
  );
}

function State({ session, state }: { session: ServerViewSession; state: Row["state"] }) {
  if (state === "slow") {
    return (
      <span className="status status--wait">
        <span className="dot dot--wait" />
        In a call for {formatDuration(session.busy_s ?? 0)}
      </span>
    );
  }
  return (
    <span className="status">
      <span className={`dot ${state === "stepping" ? "dot--ok" : ""}`} />
      {state === "stepping" ? "Stepping" : "Idle"}
    </span>
  );
}

function order(down: boolean): "descending" | "ascending" {
  return down ? "descending" : "ascending";
}
