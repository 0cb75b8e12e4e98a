import type { RefObject } from "react";
import type uPlot from "uplot";
import { isCounted, type Timeline } from "../../../play/timeline.js";
import { rangesOf } from "./plot-ranges.js";
import { rewardBars } from "./reward-bars.js";

interface Latest {
  data: uPlot.AlignedData;
  timeline: Timeline;
  selected: number;
  onSelect(step: number): void;
}

/** The reward of each step of the timeline and the total of its episode; null for a reset and a failure. */
export function plotData({ steps }: Timeline): uPlot.AlignedData {
  return [
    steps.map(({ index }) => index),
    steps.map(({ kind, reward }) => (kind === "reset" || !Number.isFinite(reward) ? null : reward)),
    steps.map(({ kind, total, failure }) => (kind === "reset" || failure ? null : total)),
  ];
}

/** A plot without legend and tooltip, because its numbers are in the list of steps. */
export function plotOptions(latest: RefObject<Latest>, size: { width: number; height: number }): uPlot.Options {
  const style = getComputedStyle(document.documentElement);
  const color = (name: string): string => style.getPropertyValue(name).trim();
  const rem = Number.parseFloat(style.fontSize);
  const font = `${0.6875 * rem}px ${getComputedStyle(document.body).fontFamily}`;
  const text = color("--text-3");
  const axis = { stroke: text, font, ticks: { show: false }, gap: 4 };
  return {
    ...size,
    padding: [8, 8, 0, 0],
    legend: { show: false },
    cursor: { drag: { x: false, y: false }, points: { show: false }, y: false, x: false },
    scales: {
      // The range does not depend on the current one, which would grow with every redraw.
      x: { time: false, range: () => [-0.6, Math.max(latest.current.timeline.steps.length - 1, 4) + 0.6] },
      // Each has its own scale, so that the reward of a step is visible however large the total is.
      reward: { range: () => rangesOf(latest.current.data)[0] },
      total: { range: () => rangesOf(latest.current.data)[1] },
    },
    axes: [
      {
        ...axis,
        size: 18,
        grid: { show: false },
        // The room of the longest label.
        space: () => rem * (1 + 0.5 * String(latest.current.timeline.steps.length).length),
        incrs: [1, 10, 100, 1000, 10_000, 100_000].flatMap((size) => [size, 2 * size, 5 * size]),
        values: (_plot, marks) => marks.map((mark) => labelOf(latest.current.timeline, mark)),
      },
      { ...axis, scale: "reward", size: 34, space: 32, grid: { stroke: color("--chart-grid"), width: 1 } },
      {
        ...axis,
        scale: "total",
        side: 1,
        size: 38,
        space: 32,
        stroke: color("--chart-line"),
        grid: { show: false },
        values: (_plot, marks) => marks.map((mark) => COMPACT.format(mark)),
      },
    ],
    series: [
      {},
      {
        scale: "reward",
        fill: color("--chart-bar"),
        width: 0,
        points: { show: false },
        // A reward of 0 is a thin bar, no reward is a gap.
        paths: rewardBars(),
      },
      {
        scale: "total",
        stroke: color("--chart-line"),
        width: 1.5,
        points: { show: (_plot, _series, from, to) => to - from < 60, size: 5, fill: color("--chart-line") },
        spanGaps: false,
      },
    ],
    hooks: {
      drawClear: [(plot) => drawSelection(plot, latest.current.selected, color("--accent-soft"))],
      draw: [
        (plot) => drawEpisodes(plot, latest.current.timeline, color("--line-control")),
        (plot) => drawZeros(plot, latest.current.timeline, color("--chart-bar")),
      ],
      ready: [
        (plot) =>
          plot.over.addEventListener("click", ({ offsetX }) => {
            latest.current.onSelect(Math.round(plot.posToVal(offsetX, "x")));
          }),
      ],
    },
  };
}

const COMPACT = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });

/** The number of a step inside its episode. */
function labelOf({ steps }: Timeline, mark: number): string {
  const step = Number.isInteger(mark) ? steps[mark] : undefined;
  return step?.kind === "step" && isCounted(step) ? step.number.toLocaleString("en") : "";
}

function drawSelection(plot: uPlot, step: number, fill: string): void {
  if (step < 0) return;
  const { ctx, bbox } = plot;
  const width = Math.max(4, plot.valToPos(1, "x", true) - plot.valToPos(0, "x", true));
  const center = plot.valToPos(step, "x", true);
  ctx.save();
  ctx.fillStyle = fill;
  ctx.fillRect(center - Math.min(width, 40) / 2, bbox.top, Math.min(width, 40), bbox.height);
  ctx.restore();
}

function drawEpisodes(plot: uPlot, { steps }: Timeline, stroke: string): void {
  const { ctx, bbox } = plot;
  const starts = steps.filter(({ kind, index, failure }) => kind === "reset" && index > 0 && !failure);
  if (starts.length > 200) return;
  ctx.save();
  ctx.strokeStyle = stroke;
  ctx.setLineDash([3, 3]);
  for (const { index } of starts) {
    const x = plot.valToPos(index, "x", true);
    ctx.beginPath();
    ctx.moveTo(x, bbox.top);
    ctx.lineTo(x, bbox.top + bbox.height);
    ctx.stroke();
  }
  ctx.restore();
}

function drawZeros(plot: uPlot, { steps }: Timeline, fill: string): void {
  const { ctx } = plot;
  if (steps.length > 400) return;
  const y = plot.valToPos(0, "reward", true);
  const width = Math.min(20, (plot.valToPos(1, "x", true) - plot.valToPos(0, "x", true)) * 0.4);
  ctx.save();
  ctx.fillStyle = fill;
  for (const { index, kind, reward } of steps) {
    if (kind === "step" && reward === 0) ctx.fillRect(plot.valToPos(index, "x", true) - width / 2, y - 3, width, 3);
  }
  ctx.restore();
}
