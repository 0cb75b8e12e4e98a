/** Markdown and numbers of the report. */

export function renderTable(head, rows) {
  const line = head.map((_, column) => (column === 0 ? "---" : "--:"));
  return [head, line, ...rows].map((cells) => `| ${cells.join(" | ")} |`).join("\n");
}

export function whole(value) {
  return String(value).replace(/\B(?=(\d{3})+$)/g, ",");
}

export function renderSeconds(milliseconds) {
  return milliseconds === null || milliseconds === undefined ? "–" : `${three(milliseconds / 1000)} s`;
}

/** Three digits: more would exceed the precision on a shared machine. */
export function three(value) {
  return value >= 100 ? whole(Math.round(value)) : String(Number(value.toPrecision(3)));
}
