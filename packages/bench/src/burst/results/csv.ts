export type Cell = string | number | boolean | null;

/** A head with the keys of the first row, then one line a row; null is empty. */
export function renderTable(rows: readonly object[]): string {
  const [first] = rows;
  if (first === undefined) return "";
  const columns = Object.keys(first);
  const lines = rows.map((row) => columns.map((column) => renderCell((row as Record<string, Cell>)[column])).join(","));
  return `${[columns.join(","), ...lines].join("\n")}\n`;
}

/** The rows of what `renderTable` wrote: what reads as a number is one, `true` and `false` are booleans, empty is null. */
export function parseTable(text: string, texts: readonly string[] = []): Record<string, Cell>[] {
  const [head, ...lines] = text.split(/\r?\n/).filter((line) => line !== "");
  const columns = splitLine(head ?? "");
  return lines.map((line) => {
    const cells = splitLine(line);
    return Object.fromEntries(
      columns.map((column, index) => {
        const cell = cells[index] ?? "";
        return [column, texts.includes(column) ? cell : parseCell(cell)];
      }),
    );
  });
}

function renderCell(value: Cell | undefined): string {
  const text = value === null || value === undefined ? "" : String(value).replace(/[\r\n]+/g, " ");
  return /[",]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

function parseCell(text: string): Cell {
  if (text === "") return null;
  if (text === "true" || text === "false") return text === "true";
  return Number.isNaN(Number(text)) ? text : Number(text);
}

function splitLine(line: string): string[] {
  const cells: string[] = [];
  const cell = /(?:"((?:[^"]|"")*)"|([^,]*))(,|$)/y;
  for (let more = true; more; ) {
    const [, quoted, plain, end] = cell.exec(line) ?? [];
    cells.push(quoted?.replaceAll('""', '"') ?? plain ?? "");
    more = end === ",";
  }
  return cells;
}
