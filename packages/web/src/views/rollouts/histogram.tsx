import type { RolloutHistogram, RolloutRange } from "openenv-ts/protocol";
import { type KeyboardEvent, type PointerEvent, type ReactNode, useRef, useState } from "react";
import { type Brush, brushOf, rangeOfBrush } from "./brush.js";
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
export function Histogram({ field, title, aside, histogram, range, isFiltered, format, onRange }: HistogramProps) {
  const [dragged, setDragged] = useState<Brush>();
  const place = useRef<HTMLDivElement>(null);
  const anchor = useRef<number>(undefined);
  const bins = histogram?.bins ?? [];
  const last = bins.length;
  const brush = dragged ?? brushOf(bins, range);
  const isBrushed = dragged !== undefined || range !== undefined;
  const commit = (next: Brush, isKey: boolean): void => onRange(rangeOfBrush(bins, next, field), isKey);
  const binAt = (event: PointerEvent): number => {
    const { left, width } = (place.current as HTMLDivElement).getBoundingClientRect();
    return Math.max(0, Math.min(last - 1, Math.floor(((event.clientX - left) / width) * last)));
  };
  const onPointerDown = (event: PointerEvent<HTMLDivElement>): void => {
    if (event.button !== 0 || last < 2) return;
    event.currentTarget.setPointerCapture(event.pointerId);
    // An edge moves alone, with the other one where it is.
    const edge = (event.target as HTMLElement).dataset["edge"];
    anchor.current = edge === "low" ? brush.high - 1 : edge === "high" ? brush.low : binAt(event);
    if (edge === undefined) setDragged({ low: anchor.current, high: anchor.current + 1 });
  };
  const onPointerMove = (event: PointerEvent): void => {
    if (anchor.current === undefined) return;
    const [from, to] = [anchor.current, binAt(event)];
    setDragged({ low: Math.min(from, to), high: Math.max(from, to) + 1 });
  };
  const onPointerUp = (): void => {
    anchor.current = undefined;
    if (dragged) commit(dragged, false);
    setDragged(undefined);
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
  const tallest = Math.max(1, ...bins.map(({ all }) => all));
  const height = (number: number): number => (number === 0 ? 0 : Math.max(LEAST_BAR, number / tallest) * 40);
  const bar = (at: number, number: number, look?: string) =>
    number > 0 ? (
      <rect
        key={`${look}${at}`}
        className={look}
        x={(at / last) * 100 + 0.25}
        width={100 / last - 0.5}
        y={40 - height(number)}
        height={height(number)}
      />
    ) : null;
  return (
    <section className={`facet facet--${field}`} aria-label={title}>
      <header>
        <h3>{title}</h3>
        <span>{aside}</span>
      </header>
      {last < 2 ? (
        <p className="hint">{last === 0 ? "No episode has one yet." : `Always ${format(bins[0]?.from ?? 0)}.`}</p>
      ) : (
        <>
          <div
            ref={place}
            className="brush"
            onPointerDown={onPointerDown}
            onPointerMove={onPointerMove}
            onPointerUp={onPointerUp}
            onPointerCancel={onPointerUp}
          >
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
              {bins.map((bin, at) => bar(at, bin.all))}
              {isFiltered ? bins.map((bin, at) => bar(at, bin.matching, "in")) : null}
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
      )}
    </section>
  );
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

function edgeValue(bins: RolloutHistogram["bins"], edge: number): number {
  return bins[edge]?.from ?? bins[edge - 1]?.to ?? 0;
}

function describe(
  title: string,
  bins: RolloutHistogram["bins"],
  { low, high }: Brush,
  isBrushed: boolean,
  format: HistogramProps["format"],
): string {
  const sum = (key: "all" | "matching"): string =>
    bins.reduce((total, bin) => total + bin[key], 0).toLocaleString("en");
  const most = bins.reduce((best, bin) => (bin.all > best.all ? bin : best), bins[0] as (typeof bins)[0]);
  const span = (from: number, to: number): string =>
    `${format(edgeValue(bins, from))} to ${format(edgeValue(bins, to))}`;
  return [
    `${title} from ${span(0, bins.length)}, most near ${format((most.from + most.to) / 2)}.`,
    isBrushed ? `Selected: ${span(low, high)}.` : "",
    `${sum("matching")} of ${sum("all")} episodes match.`,
  ].join(" ");
}
