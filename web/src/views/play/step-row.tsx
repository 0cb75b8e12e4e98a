import type { TextRun } from "../../../../openenv/src/protocol/web.js";
import { count, formatMs, formatReward, formatTime, inWords } from "../../parts/format.js";
import { renderRun } from "../../parts/marked-text.js";
import { isFailed, summarizeAction, summarizeObservation } from "../../play/summary.js";
import type { Row, Step, Timeline } from "../../play/timeline.js";
import { StatusBadge } from "./episode-bar.js";

/** Marks that a row has place for. */
const MOST_MARKS = 8;
const LONGEST_MARK = 3;

interface RowProps {
  row: Row;
  timeline: Timeline;
  selected: number;
  onSelect(step: number): void;
}

/** The head of an episode, a step in two lines, or what happened to the connection. */
export function RowShown({ row, timeline, selected, onSelect }: RowProps) {
  if (row.kind === "event") {
    return (
      <div className="ep">
        <b>{row.text}</b>
        <span className="clip">{formatTime(row.at)}</span>
        <span className="muted ep__end">{row.detail}</span>
      </div>
    );
  }
  if (row.kind === "episode") return <EpisodeHead timeline={timeline} index={row.episode} />;
  const step = timeline.steps[row.step];
  if (!step) return null;
  return (
    <div
      id={`step-${step.index}`}
      role="option"
      aria-selected={step.index === selected}
      aria-posinset={step.index + 1}
      aria-setsize={timeline.steps.length}
      className={`step ${isFailed(step) ? "is-error" : ""}`}
      onClick={() => onSelect(step.index)}
    >
      <span className="no">{step.number}</span>
      <span className="act clip">{summarizeAction(step)}</span>
      <span className="t num">{formatMs(step.ms)}</span>
      <span className="num">{step.kind === "reset" || step.failure ? "–" : formatReward(step.reward, "–")}</span>
      <span className="obs clip">
        <Summary step={step} before={step.kind === "reset" ? undefined : timeline.steps[step.index - 1]} />
      </span>
      <span />
      <span className="tot num">{step.total === null ? "" : formatReward(step.total)}</span>
    </div>
  );
}

function isMark({ tone, text }: TextRun): boolean {
  return tone !== undefined && text.trim().length <= LONGEST_MARK;
}

function EpisodeHead({ timeline, index }: { timeline: Timeline; index: number }) {
  const episode = timeline.episodes[index];
  if (!episode) return null;
  const { reset, steps } = episode;
  const { seed, split, index: task } = reset;
  return (
    <div className="ep">
      <b>Episode {episode.number}</b>
      <span className="clip">
        {seed === undefined ? "no seed" : "seed "}
        {seed === undefined ? null : <bdi>{inWords(seed)}</bdi>}
        {split === undefined ? null : (
          <>
            {" · "}
            <bdi>{inWords(split)}</bdi> / <bdi>{inWords(task ?? "any")}</bdi>
          </>
        )}
        {" · "}
        {count(steps, "step")}
      </span>
      <StatusBadge episode={episode} />
    </div>
  );
}

function Summary({ step, before }: { step: Step; before: Step | undefined }) {
  const parts = textsOf(step);
  const at = parts.findLastIndex((runs) => runs.some(isMark));
  if (at < 0 || step.failure) return <>{summarizeObservation(step, before)}</>;
  // Marks that were there before are not those of this step.
  const isNew = JSON.stringify(parts.slice(0, at + 1)) !== JSON.stringify(textsOf(before).slice(0, at + 1));
  if (!isNew && at === parts.length - 1) return <>{summarizeObservation(step, before)}</>;
  const marks = isNew ? (parts[at]?.filter(isMark).slice(0, MOST_MARKS) ?? []) : [];
  const rest = parts
    .slice(at + 1)
    .flat()
    .map(({ text }) => text);
  return (
    <>
      {marks.map((run, index) => renderRun({ ...run, text: run.text.trim() }, index))} {rest.join(" ").slice(0, 80)}
    </>
  );
}

function textsOf(step: Step | undefined): (readonly TextRun[])[] {
  return step?.view?.parts.flatMap((part) => (part.kind === "text" ? [part.runs] : [])) ?? [];
}
