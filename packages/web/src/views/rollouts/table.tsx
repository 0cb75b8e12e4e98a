import { useVirtualizer } from "@tanstack/react-virtual";
import { type MouseEvent, type RefObject, useEffect, useLayoutEffect, useMemo, useRef, useState } from "react";
import type { RolloutsRoute } from "../../app/router.js";
import { Icon } from "../../parts/icon.js";
import type { TableItem } from "./items.js";
import { data, type RolloutsState } from "./rollouts-data.js";
import { EpisodeLine, FailureLine, GroupLine } from "./rows.js";
import { scaleOf } from "./strip.js";
import { type Layout, useRowHeight } from "./use-layout.js";
import type { Selection } from "./use-selection.js";

interface TableProps {
  state: RolloutsState;
  items: readonly TableItem[];
  selection: Selection;
  sort: string;
  layout: Layout;
  /** The element that scrolls on a phone; else the table does. */
  page: RefObject<HTMLElement | null>;
  onSort(sort: string): void;
}

/** The columns after the sign of the outcome: their label, and the name by which they sort. */
const COLUMNS: Record<
  RolloutsRoute["by"],
  readonly (readonly [label: string, sort?: string | undefined, look?: string])[]
> = {
  episode: [
    ["Episode", "started"],
    ["Steps", "steps"],
    ["Reward", "reward", "num"],
    ["Time", "duration", "num lo"],
  ],
  group: [["Task"], ["Rewards", "mean"], ["± Spread", "spread", "num"], ["Size", "count", "num lo"]],
  failure: [
    ["Failure"],
    ["Compared to the most frequent", undefined, "sr"],
    ["Episodes", "count", "num"],
    ["Share", undefined, "num lo"],
  ],
};
/** Rows before the last one from which on more are read. */
const AHEAD = 30;
const HEAD_REM = 2;

/** The rows, of which only those in sight are drawn. One tab stop, arrows move inside. */
export function Table(props: TableProps) {
  const { state, items, selection, sort, onSort } = props;
  const { selected, onClick, onKeyDown } = selection;
  const { own, body, virtual, visible, margin, height } = useVisibleRows(props);
  const draw = useLines(state, items);
  const by = state.rows?.by ?? "episode";
  return (
    <div
      ref={own}
      className="scroll gt"
      tabIndex={0}
      role="treegrid"
      aria-label={`${by === "episode" ? "Episodes" : by === "group" ? "Groups" : "Failures"}, J and K move`}
      aria-rowcount={virtual.options.count + 1}
      aria-activedescendant={visible.some(({ index }) => index === selected) ? `row-${selected}` : undefined}
      onKeyDown={onKeyDown}
    >
      <div role="rowgroup" className="gt__head">
        <div role="row" aria-rowindex={1} className="gt__cells">
          <span role="columnheader">
            <span className="sr">{by === "group" ? "Fold" : "Outcome"}</span>
          </span>
          {COLUMNS[by].map(([label, name, look = ""]) => (
            <ColumnHead key={label} label={label} name={name} look={look} sort={sort} onSort={onSort} />
          ))}
        </div>
      </div>
      <div ref={body} role="rowgroup" className="gt__body" style={{ height: virtual.getTotalSize() }}>
        {visible.map(({ index, start }) => {
          const item = items[index];
          const click = (event: MouseEvent): void => {
            if (!item || event.ctrlKey || event.metaKey || event.shiftKey) return;
            event.preventDefault();
            onClick(item);
          };
          return (
            <div
              key={item?.id ?? index}
              id={`row-${index}`}
              role="row"
              className={`gt__row gt__cells ${item?.kind === "episode" ? item.look : (item?.kind ?? "wait")}`}
              style={{ transform: `translateY(${start - margin}px)`, height: height(isKid(item)) }}
              aria-rowindex={index + 2}
              aria-selected={index === selected}
              {...(by === "group" ? { "aria-level": item && item.kind !== "group" ? 2 : 1 } : {})}
              {...(item?.kind === "group" ? { "aria-expanded": item.isOpen } : {})}
              onClick={click}
            >
              {item ? draw(item) : <span role="gridcell" className="gt__hint skel" />}
            </div>
          );
        })}
      </div>
    </div>
  );
}

/** The places of the rows in sight. It reads more rows near the last one, and follows the selected row. */
function useVisibleRows({ state: { rows, total, next }, items, selection: { selected }, layout, page }: TableProps) {
  const own = useRef<HTMLDivElement>(null);
  const body = useRef<HTMLDivElement>(null);
  const [margin, setMargin] = useState(0);
  const height = useRowHeight();
  const isPhone = layout === "phone";
  const virtual = useVirtualizer({
    // Rows that are not read yet have their place.
    count: items.length + (next === null ? 0 : Math.max(0, total - (rows?.list.length ?? 0))),
    getScrollElement: () => (isPhone ? page.current : own.current),
    estimateSize: (index) => height(isKid(items[index])),
    getItemKey: (index) => items[index]?.id ?? index,
    scrollMargin: margin,
    scrollPaddingStart: (HEAD_REM * height(false)) / 2.75,
    scrollPaddingEnd: isPhone ? 64 : 0,
    overscan: 10,
  });
  const shape = `${layout} ${height(false)} ${margin}`;
  // Heights are cached by row.
  // biome-ignore lint/correctness/useExhaustiveDependencies: other rows have other heights
  useLayoutEffect(() => virtual.measure(), [virtual, items.length, shape]);
  // The parts above the rows may grow.
  useLayoutEffect(() => {
    const scroller = isPhone ? page.current : own.current;
    if (!scroller || !body.current) return;
    const { top } = body.current.getBoundingClientRect();
    setMargin(Math.round(top - scroller.getBoundingClientRect().top + scroller.scrollTop));
  });
  const id = items[selected]?.id;
  // Only a row that was selected is brought into sight: not when rows come before it.
  // biome-ignore lint/correctness/useExhaustiveDependencies: see above
  useEffect(() => {
    if (selected >= 0) virtual.scrollToIndex(selected, { align: "auto" });
  }, [id]);
  const visible = virtual.getVirtualItems();
  const end = visible.at(-1)?.index ?? 0;
  useEffect(() => {
    if (next !== null && end >= items.length - AHEAD) void data.more(end + AHEAD);
  }, [next, end, items.length]);
  return { own, body, virtual, visible, margin, height };
}

/** Draws the cells of a row, on scales that all rows share. */
function useLines({ rows, facets, marks }: RolloutsState, items: readonly TableItem[]) {
  const scale = useMemo(() => {
    const first = items.slice(0, 200).flatMap((item) => (item.kind === "episode" ? [item.row] : []));
    return scaleOf(first);
  }, [items]);
  const most = rows?.by === "failure" ? rows.list.reduce((sum, { count }) => Math.max(sum, count), 1) : 1;
  const axis = useMemo(() => [facets?.reward?.min ?? 0, facets?.reward?.max ?? 1] as const, [facets?.reward]);
  return (item: TableItem) => {
    if (item.kind === "group") return <GroupLine row={item.row} isOpen={item.isOpen} axis={axis} />;
    if (item.kind === "failure") return <FailureLine row={item.row} most={most} />;
    if (item.kind === "hint")
      return (
        <span role="gridcell" className="hint gt__hint">
          {item.words}
        </span>
      );
    const mark = "AB"[marks.indexOf(item.id)];
    return <EpisodeLine row={item.row} isKid={item.look !== ""} mark={mark} scale={scale} />;
  };
}

interface ColumnHeadProps {
  label: string;
  name: string | undefined;
  look: string;
  sort: string;
  onSort(sort: string): void;
}

function ColumnHead({ label, name, look, sort, onSort }: ColumnHeadProps) {
  if (name === undefined) {
    return (
      <span role="columnheader" className={look === "sr" ? undefined : look}>
        {look === "sr" ? <span className="sr">{label}</span> : label}
      </span>
    );
  }
  const isDown = sort === `-${name}`;
  const isSorted = isDown || sort === name;
  return (
    <span role="columnheader" className={look} aria-sort={isSorted ? (isDown ? "descending" : "ascending") : undefined}>
      <button type="button" onClick={() => onSort(isDown ? name : `-${name}`)}>
        {label}
        {isSorted ? <Icon name={isDown ? "down" : "up"} /> : null}
      </button>
    </span>
  );
}

function isKid(item: TableItem | undefined): boolean {
  return item?.kind === "hint" || (item?.kind === "episode" && item.look !== "");
}
