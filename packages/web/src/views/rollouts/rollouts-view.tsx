import {
  type KeyboardEvent,
  type ReactNode,
  useCallback,
  useEffect,
  useMemo,
  useRef,
  useSyncExternalStore,
} from "react";
import { hrefOf, navigate, type RolloutsRoute, useRoute } from "../../app/router.js";
import { Button } from "../../parts/button.js";
import { Icon } from "../../parts/icon.js";
import { IconButton } from "../../parts/icon-button.js";
import { Loading } from "../../parts/loading/loading.js";
import { Notice } from "../../parts/notice.js";
import { Segments } from "../../parts/segments.js";
import { count } from "../../parts/text/format.js";
import { TokenForm } from "../../parts/token-form.js";
import type { ViewProps } from "../../views.js";
import { Facets, failureName, messageOf } from "./facets.js";
import { type TableItem, itemsOf } from "./items.js";
import { QUERY_FIELD, QueryBar } from "./query-bar.js";
import { RolloutsData, type RolloutsState } from "./rollouts-data.js";
import { Table } from "./table.js";
import { chipsOf, withoutChip, withWord, wordOf } from "./terms.js";
import { TranscriptPane } from "./transcript-pane.js";
import { useKeys } from "./use-keys.js";
import { type Layout, useLayout } from "./use-layout.js";
import "./rollouts.css";

const data = new RolloutsData();

const DEFAULT_SORT = { episode: "-started", group: "-spread", failure: "-count" } as const;
const GROUPINGS = [
  { name: "episode", label: "Episodes", noun: "episode" },
  { name: "group", label: "Groups", noun: "group" },
  { name: "failure", label: "Failures", noun: "kind of failure" },
] as const;

/** The recorded episodes: a table that is filtered by its query, or one of them. */
export default function RolloutsView({ info }: ViewProps) {
  const route = useRoute();
  if (route.view !== "rollouts") return null;
  if (info.rollouts) return <Recorded route={route} />;
  return (
    <Instead title="This server records no episodes">
      <p>
        Start it with <code>openenv serve --store ./openenv-data</code>. Every episode of every client is then listed
        here.
      </p>
    </Instead>
  );
}

function Recorded({ route }: { route: RolloutsRoute }) {
  const { refused, problem } = useSyncExternalStore(data.subscribe, data.snapshot);
  if (!refused) return <Rollouts route={route} />;
  return (
    <Instead title="This view needs a right">
      <p>
        It shows what clients sent and received. Paste the value of <code>OPENENV_VIEWER_TOKEN</code> or{" "}
        <code>OPENENV_OPERATOR_TOKEN</code> of this server. It is stored in this tab only.
      </p>
      <TokenForm label="Token" problem={problem ?? null} onToken={(token) => data.open(token)} />
    </Instead>
  );
}

function Instead({ title, children }: { title: string; children: ReactNode }) {
  return (
    <main className="page" id="main" tabIndex={-1}>
      <section className="card">
        <div className="empty">
          <h2 className="empty__title">{title}</h2>
          {children}
        </div>
      </section>
    </main>
  );
}

function Rollouts({ route }: { route: RolloutsRoute }) {
  const state = useSyncExternalStore(data.subscribe, data.snapshot);
  const layout = useLayout();
  const page = useRef<HTMLDivElement>(null);
  const { q, by, sel } = route;
  const sort = route.sort || DEFAULT_SORT[by];
  const { rows, facets, open } = state;
  const chips = useMemo(() => chipsOf(q, (key) => nameOfFailure(facets?.failures, key)), [q, facets?.failures]);
  const readable = chips.reduceRight((rest, chip) => (chip.problem === undefined ? rest : withoutChip(rest, chip)), q);
  useEffect(() => data.show({ q: readable, by, sort }), [readable, by, sort]);
  const items = useMemo(() => itemsOf({ rows, open }), [rows, open]);
  const selected = items.findIndex(({ id }) => id === sel);
  const go = (change: Partial<RolloutsRoute>, replace = false): void => navigate({ ...route, ...change }, { replace });
  const select = (item: TableItem | undefined): void => {
    if (item && item.kind !== "hint") go({ sel: item.id }, true);
  };
  const move = (by: number): void => {
    const next = items[Math.max(0, Math.min(items.length - 1, selected + by))];
    select(next?.kind === "hint" ? items[items.indexOf(next) + Math.sign(by)] : next);
  };
  const enter = (item = items[selected]): void => {
    if (item?.kind === "group") void data.fold(item.row, !item.isOpen);
    else if (item?.kind === "episode") go({ id: item.id, step: null, sel: item.id });
    else if (item?.kind === "failure") go({ by: "episode", sort: "", sel: null, q: withWord(q, "error", item.id) });
  };
  const click = (item: TableItem): void => {
    if (item.kind === "group") select(item);
    if (item.kind === "episode" && layout === "wide") select(item);
    else enter(item);
  };
  const [a, b] = state.marks;
  const compare = (): void => {
    if (a !== undefined && b !== undefined) navigate({ view: "compare", a, b, step: null });
  };
  const episode = items[selected]?.kind === "episode" ? items[selected].id : undefined;
  const isOpen = route.id !== null;
  useKeys(
    isOpen
      ? {}
      : {
          "/": () => document.getElementById(QUERY_FIELD)?.focus(),
          j: () => move(1),
          k: () => move(-1),
          x: () => episode !== undefined && data.mark(episode),
          c: compare,
          Enter: () => enter(),
        },
  );
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.target !== event.currentTarget || event.altKey || event.ctrlKey || event.metaKey) return;
    const item = items[selected];
    const keys: Record<string, () => void> = {
      ArrowDown: () => move(1),
      ArrowUp: () => move(-1),
      PageDown: () => move(10),
      PageUp: () => move(-10),
      Home: () => select(items[0]),
      End: () => select(items.at(-1)),
      ArrowRight: () => item?.kind === "group" && !item.isOpen && void data.fold(item.row, true),
      ArrowLeft: () => {
        if (item?.kind === "group") void data.fold(item.row, false);
        else select(items.findLast(({ kind }, at) => kind === "group" && at < selected));
      },
    };
    const act = keys[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  };
  const more = useCallback((wanted: number) => void data.more(wanted), []);
  const onQuery = (text: string, replace = false): void => go({ q: text, sel: null }, replace);
  if (isOpen) {
    return (
      <main className="ro ro--one" id="main" tabIndex={-1}>
        <TranscriptPane id={route.id as string} step={route.step} back={hrefOf({ ...route, id: null, step: null })} />
      </main>
    );
  }
  return (
    <div className="rollouts" ref={page}>
      <QueryBar
        q={q}
        chips={chips}
        onQuery={onQuery}
        start={<Runs state={state} q={q} onQuery={onQuery} />}
        end={<Live state={state} layout={layout} q={q} onQuery={onQuery} />}
      />
      <main className="ro" id="main" tabIndex={-1}>
        <section className="pane pane--facets" aria-label="Filters">
          <h2 className="sr">Filters</h2>
          <div className="scroll">
            {facets ? <Facets facets={facets} q={q} onQuery={onQuery} brief={layout === "phone"} /> : null}
          </div>
        </section>
        <section className="pane pane--rows" aria-label="Rollouts">
          <Head state={state} by={by} q={q} onBy={(name) => go({ by: name, sort: "", sel: null })} />
          {state.problem === undefined ? null : (
            <Notice
              tone="wait"
              title="The rows are out of date."
              bar
              actions={
                <Button look="sm" onClick={() => void data.reload()}>
                  Try again
                </Button>
              }
            >
              {state.problem}
            </Notice>
          )}
          {rows ? null : state.problem === undefined ? <Loading what="the rollouts" /> : null}
          {rows && rows.list.length === 0 ? <Nothing q={q} total={facets?.total ?? 0} onQuery={onQuery} /> : null}
          {rows && rows.list.length > 0 ? (
            <Table
              state={state}
              items={items}
              selected={selected}
              sort={sort}
              layout={layout}
              page={page}
              onSort={(name) => go({ sort: name === DEFAULT_SORT[by] ? "" : name, sel: null })}
              onClick={click}
              onMore={more}
              onKeyDown={onKeyDown}
            />
          ) : null}
          <Foot
            marks={state.marks}
            isEpisode={episode !== undefined}
            onMark={() => episode !== undefined && data.mark(episode)}
          />
        </section>
        {layout === "wide" ? (
          <aside className="pane pane--transcript" aria-label="Transcript">
            {episode === undefined ? (
              <p className="hint pad">Select an episode to read it here.</p>
            ) : (
              <TranscriptPane id={episode} step={null} back={null} />
            )}
          </aside>
        ) : null}
      </main>
    </div>
  );
}

function nameOfFailure(failures: readonly Parameters<typeof failureName>[0][] | undefined, key: string) {
  const failure = failures?.find((one) => one.key === key);
  return failure && `${failureName(failure)}, ${messageOf(failure)}`;
}

interface QueryProps {
  state: RolloutsState;
  q: string;
  onQuery(q: string, replace?: boolean): void;
}

/** Chooses a run, where there are some. */
function Runs({ state: { facets }, q, onQuery }: QueryProps) {
  const runs = facets?.runs ?? [];
  const run = wordOf(q, "run") ?? "";
  if (runs.length === 0) return null;
  return (
    <span className="select query__run">
      <select
        className="input"
        aria-label="Run"
        value={run}
        onChange={({ target }) => onQuery(withWord(q, "run", target.value || undefined))}
      >
        <option value="">All runs</option>
        {run === "" || runs.some((one) => one.run === run) ? null : <option value={run}>{run}</option>}
        {runs.map((one) => (
          <option key={one.run} value={one.run}>
            {one.run}
          </option>
        ))}
      </select>
      <Icon name="down" />
    </span>
  );
}

const LIVE = {
  off: ["", "Connecting"],
  on: ["dot--ok", "Live, every second"],
  lost: ["dot--wait", "No response"],
  paused: ["", "Paused"],
} as const;

/** The state of the stream; on a phone the filters that do not fit. */
function Live({ state, layout, q, onQuery }: QueryProps & { layout: Layout }) {
  const sheet = useRef<HTMLDialogElement>(null);
  const [look, words] = LIVE[state.live];
  const isPaused = state.live === "paused";
  if (layout === "phone") {
    return (
      <>
        <Button look="sm" className="query__filter" onClick={() => sheet.current?.showModal()}>
          <Icon name="filter" />
          Filter
        </Button>
        <dialog ref={sheet} className="sheet" aria-label="Filters">
          <header className="card__head">
            <h2>Filters</h2>
            <div className="end">
              <IconButton icon="close" label="Close" onClick={() => sheet.current?.close()} />
            </div>
          </header>
          {state.facets ? <Facets facets={state.facets} q={q} onQuery={onQuery} /> : null}
        </dialog>
      </>
    );
  }
  return (
    <>
      <span className="status">
        <span className={`dot ${look}`} />
        {words}
      </span>
      <Button look="sm" className="live__switch" onClick={() => data.setPaused(!isPaused)}>
        <Icon name={isPaused ? "play" : "pause"} />
        {isPaused ? "Resume" : "Pause"}
      </Button>
    </>
  );
}

interface HeadProps {
  state: RolloutsState;
  by: RolloutsRoute["by"];
  q: string;
  onBy(by: RolloutsRoute["by"]): void;
}

function Head({ state: { rows, total, facets, fresh }, by, q, onBy }: HeadProps) {
  const { noun } = GROUPINGS.find(({ name }) => name === (rows?.by ?? by)) as (typeof GROUPINGS)[number];
  const isKinds = noun === "kind of failure";
  const words = isKinds ? `${total} ${total === 1 ? noun : "kinds of failure"}` : count(total, noun);
  const matching = facets?.matching ?? 0;
  return (
    <header className="main__head">
      <h2>{rows ? words : ""}</h2>
      <span className="muted clip">
        {!facets || !rows
          ? ""
          : rows.by === "episode"
            ? q === ""
              ? ""
              : `of ${facets.total.toLocaleString("en")}`
            : `in ${count(matching, "episode")}${q === "" ? "" : " that match"}`}
      </span>
      {fresh > 0 ? (
        <Button look="sm" className="fresh" onClick={() => void data.reload()}>
          {fresh.toLocaleString("en")} new
        </Button>
      ) : null}
      <span className="grow" />
      <Segments label="Rows" options={GROUPINGS} selected={by} onSelect={onBy} />
    </header>
  );
}

function Nothing({ q, total, onQuery }: { q: string; total: number; onQuery(q: string): void }) {
  return (
    <div className="empty">
      <h3 className="empty__title">{q === "" && total === 0 ? "No episode is recorded yet" : "Nothing matches"}</h3>
      <p>
        {q === "" && total === 0
          ? "The first reset of any client begins one. It appears here by itself."
          : q === ""
            ? "No episode has what these rows are made of: groups need a group, or a seed and a task, failures an error."
            : "No recorded episode has all terms of the query."}
      </p>
      {q === "" ? null : <Button onClick={() => onQuery("")}>Clear the query</Button>}
    </div>
  );
}

function Foot({ marks, isEpisode, onMark }: { marks: readonly string[]; isEpisode: boolean; onMark(): void }) {
  const [a, b] = marks;
  return (
    <div className="tl__foot ro__foot">
      <span className="keys">
        <kbd>J</kbd> <kbd>K</kbd> move
      </span>
      <span className="keys">
        <kbd>X</kbd> mark
      </span>
      <span className="keys">
        <kbd>↵</kbd> open
      </span>
      <span className="grow" />
      {a !== undefined && b !== undefined ? (
        <a className="btn btn--primary btn--sm" href={hrefOf({ view: "compare", a, b, step: null })}>
          <Icon name="compare" />
          Compare A and B <kbd>C</kbd>
        </a>
      ) : (
        <>
          <span className="ro__marked">{a === undefined ? "Mark two episodes to compare them" : "A is marked"}</span>
          <Button look="sm" free={isEpisode} onClick={onMark}>
            Mark
          </Button>
        </>
      )}
    </div>
  );
}
