import { useEffect, useMemo, useReducer, useRef } from "react";
import uPlot from "uplot";
import { formatReward } from "../../parts/format.js";
import type { Timeline } from "../../play/timeline.js";
import { plotData, plotOptions } from "./reward-plot-options.js";

/** Steps. Drawing more of them takes longer than all else that a step changes. */
const DRAWN_AT_ONCE = 400;
const DRAW_EVERY_MS = 250;

interface RewardPlotProps {
  timeline: Timeline;
  selected: number;
  onSelect(step: number): void;
}

/** Reward of each step as a bar, the total of each episode as a line. The list of steps is its table. */
export default function RewardPlot({ timeline, selected, onSelect }: RewardPlotProps) {
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot>(undefined);
  const data = useSettled(timeline);
  const latest = useRef({ timeline, selected, data, onSelect });
  latest.current = { timeline, selected, data, onSelect };
  useEffect(() => {
    const host = place.current;
    if (!host) return;
    const draw = (): void => {
      plot.current?.destroy();
      const size = { width: host.clientWidth, height: host.clientHeight };
      if (size.width === 0) return;
      plot.current = new uPlot(plotOptions(latest, size), latest.current.data, host);
    };
    const resize = new ResizeObserver(draw);
    resize.observe(host);
    // Colours are those of the style sheet at the time of drawing.
    const theme = new MutationObserver(draw);
    theme.observe(document.documentElement, { attributeFilter: ["data-theme"] });
    const scheme = matchMedia("(prefers-color-scheme: dark)");
    scheme.addEventListener("change", draw);
    return () => {
      resize.disconnect();
      theme.disconnect();
      scheme.removeEventListener("change", draw);
      plot.current?.destroy();
      plot.current = undefined;
    };
  }, []);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the drawing reads what is selected
  useEffect(() => {
    const changed = plot.current !== undefined && plot.current.data !== data;
    if (changed) plot.current?.setData(data);
    // With new data the numbers at the axis are other ones although its range may be the same.
    plot.current?.redraw(changed, changed);
  }, [data, selected]);
  const last = timeline.episodes.at(-1);
  const summary = `Reward of each step and cumulative reward, ${timeline.episodes.length} episodes. Episode ${
    last?.number ?? 1
  } stands at ${formatReward(last?.total ?? null)} after ${last?.steps ?? 0} steps.`;
  return <div ref={place} className="plot__canvas" role="img" aria-label={summary} />;
}

/** The points of the timeline: of a long one after a moment, once for all steps that came in it. */
function useSettled(timeline: Timeline): uPlot.AlignedData {
  const drawn = useRef(timeline);
  const isDue = useRef(false);
  const [, drawAgain] = useReducer((times: number) => times + 1, 0);
  // Another first step: the timeline of a file.
  const continues = drawn.current.steps[0] === timeline.steps[0];
  if (isDue.current || !continues || timeline.steps.length <= DRAWN_AT_ONCE) drawn.current = timeline;
  isDue.current = false;
  const isBehind = drawn.current !== timeline;
  useEffect(() => {
    if (!isBehind) return;
    const timer = setTimeout(() => {
      isDue.current = true;
      drawAgain();
    }, DRAW_EVERY_MS);
    return () => clearTimeout(timer);
  }, [isBehind]);
  const shown = drawn.current;
  return useMemo(() => plotData(shown), [shown]);
}
