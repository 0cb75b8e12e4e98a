import { useMemo, useState } from "react";
import { hrefOf, ROLLOUTS } from "../../app/router.js";
import { Button } from "../../parts/button.js";
import { Icon } from "../../parts/icon.js";
import { Boundary } from "../../parts/loading/boundary.js";
import { count, formatClock, formatReward } from "../../parts/text/format.js";
import { VirtualList } from "../../parts/virtual-list.js";
import { policyInWords } from "../rollouts/facts.js";
import { outcomeInWords } from "../rollouts/outcome.js";
import { useKeys } from "../rollouts/use-keys.js";
import { type CompareRow, equalInWords, nameOf, nextDifference, type Pair, rowsOf } from "./align.js";
import type { ComparedEpisode } from "./branches.js";
import { PairView, SideMark } from "./pair-view.js";
import { Replayed } from "./replayed.js";

interface StepsPaneProps {
  a: ComparedEpisode;
  b: ComparedEpisode;
  pairs: readonly Pair[];
  /** The number of the first step that differs; undefined for none. */
  first: number | undefined;
  /** The first difference in words. */
  shape: string;
  /** The step of the address; null for the first difference. */
  step: number | null;
  onStep(step: number): void;
}

/** The steps of A and B side by side, with equal ones in one line. */
export function StepsPane({ a, b, pairs, first, shape, step, onStep }: StepsPaneProps) {
  const [showsEqual, setShowsEqual] = useState(false);
  const [showsFields, setShowsFields] = useState(false);
  const rows = useMemo(() => rowsOf(pairs, showsEqual), [pairs, showsEqual]);
  const at = Math.min(step ?? first ?? 0, pairs.length - 1);
  const selected = rows.findIndex((row) =>
    row.kind === "equal" ? row.from <= at && at <= row.to : row.pair.number === at,
  );
  const go = (number: number | undefined): void => {
    if (number !== undefined) onStep(number);
  };
  useKeys({
    j: () => go(numberOf(rows[selected + 1])),
    k: () => go(numberOf(rows[selected - 1])),
    n: () => go(nextDifference(pairs, at, 1)),
    p: () => go(nextDifference(pairs, at, -1)),
    e: () => setShowsEqual(!showsEqual),
    d: () => setShowsFields(!showsFields),
  });
  return (
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
                  {nameOf(pair.number)}, the first difference <span>{shape}</span>
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
        {b.eventCount === b.events.length ? <Replayed events={b.events} seed={b.row.seed} /> : null}
      </div>
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
            {[count(row.steps, "step"), formatClock(row.duration), policyInWords(row)]
              .filter((fact) => fact !== null)
              .join(", ")}
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
