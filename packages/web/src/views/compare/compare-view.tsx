import { useMemo, useState } from "react";
import { hrefOf, navigate, type PageRoute, ROLLOUTS, useRoute } from "../../app/router.js";
import { Button } from "../../parts/button.js";
import { Icon } from "../../parts/icon.js";
import { Loading } from "../../parts/loading/loading.js";
import { Notice } from "../../parts/notice.js";
import { Segments } from "../../parts/segments.js";
import { CopyButton } from "../../parts/text/copy-button.js";
import { stepInWords } from "../../parts/text/format.js";
import { ReadProblem } from "../rollouts/transcript/transcript.js";
import { align, conditionsOf, nameOf, nextDifference, type Pair } from "./align.js";
import { endInWords } from "./pair-view.js";
import { Prefer } from "./prefer.js";
import { StepsPane } from "./steps-pane.js";
import { TreePane } from "./tree-pane.js";
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
  const { a, b } = comparison;
  const pairs = useMemo(() => align(a.events, b.events), [a, b]);
  const { facts, warnings } = useMemo(() => conditionsOf(a, b), [a, b]);
  const [part, setPart] = useState<"steps" | "tree">("steps");
  const [problem, setProblem] = useState<string>();
  const first = nextDifference(pairs, -1, 1);
  const shape = differenceInWords(pairs, first, comparison);
  const assign = (side: "a" | "b", id: string): void => {
    if (id !== route.a && id !== route.b) navigate({ ...route, [side]: id, step: null });
  };
  return (
    <>
      <Bar route={route} first={first} facts={facts} shape={shape} onProblem={setProblem} />
      {problem === undefined ? null : (
        <Notice tone="bad" bar title="The pair was not saved.">
          {problem}
        </Notice>
      )}
      {warnings.length > 0 ? <Notice tone="wait" bar title={warnings.join(" ")} /> : null}
      <div className="co__switch">
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
        <TreePane comparison={comparison} first={first} onAssign={assign} />
        <StepsPane
          a={a}
          b={b}
          pairs={pairs}
          first={first}
          shape={shape}
          step={route.step}
          onStep={(step) => navigate({ ...route, step }, { replace: true })}
        />
      </div>
    </>
  );
}

interface BarProps {
  route: CompareRoute;
  first: number | undefined;
  facts: string[];
  shape: string;
  onProblem(text: string | undefined): void;
}

function Bar({ route, first, facts, shape, onProblem }: BarProps) {
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
      {first ? <FromShared id={route.a} step={first - 1} /> : null}
      {first === undefined ? null : <Prefer a={route.a} b={route.b} onProblem={onProblem} />}
      <Button look="ghost sm" onClick={() => navigate(swapped)}>
        Swap
      </Button>
      <CopyButton what="link" text={() => location.href} />
    </section>
  );
}

/** Where the last step that both have in common is forked, and played on from. */
function FromShared({ id, step }: { id: string; step: number }) {
  return (
    <>
      <a className="btn btn--ghost btn--sm hide-md" href={hrefOf({ ...ROLLOUTS, id, step })}>
        Fork from {stepInWords(step)}
      </a>
      <a className="btn btn--ghost btn--sm hide-md" href={hrefOf({ view: "play", from: id, step })}>
        Play on from {stepInWords(step)}
      </a>
    </>
  );
}

/** `action.message, then 6 of 9 fields`, or which of the two has ended. */
function differenceInWords(pairs: readonly Pair[], first: number | undefined, { a, b }: Comparison): string {
  const pair = first === undefined ? undefined : pairs[first];
  if (!pair) return "requests, observations and rewards";
  const { diff } = pair;
  if (!diff) return pair.a ? `B ${endInWords(b.row)}` : `A ${endInWords(a.row)}`;
  const [one, ...others] = diff.changes;
  return `${one?.path}${others.length > 0 ? `, then ${others.length} of ${diff.fields} fields` : ""}`;
}
