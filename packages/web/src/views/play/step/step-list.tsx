import { useVirtualizer } from "@tanstack/react-virtual";
import { type KeyboardEvent, useCallback, useEffect, useLayoutEffect, useRef, useState } from "react";
import { Button } from "../../../parts/button.js";
import { count } from "../../../parts/text/format.js";
import type { Play } from "../../../play/play.js";
import type { Timeline } from "../../../play/timeline.js";
import { renderRow } from "./step-row.js";

interface StepListProps {
  play: Play;
  timeline: Timeline;
  selected: number;
  /** Steps that arrived while an older one was selected. */
  unseen: number;
  hasTools: boolean;
}

/** Heights in rem, as in the style sheet, so that rows grow with the text size. */
const STEP_REM = 2.5;
const STEP_TOUCH_REM = 3;
const HEAD_REM = 2;
const TOUCH = "(pointer: coarse), (max-width: 47.49em)";

/** The steps, one row each; only visible rows are rendered. One tab stop, arrows move inside. */
export function StepList({ play, timeline, selected, unseen, hasTools }: StepListProps) {
  const scroll = useRef<HTMLDivElement>(null);
  const { rows } = timeline;
  const heights = useRowHeights();
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroll.current,
    estimateSize: (index) => (rows[index]?.kind === "step" ? heights.step : heights.head),
    overscan: 12,
  });
  const { imported } = play.snapshot();
  // Heights are cached by row index.
  // biome-ignore lint/correctness/useExhaustiveDependencies: another timeline has different rows
  useLayoutEffect(() => virtual.measure(), [virtual, heights, imported]);
  const at = rowOf(timeline, selected);
  // Scrolls to the selected row. A row that arrives while an older one is selected does not scroll.
  useLayoutEffect(() => {
    const { scrollOffset, scrollRect, measurementsCache } = virtual;
    const place = measurementsCache[at];
    // All heights are known, so row positions need no extra layout of the document.
    if (!place || !scroll.current || scrollOffset === null || !scrollRect) return;
    const { start, end } = place;
    if (start < scrollOffset) scroll.current.scrollTop = start;
    else if (end > scrollOffset + scrollRect.height) scroll.current.scrollTop = end - scrollRect.height;
  }, [at, virtual]);
  const onKeyDown = (event: KeyboardEvent): void => {
    const last = timeline.steps.length - 1;
    const page = Math.max(1, Math.floor((scroll.current?.clientHeight ?? 400) / heights.step) - 1);
    const to = {
      ArrowDown: selected + 1,
      ArrowUp: selected - 1,
      Home: 0,
      End: last,
      PageDown: Math.min(last, selected + page),
      PageUp: Math.max(0, selected - page),
    }[event.key];
    if (to === undefined || event.altKey) return;
    event.preventDefault();
    play.select(to);
  };
  const select = useCallback((step: number): void => play.select(step), [play]);
  const items = virtual.getVirtualItems();
  const hasActive = items.some(({ index }) => index === at);
  return (
    <>
      <div className="tl-head" aria-hidden="true">
        <span />
        <span>{hasTools ? "Tool, result" : "Action, observation"}</span>
        <span className="num">Time</span>
        <span className="num">Reward</span>
      </div>
      <div
        ref={scroll}
        className="scroll tl-scroll"
        tabIndex={0}
        {...(rows.length > 0
          ? { ...LISTBOX, "aria-activedescendant": hasActive ? `step-${selected}` : undefined }
          : {})}
        onKeyDown={onKeyDown}
      >
        <div className="tl" role="presentation" style={{ height: virtual.getTotalSize() }}>
          {items.map(({ index, start }) => {
            const row = rows[index];
            return row ? (
              <div key={index} role="presentation" className="tl__row" style={{ transform: `translateY(${start}px)` }}>
                {renderRow(row, timeline, { isSelected: index === at, onSelect: select })}
              </div>
            ) : null;
          })}
        </div>
        {rows.length === 0 ? <p className="hint pad">Every reset and step is listed here.</p> : null}
      </div>
      {unseen > 0 ? (
        <Button look="sm" className="unseen" onClick={() => play.select(timeline.steps.length - 1)}>
          {count(unseen, "new step")}
        </Button>
      ) : null}
    </>
  );
}

const LISTBOX = { role: "listbox", "aria-label": "Steps, J and K move" } as const;

/** Reads styles only when they may have changed, not for each row. */
function useRowHeights(): ReturnType<typeof rowHeights> {
  const [heights, setHeights] = useState(rowHeights);
  useEffect(() => {
    const read = (): void => setHeights(rowHeights());
    const touch = matchMedia(TOUCH);
    touch.addEventListener("change", read);
    addEventListener("resize", read);
    return () => {
      touch.removeEventListener("change", read);
      removeEventListener("resize", read);
    };
  }, []);
  return heights;
}

/** Pixels. */
function rowHeights(): { step: number; head: number } {
  const rem = Number.parseFloat(getComputedStyle(document.documentElement).fontSize);
  return { step: (matchMedia(TOUCH).matches ? STEP_TOUCH_REM : STEP_REM) * rem, head: HEAD_REM * rem };
}

/** Rows are in the order of steps, so the row of a step is at or after its index. */
function rowOf({ rows }: Timeline, step: number): number {
  let low = Math.max(0, step);
  let high = rows.length - 1;
  // Other rows use the index of the next step.
  while (low <= high) {
    const middle = (low + high) >> 1;
    const row = rows[middle];
    const number = row?.kind === "step" ? row.step : nextStep(rows, middle);
    if (row?.kind === "step" && number === step) return middle;
    if (number <= step && row?.kind !== "step") low = middle + 1;
    else if (number < step) low = middle + 1;
    else high = middle - 1;
  }
  return -1;
}

function nextStep(rows: Timeline["rows"], from: number): number {
  for (let at = from; at < rows.length; at++) {
    const row = rows[at];
    if (row?.kind === "step") return row.step;
  }
  return Number.POSITIVE_INFINITY;
}
