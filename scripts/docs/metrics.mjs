const BLOCK = /(<!-- metrics -->\n)[\s\S]*?(<!-- end of metrics -->)/;

/** The page of all metrics with its table written again, sorted by name. Nothing else on the page is generated. */
export function renderMetrics(page, metrics) {
  const names = Object.keys(metrics).sort();
  const rows = names.map((name) => {
    const { type, help, more, labels = [], readAll } = metrics[name];
    const all = readAll === undefined ? ["worker", ...labels] : labels;
    const about = [help, more].filter(Boolean).join(" ");
    return `| \`${name}\` | ${type} | ${all.map((label) => `\`${label}\``).join(", ") || "–"} | ${about} |\n`;
  });
  return page.replace(BLOCK, (_all, begin, end) => {
    return `${begin}| metric | type | labels | |\n|---|---|---|---|\n${rows.join("")}${end}`;
  });
}
