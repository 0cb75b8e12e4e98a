import type { KeyboardEvent } from "react";
import { navigate, type RolloutsRoute } from "../../app/router.js";
import type { TableItem } from "./items.js";
import { QUERY_FIELD } from "./query-bar.js";
import { data } from "./rollouts-data.js";
import { withWord } from "./terms.js";
import { useKeys } from "./use-keys.js";
import type { Layout } from "./use-layout.js";

export interface Selection {
  /** The index of the selected row; -1 for none. */
  selected: number;
  /** The id of the selected episode; undefined for another row. */
  episode: string | undefined;
  /** Marks the selected episode. */
  onMark(): void;
  /** A click, which may open the row. */
  onClick(item: TableItem): void;
  onKeyDown(event: KeyboardEvent): void;
}

/** The row of the address, which keys and clicks change, open and mark. */
export function useSelection(
  { q, sel }: RolloutsRoute,
  items: readonly TableItem[],
  layout: Layout,
  go: (change: Partial<RolloutsRoute>, replace?: boolean) => void,
): Selection {
  const selected = items.findIndex(({ id }) => id === sel);
  const item = items[selected];
  const episode = item?.kind === "episode" ? item.id : undefined;
  const select = (next: TableItem | undefined): void => {
    if (next && next.kind !== "hint") go({ sel: next.id }, true);
  };
  const move = (by: number): void => {
    const next = items[Math.max(0, Math.min(items.length - 1, selected + by))];
    select(next?.kind === "hint" ? items[items.indexOf(next) + Math.sign(by)] : next);
  };
  const enter = (entered = item): void => {
    if (entered?.kind === "group") void data.fold(entered.row, !entered.isOpen);
    else if (entered?.kind === "episode") go({ id: entered.id, step: null, sel: entered.id });
    else if (entered?.kind === "failure")
      go({ by: "episode", sort: "", sel: null, q: withWord(q, "error", entered.id) });
  };
  const onMark = (): void => {
    if (episode !== undefined) data.mark(episode);
  };
  useKeys({
    "/": () => document.getElementById(QUERY_FIELD)?.focus(),
    j: () => move(1),
    k: () => move(-1),
    x: onMark,
    c: () => {
      const [a, b] = data.snapshot().marks;
      if (a !== undefined && b !== undefined) navigate({ view: "compare", a, b, step: null });
    },
    Enter: () => enter(),
  });
  const keys: Record<string, () => void> = {
    ArrowDown: () => move(1),
    ArrowUp: () => move(-1),
    PageDown: () => move(10),
    PageUp: () => move(-10),
    Home: () => select(items[0]),
    End: () => select(items.at(-1)),
    ArrowRight: () => item?.kind === "group" && !item.isOpen && void data.fold(item.row, true),
    ArrowLeft: () => {
      if (item?.kind === "group") void data.fold(item.row, false);
      else select(items.findLast(({ kind }, at) => kind === "group" && at < selected));
    },
  };
  return {
    selected,
    episode,
    onMark,
    onClick(clicked) {
      if (clicked.kind === "group") select(clicked);
      if (clicked.kind === "episode" && layout === "wide") select(clicked);
      else enter(clicked);
    },
    onKeyDown(event) {
      const act = keys[event.key];
      if (!act || event.target !== event.currentTarget || event.altKey || event.ctrlKey || event.metaKey) return;
      event.preventDefault();
      act();
    },
  };
}
