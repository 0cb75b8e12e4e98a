import type { EpisodeRow, GroupRow, StripStep } from "openenv-ts/protocol";
import { count, formatReward } from "../../parts/text/format.js";
import { isOver } from "./outcome.js";

const WIDTH = 136;
const MIDDLE = 10;
/** Half of the height of the largest bar. */
const TALLEST = 8;
const WIDEST = 9;

interface StepStripProps {
  row: Pick<EpisodeRow, "strip" | "steps" | "outcome">;
  /** The greatest size of a reward in this column. */
  scale: number;
}

/** The steps of an episode: up and down by reward, a cross where the environment or a tool refused. */
export function StepStrip({ row, scale }: StepStripProps) {
  const { strip, steps } = row;
  const wide = Math.min(WIDEST, (WIDTH - 4) / Math.max(strip.length, 1));
  const bar = Math.max(wide - 2, wide * 0.7);
  const paths = { up: "", down: "", none: "", cross: "" };
  for (const [at, step] of strip.entries()) {
    const x = at * wide;
    const height = heightOf(step, scale);
    if (step.x === 1) paths.cross += crossAt(x + bar / 2, Math.min(bar / 2, 3));
    else if (step.r === null) paths.none += rectangle(x, MIDDLE - 0.5, bar, 1);
    else if (step.r === 0) paths.down += rectangle(x, MIDDLE - 1, bar, 2);
    else if (step.r > 0) paths.up += rectangle(x, MIDDLE - height, bar, height);
    else paths.down += rectangle(x, MIDDLE, bar, height);
  }
  const refused = strip.reduce((sum, { x }) => sum + x, 0);
  const end = strip.length * wide + 1;
  return (
    <svg
      className="strip"
      viewBox={`0 0 ${WIDTH} 20`}
      preserveAspectRatio="xMinYMid meet"
      role="img"
      aria-label={`${count(steps, "step")}${refused > 0 ? `, ${refused} refused` : ""}`}
    >
      <path className="zero" d={`M0,${MIDDLE}H${Math.max(0, end - 2)}`} />
      <path className="none" d={paths.none} />
      <path className="down" d={paths.down} />
      <path className="up" d={paths.up} />
      <path className="cross" d={paths.cross} />
      {isOver(row) ? <path className="end" d={`M${end},4V16`} /> : null}
    </svg>
  );
}

function heightOf({ r }: StripStep, scale: number): number {
  return r === null || scale === 0 ? 0 : Math.max(2, Math.min(1, Math.abs(r) / scale) * TALLEST);
}

function rectangle(x: number, y: number, width: number, height: number): string {
  return `M${x.toFixed(1)},${y.toFixed(1)}h${width.toFixed(1)}v${height.toFixed(1)}h${(-width).toFixed(1)}z`;
}

function crossAt(x: number, size: number): string {
  const [left, right] = [(x - size).toFixed(1), (x + size).toFixed(1)];
  return `M${left},${MIDDLE - 3}L${right},${MIDDLE + 3}M${right},${MIDDLE - 3}L${left},${MIDDLE + 3}`;
}

/** The greatest size of a reward in these strips. */
export function scaleOf(rows: readonly EpisodeRow[]): number {
  let most = 0;
  for (const { strip } of rows) for (const { r } of strip) most = Math.max(most, Math.abs(r ?? 0));
  return most;
}

/** The place of an episode without a reward. */
const WITHOUT_X = 130;
const [LEFT, RIGHT] = [6, 116];
/** Offsets of dots at the same place; the others cover the last ones. */
const OFFSETS = [0, -4.2, 4.2, -8, 8];

interface DotsProps {
  row: GroupRow;
  /** The least and the greatest reward of all groups. */
  axis: readonly [least: number, greatest: number];
}

/** The rewards of a group on one axis for all groups, their mean and their range. Filled dots match the filter. */
export function Dots({ row: { episodes, mean }, axis: [least, greatest] }: DotsProps) {
  const place = (reward: number): number => {
    const part = greatest > least ? (reward - least) / (greatest - least) : 0.5;
    return LEFT + Math.max(0, Math.min(1, part)) * (RIGHT - LEFT);
  };
  const taken = new Map<number, number>();
  const dots = episodes.map(({ id, reward, matches }) => {
    const x = reward === null ? WITHOUT_X : place(reward);
    const cell = Math.round(x / 4);
    const before = taken.get(cell) ?? 0;
    taken.set(cell, before + 1);
    const look = matches && reward !== null ? "in" : undefined;
    return <circle key={id} className={look} cx={x} cy={MIDDLE + (OFFSETS[before] ?? 8)} r="2.9" />;
  });
  const rewards = episodes.flatMap(({ reward }) => (reward === null ? [] : [reward]));
  const ends = [Math.min(...rewards), Math.max(...rewards)] as const;
  const words =
    rewards.length === 0
      ? `${count(episodes.length, "episode")} without a reward`
      : `Rewards of ${count(rewards.length, "episode")} from ${formatReward(ends[0])} to ${formatReward(ends[1])}, mean ${formatReward(mean)}`;
  return (
    <svg className="dots" viewBox={`0 0 ${WIDTH} 20`} preserveAspectRatio="xMidYMid meet" role="img" aria-label={words}>
      <path className="axis-line" d={`M${LEFT},${MIDDLE}H${RIGHT}`} />
      {least <= 0 && greatest >= 0 ? <path className="zero" d={`M${place(0)},3V17`} /> : null}
      {rewards.length > 0 ? <path className="range" d={`M${place(ends[0])},${MIDDLE}H${place(ends[1])}`} /> : null}
      {dots}
      {mean === null ? null : <path className="mean" d={`M${place(mean)},1V19`} />}
    </svg>
  );
}
