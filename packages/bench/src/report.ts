import { renderTable } from "./burst/results/csv.js";
import { spreadOf } from "./burst/results/repetitions.js";
import { medianOf, ratioOf, type Samples } from "./matrix.js";

/** The target of the first subject: an absolute value, or a ratio to the subject `of`. */
export interface RowTarget {
  limit: "at least" | "at most";
  value: number;
  of?: string;
}

/** One line of the table. */
export interface ReportRow {
  id: string;
  measure: string;
  unit: string;
  samples: Samples;
  targets: RowTarget[];
}

export interface BenchReport {
  title: string;
  /** Where and how it was measured: Node version, machine, command, date. */
  facts: Record<string, string>;
  /** The first subject is judged; the others are compared with it. */
  subjects: [string, ...string[]];
  rows: ReportRow[];
  /** Notes for the reader: what was skipped and why, and the limits of the numbers. */
  notes: string[];
}

/** True for each target of a row that is reached; undefined when a subject was not measured. */
export function judgeRow(row: ReportRow, subject: string): (boolean | undefined)[] {
  return row.targets.map(({ limit, value, of }) => {
    const measured = of === undefined ? medianOf(row.samples, subject) : ratioOf(row.samples, subject, of);
    if (measured === undefined) return undefined;
    return limit === "at least" ? measured >= value : measured <= value;
  });
}

/** The report as Markdown: facts, a table of medians with the smallest and the largest round in parentheses, notes. */
export function renderReport(report: BenchReport): string {
  const [subject, ...others] = report.subjects;
  const head = ["measure", ...report.subjects, ...others.map((other) => `${subject} : ${other}`), "target", "reached"];
  const rows = report.rows.map((row) => [
    `${row.measure} (${row.unit})`,
    ...report.subjects.map((name) => renderMedian(row.samples, name)),
    ...others.map((other) => renderNumber(ratioOf(row.samples, subject, other))),
    row.targets.map(renderTarget).join(", ") || "none",
    judgeRow(row, subject)
      .map((reached) => (reached === undefined ? "not measured" : reached ? "yes" : "**no**"))
      .join(", "),
  ]);
  const table = [head, head.map((_, column) => (column === 0 ? "---" : "--:")), ...rows];
  return [
    `# ${report.title}`,
    Object.entries(report.facts)
      .map(([name, value]) => `- ${name}: ${value}`)
      .join("\n"),
    table.map((cells) => `| ${cells.join(" | ")} |`).join("\n"),
    report.notes.map((note) => `- ${note}`).join("\n"),
  ]
    .filter((part) => part !== "")
    .join("\n\n")
    .concat("\n");
}

/** Every sample: `row,unit,round,subject,value`. */
export function renderCsv(rows: readonly ReportRow[]): string {
  return renderTable(
    rows.flatMap(({ id, unit, samples }) =>
      Object.entries(samples).flatMap(([subject, values]) =>
        values.flatMap((value, index) =>
          value === null ? [] : [{ row: id, unit, round: index + 1, subject, value: digits(value) }],
        ),
      ),
    ),
  );
}

function renderTarget({ limit, value, of }: RowTarget): string {
  const sign = limit === "at least" ? ">=" : "<=";
  return of === undefined ? `${sign} ${value}` : `${sign} ${value} × ${of}`;
}

function renderMedian(samples: Samples, subject: string): string {
  const spread = spreadOf(samples[subject] ?? [], (value) => value);
  const [least, most] = [renderNumber(spread?.least), renderNumber(spread?.most)];
  return renderNumber(medianOf(samples, subject)) + (least === most ? "" : ` (${least}–${most})`);
}

function renderNumber(value: number | undefined): string {
  if (value === undefined) return "–";
  const text = digits(value);
  return text.includes(".") ? text : text.replace(/\B(?=(\d{3})+$)/g, ",");
}

/** More than three digits would exceed the precision on a shared machine. */
function digits(value: number): string {
  if (Math.abs(value) >= 100) return String(Math.round(value));
  return String(Number(value.toPrecision(3)));
}
