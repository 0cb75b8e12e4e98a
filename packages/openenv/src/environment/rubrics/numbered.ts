import type { Named } from "./rubric-tree.js";

/** The names that children in a list have: `rubric_0`, `rubric_1`, … */
export function numbered<T>(items: readonly T[]): Named<T>[] {
  return items.map((item, index) => [`rubric_${index}`, item]);
}
