import uPlot from "uplot";

/** Below this number of pixels per step, several steps share a column of this width. */
const DENSE_PX = 3;
const MIN_PX = 2;

export interface BarColumn {
  /** Its number from the left. */
  x: number;
  low: number;
  high: number;
  mean: number;
}

/** One bar for each column: the mean of its steps, and their range, which includes zero. */
export function barColumns(
  rewards: ArrayLike<number | null | undefined>,
  columnOf: (step: number) => number,
): BarColumn[] {
  const columns: BarColumn[] = [];
  let size = 0;
  for (let step = 0; step < rewards.length; step++) {
    const reward = rewards[step];
    if (reward === null || reward === undefined) continue;
    const x = columnOf(step);
    const last = columns.at(-1);
    if (last?.x !== x) {
      columns.push({ x, low: Math.min(0, reward), high: Math.max(0, reward), mean: reward });
      size = 1;
    } else {
      last.low = Math.min(last.low, reward);
      last.high = Math.max(last.high, reward);
      last.mean += (reward - last.mean) / ++size;
    }
  }
  return columns;
}

/**
 * The bars of steps. In a long episode a bar of two pixels is the mean of several steps, a line of one pixel their range,
 * and one pixel is free, so that the bars do not become a slab and redrawing stays fast.
 */
export function rewardBars(): uPlot.Series.PathBuilder {
  const wide = uPlot.paths.bars?.({ size: [0.4, 10, MIN_PX] });
  return (plot, series, from, to) => {
    const perStep = plot.valToPos(1, "x", true) - plot.valToPos(0, "x", true);
    const width = DENSE_PX * Math.round(devicePixelRatio);
    if (wide && perStep >= width) return wide(plot, series, from, to);
    const fill = new Path2D();
    const zero = plot.valToPos(0, "reward", true);
    const perReward = plot.valToPos(1, "reward", true) - zero;
    const start = Math.round(plot.valToPos(0, "x", true));
    const columns = barColumns(plot.data[series] ?? [], (step) => Math.floor((step * perStep) / width));
    for (const { x, low, high, mean } of columns) {
      const left = start + x * width;
      fill.rect(left, zero + high * perReward, width / DENSE_PX, (low - high) * perReward);
      fill.rect(left, zero + Math.max(0, mean) * perReward, (MIN_PX * width) / DENSE_PX, -Math.abs(mean) * perReward);
    }
    return { stroke: null, fill, clip: null, flags: 0 };
  };
}
