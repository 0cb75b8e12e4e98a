import { useVirtualizer } from "@tanstack/react-virtual";
import { type ReactNode, useEffect, useLayoutEffect, useRef } from "react";

interface VirtualListProps {
  count: number;
  /** Name of the region that scrolls. */
  label: string;
  /** The item that is scrolled into view when it changes; null for none. */
  selected: number | null;
  /** The height of an item that has not been drawn, in pixels. */
  estimate: number;
  /** The selected item has its content. */
  isReady: boolean;
  /** Another content, of which no height is known. */
  subject: string;
  itemClass: string;
  /** Scrolls with the items, above them. */
  head?: ReactNode;
  /** The items that are in sight. */
  onRange?(from: number, to: number): void;
  children(at: number): ReactNode;
}

const SETTLING_FRAMES = 12;

/** A list of items of any height; only those in sight are drawn. */
export function VirtualList(props: VirtualListProps) {
  const { count, label, selected, estimate, isReady, subject, itemClass, head, onRange, children } = props;
  const scroll = useRef<HTMLDivElement>(null);
  const list = useRef<HTMLOListElement>(null);
  const virtual = useVirtualizer({
    count,
    getScrollElement: () => scroll.current,
    estimateSize: () => estimate,
    overscan: 3,
    scrollMargin: list.current?.offsetTop ?? 0,
  });
  const items = virtual.getVirtualItems();
  const [from, to] = [items[0]?.index ?? 0, items.at(-1)?.index ?? 0];
  // biome-ignore lint/correctness/useExhaustiveDependencies: heights are of the content
  useLayoutEffect(() => virtual.measure(), [virtual, subject]);
  // Items around the selected one are drawn and measured on the way, so the first position is an estimate.
  // biome-ignore lint/correctness/useExhaustiveDependencies: only another selection or content scrolls
  useEffect(() => {
    if (selected === null || selected < 0) return;
    let [frame, left] = [0, SETTLING_FRAMES];
    const scrollOn = (): void => {
      virtual.scrollToIndex(selected, { align: "auto" });
      if (left-- > 0) frame = requestAnimationFrame(scrollOn);
    };
    scrollOn();
    return () => cancelAnimationFrame(frame);
  }, [virtual, selected, subject, isReady]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: only another range is reported
  useEffect(() => {
    if (count > 0) onRange?.(from, to);
  }, [from, to, count, subject]);
  return (
    <div ref={scroll} className="scroll vlist" tabIndex={0} role="region" aria-label={label}>
      {head}
      <ol ref={list} className="vlist__items" style={{ height: virtual.getTotalSize() }}>
        {items.map(({ index, start }) => (
          <li
            key={index}
            ref={virtual.measureElement}
            data-index={index}
            className={itemClass}
            aria-current={index === selected ? "true" : undefined}
            aria-posinset={index + 1}
            aria-setsize={count}
            style={{ transform: `translateY(${start - virtual.options.scrollMargin}px)` }}
          >
            {children(index)}
          </li>
        ))}
      </ol>
    </div>
  );
}
