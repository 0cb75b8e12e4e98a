import { useMemo, useState } from "react";
import { hrefOf, navigate, type PageRoute, ROLLOUTS, useRoute } from "../../app/router.js";
import { Button } from "../../parts/button.js";
import { Icon } from "../../parts/icon.js";
import { Boundary } from "../../parts/loading/boundary.js";
import { Loading } from "../../parts/loading/loading.js";
import { Notice } from "../../parts/notice.js";
import { Segments } from "../../parts/segments.js";
import { CopyButton } from "../../parts/text/copy-button.js";
import { count, formatClock, formatReward } from "../../parts/text/format.js";
import { VirtualList } from "../../parts/virtual-list.js";
import { outcomeInWords } from "../rollouts/outcome.js";
import { ReadProblem } from "../rollouts/transcript/transcript.js";
import { useKeys } from "../rollouts/use-keys.js";
import { align, type CompareRow, conditionsOf, equalInWords, nextDifference, rowsOf } from "./align.js";
import { branchesOf, type ComparedEpisode } from "./branches.js";
import { ForkTree } from "./fork-tree.js";
import { endInWords, PairView, SideMark } from "./pair-view.js";
import { Replayed } from "./replayed.js";
import { TwoLines } from "./two-lines.js";
import { type Comparison, useComparison } from "./use-comparison.js";
import "../../styles/transcript.css";
import "../../styles/compare.css";

type CompareRoute = Extract<PageRoute, { view: "compare" }>;

/** Two rollouts side by side: what is equal in one line, then where they part. */
export default function CompareView() {
  const route = useRoute();
  return route.view === "compare" ? <ComparePage key={`${route.a} ${route.b}`} route={route} /> : null;
}

function ComparePage({ route }: { route: CompareRoute }) {
  const { value, problem, refused, retry } = useComparison(route.a, route.b);
  return (
    <main className="co" id="main" tabIndex={-1}>
      {value ? (
        <Compared route={route} comparison={value} />
      ) : problem === undefined ? (
        <Loading what="the comparison" />
      ) : (
        <ReadProblem message={problem} refused={refused} onRetry={retry} />
      )}
    </main>
  );
}

function Compared({ route, comparison }: { route: CompareRoute; comparison: Comparison }) {
  const { a, b, tree, hidden } = comparison;
  const pairs = useMemo(() => align(a.events, b.events), [a, b]);
  const branches = useMemo(() => branchesOf(tree), [tree]);
  const conditions = useMemo(() => conditionsOf(a.row, b.row), [a, b]);
  const [showsEqual, setShowsEqual] = useState(false);
  const [showsFields, setShowsFields] = useState(false);
  const [part, setPart] = useState<"steps" | "tree">("steps");
  const [active, setActive] = useState(-1);
  const rows = useMemo(() => rowsOf(pairs, showsEqual), [pairs, showsEqual]);
  const first = nextDifference(pairs, -1, 1);
  const { step } = route;
  // Without a step in the address, the first difference is shown.
  const at = Math.min(step ?? first ?? 0, pairs.length - 1);
  const go = (number: number | undefined): void => {
    if (number !== undefined && number >= 0 && number < pairs.length)
      navigate({ ...route, step: number }, { replace: true });
  };
  const assign = (side: "a" | "b", id: string): void => {
    if (id !== route.a && id !== route.b) navigate({ ...route, [side]: id, step: null });
  };
  const activeId = branches[active]?.row.id;
  const selected = rows.findIndex((row) =>
    row.kind === "equal" ? row.from <= at && at <= row.to : row.pair.number === at,
  );
  const moveRow = (by: 1 | -1): void => go(numberOf(rows[selected + by]));
  useKeys({
    j: () => moveRow(1),
    k: () => moveRow(-1),
    n: () => go(nextDifference(pairs, at, 1)),
    p: () => go(nextDifference(pairs, at, -1)),
    e: () => setShowsEqual(!showsEqual),
    d: () => setShowsFields(!showsFields),
    ArrowRight: () => setActive(Math.min(branches.length - 1, active + 1)),
    ArrowLeft: () => setActive(Math.max(0, active - 1)),
    a: () => activeId && assign("a", activeId),
    b: () => activeId && assign("b", activeId),
  });
  return (
    <>
      <Bar route={route} first={first} facts={conditions.facts} shape={differenceInWords(pairs, first, comparison)} />
      {conditions.warnings.length > 0 ? <Notice tone="wait" bar title={conditions.warnings.join(" ")} /> : null}
      <div className="co__switch only-sm">
        <Segments
          label="Part"
          options={[
            { name: "steps", label: "Steps" },
            { name: "tree", label: "Tree" },
          ]}
          selected={part}
          onSelect={setPart}
        />
      </div>
      <div className="co__panes" data-part={part}>
        <section className="pane pane--tree" aria-labelledby="tree-h">
          <header className="pane__head">
            <h2 id="tree-h">Tree</h2>
            <span className="muted">{count(branches.length, "episode")}</span>
          </header>
          <div className="scroll" tabIndex={0} role="region" aria-label="Tree, scrolls">
            <ForkTree branches={branches} hidden={hidden} first={first} active={active} onAssign={assign} />
            <TwoLines a={a.events} b={b.events} />
          </div>
          <div className="tl__foot keys">
            <span>
              <kbd>←</kbd> <kbd>→</kbd> branch
            </span>
            <span>
              <kbd>A</kbd> <kbd>B</kbd> assign
            </span>
          </div>
        </section>
        <section className="pane pane--main" aria-label="Steps side by side">
          <VirtualList
            count={rows.length}
            label="Steps, scrolls"
            selected={selected}
            isReady
            estimate={160}
            subject={`${showsEqual} ${showsFields}`}
            itemClass="prow"
            head={<Heads a={a} b={b} />}
          >
            {(index) => {
              const row = rows[index];
              if (row?.kind === "equal") return <Equal row={row} onShow={() => setShowsEqual(true)} />;
              if (!row) return null;
              const { pair } = row;
              return (
                <Boundary what={`Step ${pair.number}`} subject={`${pair.number}`}>
                  {pair.number === first ? (
                    <div className="fdiff">
                      {nameOf(pair.number)}, the first difference{" "}
                      <span>{differenceInWords(pairs, first, comparison)}</span>
                    </div>
                  ) : (
                    <header>
                      <b>{nameOf(pair.number)}</b>
                      {pair.diff?.changes.length === 0 ? " equal" : null}
                    </header>
                  )}
                  <PairView pair={pair} before={pairs[pair.number - 1]} a={a.row} b={b.row} showsFields={showsFields} />
                </Boundary>
              );
            }}
          </VirtualList>
          <div className="tl__foot">
            <span className="keys hide-md">
              <kbd>J</kbd> <kbd>K</kbd> step <kbd>N</kbd> <kbd>P</kbd> difference
            </span>
            <Button look="ghost sm" aria-pressed={showsEqual} onClick={() => setShowsEqual(!showsEqual)}>
              Equal steps<kbd>E</kbd>
            </Button>
            <Button look="ghost sm" aria-pressed={showsFields} onClick={() => setShowsFields(!showsFields)}>
              Fields<kbd>D</kbd>
            </Button>
            <span className="grow" />
            {b.eventCount === b.events.length ? <Replayed events={b.events} /> : null}
          </div>
        </section>
      </div>
    </>
  );
}

interface BarProps {
  route: CompareRoute;
  first: number | undefined;
  facts: string[];
  shape: string;
}

function Bar({ route, first, facts, shape }: BarProps) {
  const words = first === undefined ? "A and B are equal" : `First difference: ${nameOf(first).toLowerCase()}`;
  const swapped = { ...route, a: route.b, b: route.a };
  return (
    <section className="co__bar" aria-label="Comparison">
      <a className="btn btn--ghost btn--sm flush" href={hrefOf(ROLLOUTS)} aria-label="Back to Rollouts">
        <Icon name="left" />
        <span className="hide-sm">Rollouts</span>
      </a>
      <h2 className="clip" title={shape}>
        {words}
      </h2>
      <span className="muted clip hide-md">{facts.join(", ")}</span>
      <span className="grow" />
      <Button look="ghost sm" onClick={() => navigate(swapped)}>
        Swap
      </Button>
      <CopyButton what="link" text={() => location.href} />
    </section>
  );
}

function Heads({ a, b }: { a: ComparedEpisode; b: ComparedEpisode }) {
  return (
    <div className="sides sides--head">
      {[a, b].map(({ row }, at) => (
        <div key={at === 0 ? "a" : "b"} className="who2">
          <div className="line">
            <SideMark side={at === 0 ? "a" : "b"} />
            <a href={hrefOf({ ...ROLLOUTS, id: row.id })}>
              <code>{row.id}</code>
            </a>
            <span className={`badge hide-sm ${row.outcome === "failed" ? "badge--bad" : ""}`}>
              {outcomeInWords(row.outcome)}
            </span>
            <span className="end num">{formatReward(row.reward)}</span>
          </div>
          <p>
            {count(row.steps, "step")}, {formatClock(row.duration)}
            {row.policy === null ? "" : `, policy of step ${row.policy}`}
          </p>
        </div>
      ))}
    </div>
  );
}

function Equal({ row, onShow }: { row: Extract<CompareRow, { kind: "equal" }>; onShow(): void }) {
  return (
    <div className="alike">
      <span>
        <b>{equalInWords(row.from, row.to)}</b>{" "}
        <span className="muted hide-sm">requests, observations and rewards</span>
      </span>
      <button type="button" className="more" onClick={onShow}>
        Show <Icon name="down" />
      </button>
    </div>
  );
}

function numberOf(row: CompareRow | undefined): number | undefined {
  return row?.kind === "equal" ? row.from : row?.pair.number;
}

function nameOf(number: number): string {
  return number === 0 ? "Reset" : `Step ${number}`;
}

/** `action.message, then 6 of 9 fields`, or which of the two has ended. */
function differenceInWords(pairs: ReturnType<typeof align>, first: number | undefined, { a, b }: Comparison): string {
  const pair = first === undefined ? undefined : pairs[first];
  if (!pair) return "requests, observations and rewards";
  const { diff } = pair;
  if (!diff) return pair.a ? `B ${endInWords(b.row)}` : `A ${endInWords(a.row)}`;
  const [one, ...others] = diff.changes;
  return `${one?.path}${others.length > 0 ? `, then ${others.length} of ${diff.fields} fields` : ""}`;
}
