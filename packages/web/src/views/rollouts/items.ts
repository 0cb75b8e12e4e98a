import type { EpisodeRow, FailureRow, GroupRow } from "openenv-ts/protocol";
import { groupKey, PAGE_ROWS, type RolloutsState } from "./rollouts-data.js";

/** A line of the table. */
export type TableItem =
  | { kind: "episode"; id: string; row: EpisodeRow; look: "" | "kid" | "kid out" }
  | { kind: "group"; id: string; row: GroupRow; isOpen: boolean }
  | { kind: "failure"; id: string; row: FailureRow }
  /** The episodes of an open group are being read, or there are more than are shown. */
  | { kind: "hint"; id: string; words: string };

/** The lines of the rows that are loaded: each row, and the episodes of open groups below theirs. */
export function itemsOf({ rows, open }: Pick<RolloutsState, "rows" | "open">): TableItem[] {
  switch (rows?.by) {
    case "episode":
      return rows.list.map((row) => ({ kind: "episode", id: row.id, row, look: "" }));
    case "failure":
      return rows.list.map((row) => ({ kind: "failure", id: row.key, row }));
    case "group":
      return rows.list.flatMap((row) => {
        const id = groupKey(row);
        const isOpen = open.has(id);
        return [{ kind: "group", id, row, isOpen }, ...(isOpen ? episodesOf(row, id, open.get(id)) : [])];
      });
    default:
      return [];
  }
}

function episodesOf(group: GroupRow, id: string, episodes: readonly EpisodeRow[] | undefined): TableItem[] {
  if (!episodes) return [{ kind: "hint", id: `${id}#`, words: "Reading the episodes" }];
  const outside = new Set(group.episodes.filter(({ matches }) => !matches).map((episode) => episode.id));
  const items: TableItem[] = episodes.map((row) => {
    return { kind: "episode", id: row.id, row, look: outside.has(row.id) ? "kid out" : "kid" };
  });
  const rest = group.count - episodes.length;
  // Episodes that begin while the group is open move nothing below it.
  if (rest > 0 && episodes.length >= PAGE_ROWS)
    items.push({
      kind: "hint",
      id: `${id}#`,
      words: `${rest.toLocaleString("en")} more: search for group:${group.group}`,
    });
  return items;
}
