import type { RefObject } from "react";
import { hrefOf, type RolloutsRoute } from "../../app/router.js";
import { Button, Retry } from "../../parts/button.js";
import { Icon } from "../../parts/icon.js";
import { Loading } from "../../parts/loading/loading.js";
import { Notice } from "../../parts/notice.js";
import { Segments } from "../../parts/segments.js";
import { count } from "../../parts/text/format.js";
import type { TableItem } from "./items.js";
import { data, type RolloutsState } from "./rollouts-data.js";
import { Table } from "./table.js";
import type { Layout } from "./use-layout.js";
import type { Selection } from "./use-selection.js";

const DEFAULT_SORT = { episode: "-started", group: "-spread", failure: "-count" } as const;
const GROUPINGS = [
  { name: "episode", label: "Episodes", noun: "episode" },
  { name: "group", label: "Groups", noun: "group" },
  { name: "failure", label: "Failures", noun: "kind of failure" },
] as const;

interface RowsPaneProps {
  state: RolloutsState;
  route: RolloutsRoute;
  items: readonly TableItem[];
  selection: Selection;
  layout: Layout;
  /** The element that scrolls on a phone. */
  page: RefObject<HTMLElement | null>;
  go(change: Partial<RolloutsRoute>): void;
}

/** The rows, above them their number and kind, below them the marked episodes. */
export function RowsPane({ state, route, items, selection, layout, page, go }: RowsPaneProps) {
  const { rows, problem, facets, marks } = state;
  const { q, by } = route;
  return (
    <section className="pane pane--rows" aria-label="Rollouts">
      <Head state={state} by={by} q={q} onBy={(name) => go({ by: name, sort: "", sel: null })} />
      {problem === undefined ? null : (
        <Notice
          tone="wait"
          title={rows ? "The rows are out of date." : "The rollouts could not be read."}
          bar
          actions={<Retry onClick={() => void data.reload()} />}
        >
          {problem}
        </Notice>
      )}
      {rows || problem !== undefined ? null : <Loading what="the rollouts" />}
      {rows?.list.length === 0 ? (
        <Nothing q={q} by={rows.by} total={facets?.total ?? 0} onQuery={(text) => go({ q: text, sel: null })} />
      ) : null}
      {rows && rows.list.length > 0 ? (
        <Table
          state={state}
          items={items}
          selection={selection}
          sort={sortOf(route)}
          layout={layout}
          page={page}
          onSort={(name) => go({ sort: name === DEFAULT_SORT[by] ? "" : name, sel: null })}
        />
      ) : null}
      <Foot marks={marks} isEpisode={selection.episode !== undefined} onMark={selection.onMark} />
    </section>
  );
}

export function sortOf({ sort, by }: RolloutsRoute): string {
  return sort || DEFAULT_SORT[by];
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

interface NothingProps {
  q: string;
  by: RolloutsRoute["by"];
  total: number;
  onQuery(q: string): void;
}

function Nothing({ q, by, total, onQuery }: NothingProps) {
  const [title, text] =
    q !== ""
      ? ["Nothing matches", "No recorded episode has all terms of the query."]
      : total === 0
        ? ["No episode is recorded yet", "The first reset of any client begins one. It appears here automatically."]
        : by === "group"
          ? ["No episode belongs to a group", "A group is named at a reset; a seed and a task make one, too."]
          : ["No failures", "No recorded episode has an error."];
  return (
    <div className="empty">
      <h3 className="empty__title">{title}</h3>
      <p>{text}</p>
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
          <span>{a === undefined ? "Mark two episodes to compare them" : "A is marked"}</span>
          <Button look="sm" free={isEpisode} onClick={onMark}>
            Mark
          </Button>
        </>
      )}
    </div>
  );
}
