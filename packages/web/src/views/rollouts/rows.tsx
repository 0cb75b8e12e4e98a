import type { EpisodeRow, FailureRow, GroupRow } from "openenv-ts/protocol";
import { memo } from "react";
import { hrefOf, ROLLOUTS } from "../../app/router.js";
import { Icon } from "../../parts/icon.js";
import { formatClock, formatReward } from "../../parts/text/format.js";
import { FailureWords } from "./facets.js";
import { factsOf, policyInWords } from "./facts.js";
import { OutcomeDot } from "./outcome.js";
import { Dots, StepStrip } from "./strip.js";

interface EpisodeLineProps {
  row: EpisodeRow;
  isKid: boolean;
  mark: string | undefined;
  scale: number;
}

/** The cells of an episode: outcome, name and note, steps, reward, duration. */
export const EpisodeLine = memo(({ row, isKid, mark, scale }: EpisodeLineProps) => (
  <>
    <span role="gridcell" className="gt__sign">
      <OutcomeDot outcome={row.outcome} />
    </span>
    <span role="gridcell" className="gt__name">
      <span className="t">
        <a href={hrefOf({ ...ROLLOUTS, id: row.id })} tabIndex={-1} className="mono">
          {row.id.slice(0, 8)}
        </a>
        {mark ? (
          <span className="pick" title="Marked for comparison">
            {mark}
          </span>
        ) : null}
        {row.outcome === "stuck" ? <span className="badge badge--wait">Stuck</span> : null}
        <span className="why clip">{row.note}</span>
      </span>
      {isKid ? null : <span className="s clip">{factsOf(row).join(" · ") || row.env}</span>}
    </span>
    <span role="gridcell">
      <StepStrip row={row} scale={scale} />
    </span>
    <span role="gridcell" className="num">
      {row.reward === null ? <span className="muted">none</span> : <b>{formatReward(row.reward)}</b>}
    </span>
    <span role="gridcell" className="num muted lo">
      {formatClock(row.duration)}
    </span>
  </>
));

interface GroupLineProps {
  row: GroupRow;
  isOpen: boolean;
  axis: readonly [number, number];
}

/** The cells of a group: task, rewards as dots, mean and deviation, number of episodes. */
export const GroupLine = memo(({ row, isOpen, axis }: GroupLineProps) => {
  const matching = row.episodes.filter(({ matches }) => matches).length;
  const facts = [row.task === null ? null : row.group, row.run, policyInWords(row)];
  return (
    <>
      <span role="gridcell" className="gt__sign">
        <Icon name={isOpen ? "down" : "right"} />
      </span>
      <span role="gridcell" className="gt__name">
        <span className="t">
          <span className="clip">{row.task ?? row.group}</span>
        </span>
        <span className="s">
          {row.noSignal ? <span className="badge badge--wait">No signal</span> : null}
          <span className="clip">{facts.filter((fact) => fact !== null).join(" · ")}</span>
          {matching < row.episodes.length ? (
            <span className="lo2">
              {matching} of {row.episodes.length} match
            </span>
          ) : null}
        </span>
      </span>
      <span role="gridcell">
        <Dots row={row} axis={axis} />
      </span>
      <span role="gridcell" className="num">
        {row.mean === null ? <span className="muted">none</span> : <b>{formatReward(row.mean)}</b>}
        {row.deviation === null ? null : <small>± {formatReward(row.deviation)}</small>}
      </span>
      <span role="gridcell" className="num muted lo">
        {row.count.toLocaleString("en")}
      </span>
    </>
  );
});

/** The cells of a failure: what it says, its part of the episodes, their number. */
export const FailureLine = memo(({ row, most }: { row: FailureRow; most: number }) => (
  <>
    <span role="gridcell" className="gt__sign">
      <span className="dot dot--bad" />
    </span>
    <span role="gridcell" className="gt__name">
      <FailureWords failure={row} />
    </span>
    <span role="gridcell">
      <span className="share" style={{ "--part": row.count / most } as React.CSSProperties} />
    </span>
    <span role="gridcell" className="num">
      <b>{row.count.toLocaleString("en")}</b>
    </span>
    <span role="gridcell" className="num muted lo">
      {(row.share * 100).toFixed(row.share < 0.1 ? 1 : 0)} %
    </span>
  </>
));
