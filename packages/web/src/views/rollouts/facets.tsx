import { type FailureRow, ROLLOUT_OUTCOMES, type RolloutFacets } from "openenv-ts/protocol";
import type { ReactNode } from "react";
import { formatClock, formatReward } from "../../parts/text/format.js";
import { type Bins, quantileOf, totalOf } from "./brush.js";
import { Histogram } from "./histogram.js";
import { OutcomeDot, outcomeInWords } from "./outcome.js";
import { type RangeField, rangeOf, withRange, withWord, wordOf } from "./terms.js";

interface FacetsProps {
  facets: RolloutFacets;
  q: string;
  onQuery(q: string, replace?: boolean): void;
  /** Only the histogram of the reward. */
  brief?: boolean;
}

/** The parts of a filter that can be clicked: histograms, outcomes, failures. */
export function Facets({ facets, q, onQuery, brief = false }: FacetsProps) {
  const { reward, steps, duration, outcomes, failures, total } = facets;
  const histogram = (field: RangeField, title: string, aside: ReactNode, format: (value: number) => string) => (
    <Histogram
      field={field}
      title={title}
      aside={aside}
      histogram={{ reward, steps, duration }[field]}
      range={rangeOf(q, field)}
      isFiltered={q !== ""}
      format={format}
      onRange={(range, isKey) => onQuery(withRange(q, field, range), isKey)}
    />
  );
  const toggle = (field: "outcome" | "error", value: string) => ({
    isOn: wordOf(q, field) === value,
    onToggle: () => onQuery(withWord(q, field, wordOf(q, field) === value ? undefined : value)),
  });
  const inReward = sumOf(reward?.bins ?? []);
  const rewardFacet = histogram("reward", "Reward", inReward, formatReward);
  if (brief) return rewardFacet;
  const [median, slow] = [quantileOf(steps?.bins ?? [], 0.5), quantileOf(duration?.bins ?? [], 0.95)];
  const most = failures.reduce((sum, { count }) => Math.max(sum, count), 0);
  return (
    <>
      {rewardFacet}
      {histogram("steps", "Steps", median === undefined ? "" : `median ${Math.round(median)}`, (value) =>
        String(Math.round(value)),
      )}
      {histogram("duration", "Duration", slow === undefined ? "" : `p95 ${formatClock(slow)}`, formatClock)}
      <section className="facet" aria-label="Outcome">
        <header>
          <h3>Outcome</h3>
          {q === "" ? null : <span>matching of all</span>}
        </header>
        <div className="counts">
          {ROLLOUT_OUTCOMES.map((outcome) => {
            const { all, matching } = outcomes[outcome];
            return (
              <Count
                key={outcome}
                part={total === 0 ? 0 : all / total}
                isZero={all === 0}
                dot={<OutcomeDot outcome={outcome} silent />}
                words={<span className="clip">{outcomeInWords(outcome)}</span>}
                number={
                  q === ""
                    ? all.toLocaleString("en")
                    : `${matching.toLocaleString("en")} of ${all.toLocaleString("en")}`
                }
                {...toggle("outcome", outcome)}
              />
            );
          })}
        </div>
      </section>
      <section className="facet" aria-label="Failures">
        <header>
          <h3>Failures</h3>
          <span>{failures.length === 0 ? "" : `${failures.length} ${failures.length === 1 ? "kind" : "kinds"}`}</span>
        </header>
        {failures.length === 0 ? <p className="hint">No episode that matches failed.</p> : null}
        <div className="counts">
          {failures.map((failure) => (
            <Count
              key={failure.key}
              part={failure.count / most}
              dot={<span className="dot dot--bad" />}
              words={<FailureWords failure={failure} />}
              number={failure.count.toLocaleString("en")}
              {...toggle("error", failure.key)}
            />
          ))}
        </div>
      </section>
    </>
  );
}

/** The tool or the code, and below it the message without its numbers and names. */
export function FailureWords({ failure }: { failure: FailureRow }) {
  const name = failureName(failure);
  return (
    <span className="clip">
      {name}
      <small className="clip" title={failure.text}>
        {messageOf(failure)}
      </small>
    </span>
  );
}

export function failureName({ tool, code }: FailureRow): string {
  return tool ?? code;
}

/** The text begins with the code or the tool, which stand above it. */
export function messageOf(failure: FailureRow): string {
  const { text, code, tool } = failure;
  for (const name of [tool, code]) {
    if (name && text.startsWith(name)) return text.slice(name.length).replace(/^[:\s]+/, "") || code;
  }
  return text;
}

interface CountProps {
  dot: ReactNode;
  words: ReactNode;
  number: string;
  /** The length of the bar, 0 to 1. */
  part: number;
  isZero?: boolean;
  isOn: boolean;
  onToggle(): void;
}

function Count({ dot, words, number, part, isZero = false, isOn, onToggle }: CountProps) {
  return (
    <button
      type="button"
      className={`counts__row ${isZero ? "is-zero" : ""}`}
      aria-pressed={isOn}
      style={{ "--part": part } as React.CSSProperties}
      onClick={onToggle}
    >
      {dot}
      {words}
      <b>{number}</b>
    </button>
  );
}

function sumOf(bins: Bins): string {
  const [matching, all] = [totalOf(bins, "matching"), totalOf(bins, "all")];
  const words = all.toLocaleString("en");
  return all === 0 ? "" : matching === all ? words : `${matching.toLocaleString("en")} of ${words}`;
}
