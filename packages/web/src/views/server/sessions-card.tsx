import type { ServerView } from "openenv-ts/protocol";
import { useState, useSyncExternalStore } from "react";
import { Icon } from "../../parts/icon.js";
import { count, formatDuration, formatRate } from "../../parts/text/format.js";
import type { Play } from "../../play/play.js";
import type { ListQuery, WatchState } from "./server-watch.js";
import {
  COLUMNS,
  countUnlisted,
  type ListedSession,
  rowOf,
  type SessionTableRow,
  searchFor,
  shortId,
} from "./session-rows.js";

/** The most rows of the table; the server lists no more. */
const MOST_ROWS = 1000;

interface SessionsCardProps {
  view: ServerView;
  shown: WatchState;
  play: Play;
  /** Changes the query of the listed sessions. */
  onList(change: Partial<ListQuery>): void;
}

/** The sessions, sorted and searched by the server. */
export function SessionsCard({ view, shown, play, onList }: SessionsCardProps) {
  const [find, setFind] = useState(shown.query.find);
  const { query, rates, foundBy } = shown;
  const { timeline } = useSyncExternalStore(play.subscribe, play.snapshot);
  const own = new Set(timeline.episodes.flatMap(({ id }) => (id === null ? [] : [id])));
  const rows = view.sessions.map((session) => rowOf(session, { at: view.at, rates, own }));
  const { active_sessions: all } = view.capacity;
  const { found_sessions: found } = view;
  const unlisted = countUnlisted(view);
  const search = (words: string): void => {
    setFind(words);
    onList({ find: searchFor(words, timeline.episodes.at(-1)?.id ?? null) });
  };
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
            onChange={({ currentTarget }) => search(currentTarget.value)}
          />
        </div>
      </header>
      <div className="table-wrap" tabIndex={0} role="region" aria-label="Sessions, scrolls sideways">
        <table className="sessions">
          <thead>
            <tr>
              {COLUMNS.map((column) => (
                <ColumnHead key={column.name} {...column} query={query} onList={onList} />
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.map((row) => (
              <SessionRow key={row.session.session_id} row={row} />
            ))}
          </tbody>
        </table>
      </div>
      {unlisted > 0 ? (
        <p className="pad muted">
          {count(unlisted, "session")} of {view.silent_workers.length === 1 ? "a worker that does" : "workers that do"}{" "}
          not answer {unlisted === 1 ? "is" : "are"} not listed.
        </p>
      ) : null}
      {rows.length === 0 && (foundBy !== "" || unlisted === 0) ? (
        <p className="pad muted">
          {foundBy === "" ? (
            "No session is open."
          ) : (
            <>
              No session matches “<bdi>{find}</bdi>”.
            </>
          )}
        </p>
      ) : null}
      {rows.length > 0 ? (
        <div className="tl__foot">
          <span>
            {rows.length.toLocaleString("en")} of {found.toLocaleString("en")}
          </span>
          <span className="grow" />
          {rows.length < found && rows.length < MOST_ROWS ? (
            <button type="button" className="more" onClick={() => onList({ limit: MOST_ROWS })}>
              {found <= MOST_ROWS ? "Show all" : "Show the first"} {Math.min(found, MOST_ROWS).toLocaleString("en")}
            </button>
          ) : null}
        </div>
      ) : null}
    </section>
  );
}

type ColumnHeadProps = (typeof COLUMNS)[number] & Pick<SessionsCardProps, "onList"> & { query: ListQuery };

function ColumnHead({ name, label, look, query, onList }: ColumnHeadProps) {
  const className = `${look} sessions__${name}`;
  if (name === "rate") return <th className={className}>{label}</th>;
  const isSorted = query.sort === name;
  const down = isSorted ? !query.down : name !== "session";
  return (
    <th className={className} aria-sort={isSorted ? (query.down ? "descending" : "ascending") : undefined}>
      <button type="button" onClick={() => onList({ sort: name, down })}>
        {label}
        {isSorted ? <Icon name={query.down ? "down" : "up"} /> : null}
      </button>
    </th>
  );
}

function SessionRow({ row }: { row: SessionTableRow }) {
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

function State({ session, state }: { session: ListedSession; state: SessionTableRow["state"] }) {
  if (state === "slow" || state === "detached") {
    return (
      <span className="status status--wait">
        <span className="dot dot--wait" />
        {state === "slow"
          ? `In a call for ${formatDuration(session.busy_s ?? 0)}`
          : `Detached for ${formatDuration(session.detached_s ?? 0)}`}
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
