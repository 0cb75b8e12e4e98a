/**
 * The observations of the environments `text` and `numbers`: about 1 MB of JSON each. python_reference.py creates the
 * same.
 */
export function makeText() {
  const lines = Array.from({ length: 16_000 }, (_, line) => {
    return `${String(line).padStart(6, "0")}: ${"lorem ipsum ".repeat(4)}dolor`;
  });
  return lines.join("\n");
}

/** A screen in shades of grey. */
export function makeNumbers() {
  return Array.from({ length: 280_000 }, (_, index) => (index * 7919) % 256);
}
