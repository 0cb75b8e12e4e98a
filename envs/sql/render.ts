import type { TextSpan, ViewPart } from "openenv-ts";
import type { Value } from "./families.js";

const WIDEST = 40;

interface Seen {
  question?: string | null | undefined;
  broken_query?: string | null | undefined;
  message: string;
  columns?: string[] | undefined;
  rows?: Value[][] | undefined;
  submissions_left: number;
}

/** What was asked, what happened, and the rows as a table. */
export function renderObservation(seen: Seen, isSolved: boolean): ViewPart[] {
  const { question, broken_query, message, columns = [], rows = [], submissions_left } = seen;
  const said: TextSpan = isSolved
    ? { text: message, tone: "positive" }
    : { text: message, tone: submissions_left === 0 ? "negative" : "neutral" };
  return [
    ...(question ? [text({ text: question })] : []),
    ...(broken_query ? [text({ text: broken_query, mono: true })] : []),
    text(said),
    ...(columns.length > 0 ? [text({ text: renderTable(columns, rows), mono: true })] : []),
  ];
}

/** Columns of equal width, with a line below their names. */
export function renderTable(columns: readonly string[], rows: readonly (readonly Value[])[]): string {
  const lines = [columns, ...rows].map((row) => row.map((value) => clip(String(value ?? "NULL"))));
  const widths = columns.map((_, at) => Math.max(...lines.map((line) => line[at]?.length ?? 0)));
  const drawn = lines.map((line) =>
    line
      .map((value, at) => value.padEnd(widths[at] ?? 0))
      .join(" | ")
      .trimEnd(),
  );
  drawn.splice(1, 0, widths.map((width) => "-".repeat(width)).join("-|-"));
  return drawn.join("\n");
}

function clip(value: string): string {
  return value.length > WIDEST ? `${value.slice(0, WIDEST - 1)}…` : value;
}

function text(span: TextSpan): ViewPart {
  return { kind: "text", runs: [span] };
}
