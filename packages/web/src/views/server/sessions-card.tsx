import type { ServerView } from "openenv-ts/protocol";
import { type RefObject, useEffect, useLayoutEffect, useRef, useState, useSyncExternalStore } from "react";
import { hrefOf } from "../../app/router.js";
import { Icon } from "../../parts/icon.js";
import { CopyButton } from "../../parts/text/copy-button.js";
import { count, formatDuration, formatRate, formatReward } from "../../parts/text/format.js";
import type { Play } from "../../play/play.js";
import { LISTED, type ListQuery, type WatchState } from "./server-watch.js";
import {
  COLUMNS,
  countUnlisted,
  describeTask,
  type ListedSession,
  rowOf,
  type SessionTableRow,
  searchFor,
  shortId,
} from "./session-rows.js";

/** The list moves in steps of so many rows, so that scrolling does not ask for each of them. */
const STEP = LISTED / 4;
/** The height of a row in CSS pixels, until one is drawn. */
const ROW = 36;

interface SessionsCardProps {
  view: ServerView;
  shown: WatchState;
  play: Play;
  /** The server records episodes, which the rows lead to. */
  records: boolean;
  /** Changes the query of the listed sessions. */
  onList(change: Partial<ListQuery>): void;
}

/** The sessions, sorted and searched by the server. It sends those around the visible rows, and only these are drawn. */
export function SessionsCard({ view, shown, play, records, onList }: SessionsCardProps) {
  const [find, setFind] = useState(shown.query.find);
  const scroll = useRef<HTMLDivElement>(null);
  const { rates, listed } = shown;
  const { timeline } = useSyncExternalStore(play.subscribe, play.snapshot);
  const own = new Set(timeline.episodes.flatMap(({ id }) => (id === null ? [] : [id])));
  const rows = view.sessions.map((session) => rowOf(session, { at: view.at, rates, own }));
  const { active_sessions: all } = view.capacity;
  const { found_sessions: found } = view;
  const unlisted = countUnlisted(view);
  const list = (change: Partial<ListQuery>): void => {
    if (scroll.current) scroll.current.scrollTop = 0;
    onList({ ...change, offset: 0 });
  };
  const search = (words: string): void => {
    setFind(words);
    list({ find: searchFor(words, timeline.episodes.at(-1)?.id ?? null) });
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
            placeholder="Find by id, state, client, worker"
            aria-label="Find a session"
            value={find}
            onChange={({ currentTarget }) => search(currentTarget.value)}
          />
        </div>
      </header>
      <SessionTable
        scroll={scroll}
        rows={rows}
        found={found}
        shown={shown}
        records={records}
        onSort={list}
        onScroll={(offset) => onList({ offset })}
      />
      {unlisted > 0 ? (
        <p className="pad muted">
          {count(unlisted, "session")} of {view.silent_workers.length === 1 ? "a worker that does" : "workers that do"}{" "}
          not answer {unlisted === 1 ? "is" : "are"} not listed.
        </p>
      ) : null}
      {found === 0 && (listed.find !== "" || unlisted === 0) ? (
        <p className="pad muted">
          {listed.find === "" ? (
            "No session is open."
          ) : (
            <>
              No session matches “<bdi>{find}</bdi>”.
            </>
          )}
        </p>
      ) : null}
      {found > 0 ? (
        <div className="tl__foot">
          <span>
            {found.toLocaleString("en")} of {all.toLocaleString("en")}
          </span>
        </div>
      ) : null}
    </section>
  );
}

interface SessionTableProps extends Pick<SessionsCardProps, "shown" | "records"> {
  scroll: RefObject<HTMLDivElement | null>;
  rows: readonly SessionTableRow[];
  /** The number of sessions that match, of which `rows` are a part. */
  found: number;
  onSort(change: Partial<ListQuery>): void;
  /** Wants the sessions from this one on. */
  onScroll(offset: number): void;
}

function SessionTable({ scroll, rows, found, shown, records, onSort, onScroll }: SessionTableProps) {
  const { query, listed } = shown;
  const [height, setHeight] = useState(ROW);
  // Each response draws rows.
  useLayoutEffect(() => {
    const row = rows.length > 0 && scroll.current?.querySelector("[aria-rowindex]");
    if (row) setHeight(row.getBoundingClientRect().height);
  }, [rows, scroll]);
  const below = Math.max(0, found - listed.offset - rows.length);
  const follow = (): void => {
    const first = (scroll.current?.scrollTop ?? 0) / height;
    const offset = Math.max(0, Math.floor(first / STEP - 1) * STEP);
    if (offset !== query.offset) onScroll(offset);
  };
  // The list outlives the table, which begins at its top.
  // biome-ignore lint/correctness/useExhaustiveDependencies: only when the table appears
  useEffect(() => {
    if (query.offset > 0) onScroll(0);
  }, []);
  return (
    <div
      ref={scroll}
      className="table-wrap table-wrap--rows"
      tabIndex={0}
      role="region"
      aria-label="Sessions, scrolls"
      onScroll={follow}
    >
      <table className="sessions" aria-rowcount={found + 1}>
        <thead>
          <tr>
            {COLUMNS.map((column) => (
              <ColumnHead key={column.name} {...column} query={query} onSort={onSort} />
            ))}
          </tr>
        </thead>
        {listed.offset > 0 ? <Gap height={listed.offset * height} /> : null}
        <tbody>
          {rows.map((row, at) => (
            <SessionRow key={row.session.session_id} row={row} place={listed.offset + at + 2} records={records} />
          ))}
        </tbody>
        {below > 0 ? <Gap height={below * height} /> : null}
      </table>
    </div>
  );
}

/** The place of rows that are not drawn. */
function Gap({ height }: { height: number }) {
  return (
    <tbody aria-hidden="true">
      <tr style={{ height }}>
        <td colSpan={COLUMNS.length} />
      </tr>
    </tbody>
  );
}

type ColumnHeadProps = (typeof COLUMNS)[number] & Pick<SessionTableProps, "onSort"> & { query: ListQuery };

function ColumnHead({ name, label, look, query, onSort }: ColumnHeadProps) {
  const className = `${look} sessions__${name}`;
  if (name === "rate") return <th className={className}>{label}</th>;
  const isSorted = query.sort === name;
  const down = isSorted ? !query.down : name !== "session";
  return (
    <th className={className} aria-sort={isSorted ? (query.down ? "descending" : "ascending") : undefined}>
      <button type="button" onClick={() => onSort({ sort: name, down })}>
        {label}
        {isSorted ? <Icon name={query.down ? "down" : "up"} /> : null}
      </button>
    </th>
  );
}

function SessionRow({ row, place, records }: { row: SessionTableRow; place: number; records: boolean }) {
  const { session, client, state, openFor, idleFor, rate } = row;
  const task = describeTask(session);
  const id = shortId(session.session_id);
  return (
    <tr aria-rowindex={place}>
      <td>
        <span className="sessions__id">
          <span className="mono" title={session.session_id}>
            {records ? <a href={hrefOf({ view: "session", handle: session.handle })}>{id}</a> : id}
          </span>
          <CopyButton what={`the id ${id}`} text={() => session.session_id} />
          <small className="muted clip" title={task}>
            {task}
          </small>
        </span>
      </td>
      <td className="lo">{client}</td>
      <td>
        <State session={session} state={state} />
      </td>
      <td className="num lo">{formatDuration(openFor)}</td>
      <td className="num lo">{session.episodes.toLocaleString("en")}</td>
      <td className="num lo">{session.step_count.toLocaleString("en")}</td>
      <td className="num">{session.episode_id === null ? "" : formatReward(session.reward)}</td>
      <td className="num lo">{session.failed_steps.toLocaleString("en")}</td>
      <td className="num">{rate === undefined ? "" : formatRate(rate)}</td>
      <td className="num lo">{idleFor < 2 ? "now" : formatDuration(idleFor)}</td>
      <td className="num lo">{session.worker}</td>
    </tr>
  );
}

function State({ session, state }: { session: ListedSession; state: SessionTableRow["state"] }) {
  const waits = state === "slow" || state === "detached";
  const failing = !waits && session.failed_steps > 0;
  const words = {
    slow: `In a call for ${formatDuration(session.busy_s ?? 0)}`,
    detached: `Detached for ${formatDuration(session.detached_s ?? 0)}`,
    stepping: "Stepping",
    idle: session.done ? "Done" : "Idle",
  }[state];
  const look = waits ? "dot--wait" : failing ? "dot--bad" : state === "stepping" ? "dot--ok" : "";
  return (
    <span className={`status ${waits ? "status--wait" : failing ? "status--bad" : ""}`}>
      <span className={`dot ${look}`} />
      {failing ? `${words}, fails` : words}
    </span>
  );
}
