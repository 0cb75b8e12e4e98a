import { useEffect, useMemo, useRef } from "react";
import uPlot from "uplot";
import { formatReward } from "../../../parts/text/format.js";
import type { Timeline } from "../../../play/timeline.js";
import { plotData, plotOptions } from "./reward-plot-options.js";

interface RewardPlotProps {
  timeline: Timeline;
  selected: number;
  onSelect(step: number): void;
}

/** Reward of each step as a bar, the total of each episode as a line. The list of steps is its table. */
export default function RewardPlot({ timeline, selected, onSelect }: RewardPlotProps) {
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot>(undefined);
  const data = useMemo(() => plotData(timeline), [timeline]);
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
