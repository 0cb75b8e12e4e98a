import type { RolloutHistogram, RolloutRange } from "openenv-ts/protocol";
import { type KeyboardEvent, type PointerEvent, type ReactNode, useRef, useState } from "react";
import { type Bins, type Brush, brushOf, rangeOfBrush, totalOf } from "./brush.js";
import { type RangeField, rangeInWords } from "./terms.js";

interface HistogramProps {
  field: RangeField;
  title: string;
  /** A number at the right of the title. */
  aside: ReactNode;
  histogram: RolloutHistogram | null;
  range: RolloutRange | undefined;
  /** Some episodes do not match. */
  isFiltered: boolean;
  format(value: number): string;
  /** A key replaces the last range; a pointer adds one to the history of the page. */
  onRange(range: RolloutRange | undefined, isKey: boolean): void;
}

/** The part of the tallest bar that a bar with one episode has at least. */
const LEAST_BAR = 0.03;

/** The distribution of a number: all episodes grey, those that match in the accent. A brush selects a range. */
export function Histogram(props: HistogramProps) {
  const { field, title, aside, histogram, format } = props;
  const bins = histogram?.bins ?? [];
  return (
    <section className={`facet facet--${field}`} aria-label={title}>
      <header>
        <h3>{title}</h3>
        <span>{aside}</span>
      </header>
      {bins.length < 2 ? (
        <p className="hint">{bins.length === 0 ? "No data yet." : `Always ${format(bins[0]?.from ?? 0)}.`}</p>
      ) : (
        <Plot {...props} bins={bins} />
      )}
    </section>
  );
}

type PlotProps = HistogramProps & { bins: Bins };

function Plot(props: PlotProps) {
  const { title, bins, range, isFiltered, format } = props;
  const { dragged, brush, onKeyDown, ...drag } = useBrush(props);
  const last = bins.length;
  const isBrushed = dragged !== undefined || range !== undefined;
  return (
    <>
      <div className="brush" {...drag}>
        <svg
          className="hist"
          viewBox="0 0 100 40"
          preserveAspectRatio="none"
          role="img"
          aria-label={describe(title, bins, brush, isBrushed, format)}
        >
          {isBrushed ? (
            <rect
              className="brushed"
              x={(brush.low / last) * 100}
              width={((brush.high - brush.low) / last) * 100}
              y="-3"
              height="43"
            />
          ) : null}
          <Bars bins={bins} part="all" />
          {isFiltered ? <Bars bins={bins} part="matching" /> : null}
          <path className="base" d="M0,40H100" />
        </svg>
        {(["low", "high"] as const).map((edge) => (
          <div
            key={edge}
            role="slider"
            tabIndex={0}
            className={`edge ${isBrushed ? "is-set" : ""}`}
            data-edge={edge}
            style={{ left: `${(brush[edge] / last) * 100}%` }}
            aria-label={`${edge === "low" ? "Least" : "Greatest"} ${title.toLowerCase()}`}
            aria-valuemin={0}
            aria-valuemax={last}
            aria-valuenow={brush[edge]}
            aria-valuetext={format(edgeValue(bins, brush[edge]))}
            onKeyDown={onKeyDown}
          />
        ))}
      </div>
      <div className="axis" aria-hidden="true">
        {[0, last / 3, (last * 2) / 3, last].map((at) => (
          <span key={at}>{format(edgeValue(bins, Math.round(at)))}</span>
        ))}
      </div>
    </>
  );
}

function Bars({ bins, part }: { bins: Bins; part: "all" | "matching" }) {
  const tallest = Math.max(1, ...bins.map(({ all }) => all));
  return bins.map((bin, at) => {
    const height = Math.max(LEAST_BAR, bin[part] / tallest) * 40;
    return bin[part] > 0 ? (
      <rect
        key={bin.from}
        className={part === "matching" ? "in" : undefined}
        x={(at / bins.length) * 100 + 0.25}
        width={100 / bins.length - 0.5}
        y={40 - height}
        height={height}
      />
    ) : null;
  });
}

/** The selected bins, which a pointer draws and keys move. */
function useBrush({ field, bins, range, onRange }: PlotProps) {
  const [dragged, setDragged] = useState<Brush>();
  const place = useRef<HTMLDivElement>(null);
  const anchor = useRef<number>(undefined);
  /** What the pointer has selected. It is up before the last move is drawn. */
  const selected = useRef<Brush>(undefined);
  const last = bins.length;
  const brush = dragged ?? brushOf(bins, range);
  const commit = (next: Brush, isKey: boolean): void => onRange(rangeOfBrush(bins, next, field), isKey);
  const select = (next?: Brush): void => {
    selected.current = next;
    setDragged(next);
  };
  const binAt = (event: PointerEvent): number => {
    const { left, width } = (place.current as HTMLDivElement).getBoundingClientRect();
    return Math.max(0, Math.min(last - 1, Math.floor(((event.clientX - left) / width) * last)));
  };
  const onPointerDown = (event: PointerEvent<HTMLDivElement>): void => {
    if (event.button !== 0) return;
    event.currentTarget.setPointerCapture(event.pointerId);
    // An edge moves alone, with the other one where it is.
    const edge = (event.target as HTMLElement).dataset["edge"];
    anchor.current = edge === "low" ? brush.high - 1 : edge === "high" ? brush.low : binAt(event);
    if (edge === undefined) select({ low: anchor.current, high: anchor.current + 1 });
  };
  const onPointerMove = (event: PointerEvent): void => {
    if (anchor.current === undefined) return;
    const [from, to] = [anchor.current, binAt(event)];
    select({ low: Math.min(from, to), high: Math.max(from, to) + 1 });
  };
  const onPointerCancel = (): void => {
    anchor.current = undefined;
    select(undefined);
  };
  const onPointerUp = (): void => {
    if (selected.current) commit(selected.current, false);
    onPointerCancel();
  };
  const onKeyDown = (event: KeyboardEvent<HTMLElement>): void => {
    let next = brushAfterKey(event, brush, last);
    if (!next) return;
    event.preventDefault();
    const wordsOf = (one: RolloutRange | undefined): string => (one ? rangeInWords(one, false) : "");
    // Some bins have the same whole numbers.
    for (let tries = 0; tries < last && wordsOf(rangeOfBrush(bins, next, field)) === wordsOf(range); tries++) {
      next = brushAfterKey(event, next, last) ?? next;
    }
    commit(next, true);
  };
  return {
    ref: place,
    dragged,
    brush,
    onKeyDown,
    onPointerDown,
    onPointerMove,
    onPointerUp,
    onPointerCancel,
  };
}

/** Arrows move an edge, with Shift both; Delete clears. */
function brushAfterKey(event: KeyboardEvent<HTMLElement>, { low, high }: Brush, last: number): Brush | undefined {
  const all = { low: 0, high: last };
  if (event.key === "Delete" || event.key === "Backspace") return all;
  const isLow = event.currentTarget.dataset["edge"] === "low";
  if (event.key === "Home") return isLow ? { low: 0, high } : { low, high: low + 1 };
  if (event.key === "End") return isLow ? { low: high - 1, high } : { low, high: last };
  const by = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1 }[event.key];
  if (by === undefined || event.altKey) return undefined;
  if (event.shiftKey) return low + by < 0 || high + by > last ? { low, high } : { low: low + by, high: high + by };
  const move = (edge: number, least: number, most: number): number => Math.max(least, Math.min(most, edge + by));
  return isLow ? { low: move(low, 0, high - 1), high } : { low, high: move(high, low + 1, last) };
}

function edgeValue(bins: Bins, edge: number): number {
  return bins[edge]?.from ?? bins[edge - 1]?.to ?? 0;
}

function describe(
  title: string,
  bins: Bins,
  { low, high }: Brush,
  isBrushed: boolean,
  format: HistogramProps["format"],
): string {
  const most = bins.reduce((best, bin) => (bin.all > best.all ? bin : best), bins[0] as (typeof bins)[0]);
  const span = (from: number, to: number): string =>
    `${format(edgeValue(bins, from))} to ${format(edgeValue(bins, to))}`;
  return [
    `${title} from ${span(0, bins.length)}, most near ${format((most.from + most.to) / 2)}.`,
    isBrushed ? `Selected: ${span(low, high)}.` : "",
    `${totalOf(bins, "matching").toLocaleString("en")} of ${totalOf(bins, "all").toLocaleString("en")} episodes match.`,
  ].join(" ");
}
