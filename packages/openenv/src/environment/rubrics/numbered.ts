import type { Named } from "./rubric-tree.js";

/** Names the children of a list: `rubric_0`, `rubric_1`, … */
export function numbered<T>(items: readonly T[]): Named<T>[] {
  return items.map((item, index) => [`rubric_${index}`, item]);
}
