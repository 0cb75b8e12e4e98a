import type { EpisodeRow } from "openenv-ts/protocol";
import { useMemo, useState } from "react";
import { hrefOf, ROLLOUTS } from "../../app/router.js";
import { count, formatReward, stepInWords } from "../../parts/text/format.js";
import { policyInWords } from "../rollouts/facts.js";
import { queryOf } from "../rollouts/terms.js";
import { useKeys } from "../rollouts/use-keys.js";
import { type Branch, branchesOf } from "./branches.js";
import { ForkTree } from "./fork-tree.js";
import { SideMark } from "./pair-view.js";
import { TwoLines } from "./two-lines.js";
import type { Comparison } from "./use-comparison.js";

interface TreePaneProps {
  comparison: Comparison;
  /** The number of the first event that differs; undefined for none. */
  first: number | undefined;
  onAssign(side: "a" | "b", id: string): void;
}

/** The episodes with the beginning of A and B as a drawing and as a list, and the rewards of A and B. */
export function TreePane({ comparison: { a, b, tree, hidden }, first, onAssign }: TreePaneProps) {
  const branches = useMemo(() => branchesOf(tree), [tree]);
  const [active, setActive] = useState(-1);
  const assign = (side: "a" | "b"): void => {
    const branch = branches[active];
    if (branch) onAssign(side, branch.row.id);
  };
  useKeys({
    ArrowRight: () => setActive(Math.min(branches.length - 1, active + 1)),
    ArrowLeft: () => setActive(Math.max(0, active - 1)),
    a: () => assign("a"),
    b: () => assign("b"),
  });
  return (
    <section className="pane pane--tree" aria-labelledby="tree-h">
      <header className="pane__head">
        <h2 id="tree-h">Tree</h2>
        <span className="muted">{count(branches.length, "episode")}</span>
      </header>
      <div className="scroll" tabIndex={0} role="region" aria-label="Tree, scrolls">
        <ForkTree branches={branches} first={first} active={active} />
        <ForkList branches={branches} active={active} onAssign={onAssign} />
        {hidden > 0 ? (
          <p className="hint pad">
            {hidden.toLocaleString("en")} more of this group are not drawn.{" "}
            <a href={hrefOf({ ...ROLLOUTS, q: queryOf({ group: a.row.group }) })}>Show them</a>
          </p>
        ) : null}
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
  );
}

interface ForkListProps {
  branches: readonly Branch[];
  /** The branch of the arrow keys. */
  active: number;
  onAssign(side: "a" | "b", id: string): void;
}

function ForkList({ branches, active, onAssign }: ForkListProps) {
  return (
    <ul className="forks">
      {branches.map(({ row, from }, at) => (
        <li key={row.id} className={at === active ? "active" : undefined}>
          {at < 2 ? <SideMark side={at === 0 ? "a" : "b"} /> : <span />}
          <a href={hrefOf({ ...ROLLOUTS, id: row.id })}>
            <code>{row.id}</code>
            <small>{originOf(row, from, branches)}</small>
          </a>
          {at < 2 ? (
            <span />
          ) : (
            <span className="forks__assign">
              {(["a", "b"] as const).map((side) => (
                <button
                  key={side}
                  type="button"
                  className="btn btn--ghost btn--sm btn--icon"
                  aria-label={`Compare ${row.id} as ${side.toUpperCase()}`}
                  onClick={() => onAssign(side, row.id)}
                >
                  {side.toUpperCase()}
                </button>
              ))}
            </span>
          )}
          <b className="num">{formatReward(row.reward, "–")}</b>
        </li>
      ))}
    </ul>
  );
}

function originOf(row: EpisodeRow, from: Branch["from"], branches: readonly Branch[]): string {
  return [policyInWords(row), beginningOf(row, from, branches)].filter((fact) => fact !== null).join(", ");
}

function beginningOf({ parent }: EpisodeRow, from: Branch["from"], branches: readonly Branch[]): string {
  if (parent) return `copy of ${parent.id} after ${stepInWords(parent.step)}`;
  if (!from) return "from reset";
  const names = ["A", "B"];
  return `as ${names[from.branch] ?? branches[from.branch]?.row.id} to ${stepInWords(from.step)}`;
}
