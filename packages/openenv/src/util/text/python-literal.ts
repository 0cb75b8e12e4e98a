/** A JSON value as Python writes it. */
export function renderPython(value: unknown): string {
  if (value === null || value === undefined) return "None";
  if (typeof value === "boolean") return value ? "True" : "False";
  if (Array.isArray(value)) return `[${value.map(renderPython).join(", ")}]`;
  if (typeof value === "number" && !Number.isFinite(value)) return `float("${value}")`;
  if (typeof value !== "object") return JSON.stringify(value);
  return `{${Object.entries(value)
    .map(([key, item]) => `${JSON.stringify(key)}: ${renderPython(item)}`)
    .join(", ")}}`;
}
