import type { TextSpan } from "openenv-ts";
import { memo, type ReactNode } from "react";
import { count, formatMs, formatReward, formatTime, inWords } from "../../../parts/text/format.js";
import { renderRun } from "../../../parts/text/marked-text.js";
import { isFailed, summarizeAction, summarizeObservation } from "../../../play/summary.js";
import {
  isCounted,
  type Timeline,
  type TimelineEpisode,
  type TimelineRow,
  type TimelineStep,
} from "../../../play/timeline.js";
import { StatusBadge } from "../episode/episode-bar.js";

/** Maximum number of marks in a row. */
const MAX_MARKS = 8;
const LONGEST_MARK = 3;

interface Selection {
  isSelected: boolean;
  /** Must be a stable function. */
  onSelect(step: number): void;
}

/** The head of an episode, a step in two lines, or a connection event. */
export function renderRow(row: TimelineRow, { episodes, steps }: Timeline, selection: Selection): ReactNode {
  if (row.kind === "event") return <EventRow {...row} />;
  if (row.kind === "episode") {
    const episode = episodes[row.episode];
    return episode ? <EpisodeHead episode={episode} /> : null;
  }
  const step = steps[row.step];
  if (!step) return null;
  const before = step.kind === "reset" ? undefined : steps[row.step - 1];
  return <StepRow step={step} before={before} count={steps.length} {...selection} />;
}

function EventRow({ text, detail, at }: { text: string; detail: string; at: number }) {
  return (
    <div className="ep">
      <b>{text}</b>
      <span className="clip">{formatTime(at)}</span>
      <span className="muted ep__end">{detail}</span>
    </div>
  );
}

interface StepRowProps extends Selection {
  step: TimelineStep;
  before: TimelineStep | undefined;
  /** Number of steps in the timeline. */
  count: number;
}

const StepRow = memo(function StepRow({ step, before, count, isSelected, onSelect }: StepRowProps) {
  return (
    <div
      id={`step-${step.index}`}
      role="option"
      aria-selected={isSelected}
      aria-posinset={step.index + 1}
      aria-setsize={count}
      className={`step ${isFailed(step) ? "is-error" : ""}`}
      onClick={() => onSelect(step.index)}
    >
      <StepCells step={step} before={before} />
    </div>
  );
});

/** A step never changes; only the selection and the number of steps do. */
const StepCells = memo(function StepCells({ step, before }: Pick<StepRowProps, "step" | "before">) {
  return (
    <>
      <span className="no">
        {isCounted(step) ? (
          step.number
        ) : (
          <>
            <span aria-hidden="true">×</span>
            <span className="sr">not counted</span>
          </>
        )}
      </span>
      <span className="act clip">{summarizeAction(step)}</span>
      <span className="t num">{formatMs(step.ms)}</span>
      <span className="num">{step.kind === "reset" || step.failure ? "–" : formatReward(step.reward, "–")}</span>
      <span className="obs clip">
        <Summary step={step} before={before} />
      </span>
      <span />
      <span className="tot num">{step.total === null ? "" : formatReward(step.total)}</span>
    </>
  );
});

function isMark({ tone, text }: TextSpan): boolean {
  return tone !== undefined && text.trim().length <= LONGEST_MARK;
}

function EpisodeHead({ episode }: { episode: TimelineEpisode }) {
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

function Summary({ step, before }: { step: TimelineStep; before: TimelineStep | undefined }) {
  const parts = textsOf(step);
  const at = parts.findLastIndex((runs) => runs.some(isMark));
  if (at < 0 || step.failure) return <>{summarizeObservation(step, before)}</>;
  // Marks of earlier steps do not belong to this step.
  const isNew = JSON.stringify(parts.slice(0, at + 1)) !== JSON.stringify(textsOf(before).slice(0, at + 1));
  if (!isNew && at === parts.length - 1) return <>{summarizeObservation(step, before)}</>;
  const marks = isNew ? (parts[at]?.filter(isMark).slice(0, MAX_MARKS) ?? []) : [];
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

function textsOf(step: TimelineStep | undefined): (readonly TextSpan[])[] {
  return step?.view?.parts.flatMap((part) => (part.kind === "text" ? [part.runs] : [])) ?? [];
}
