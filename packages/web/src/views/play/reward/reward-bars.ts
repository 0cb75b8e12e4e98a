import uPlot from "uplot";

/** Below this many pixels a step, bars of two pixels overlap. */
const DENSE_PX = 3;
const MIN_PX = 2;

export interface BarColumn {
  /** Pixel. */
  x: number;
  low: number;
  high: number;
}

/** One bar for each pixel column, from the lowest to the highest reward of its steps, and always from zero. */
export function barColumns(
  rewards: ArrayLike<number | null | undefined>,
  columnOf: (step: number) => number,
): BarColumn[] {
  const columns: BarColumn[] = [];
  for (let step = 0; step < rewards.length; step++) {
    const reward = rewards[step];
    if (reward === null || reward === undefined) continue;
    const x = columnOf(step);
    const last = columns.at(-1);
    if (last?.x !== x) columns.push({ x, low: Math.min(0, reward), high: Math.max(0, reward) });
    else if (reward < last.low) last.low = reward;
    else if (reward > last.high) last.high = reward;
  }
  return columns;
}

/** Bars of steps; of a long episode no more than one for each pixel, so that drawing it again takes no longer. */
export function rewardBars(): uPlot.Series.PathBuilder {
  const wide = uPlot.paths.bars?.({ size: [0.4, 10, MIN_PX] });
  return (plot, series, from, to) => {
    const perStep = plot.valToPos(1, "x", true) - plot.valToPos(0, "x", true);
    if (wide && perStep >= DENSE_PX * devicePixelRatio) return wide(plot, series, from, to);
    const fill = new Path2D();
    const zero = plot.valToPos(0, "reward", true);
    const perReward = plot.valToPos(1, "reward", true) - zero;
    const start = plot.valToPos(0, "x", true);
    const columns = barColumns(plot.data[series] ?? [], (step) => Math.round(start + step * perStep));
    for (const { x, low, high } of columns) {
      fill.rect(x - 1, zero + high * perReward, MIN_PX, (low - high) * perReward);
    }
    return { stroke: null, fill, clip: null, flags: 0 };
  };
}
