/** A path at which two JSON values differ; undefined where one value has no such path. */
export interface Difference {
  path: string;
  one: unknown;
  other: unknown;
}

/** The first difference of plain JSON as text; undefined when both are equal. */
export function firstDifference(a: unknown, b: unknown, isIgnored?: IsIgnored): string | undefined {
  const found = findDifference(a, b, isIgnored);
  return found && `${found.path || "(root)"}: ${show(found.one)} and ${show(found.other)}`;
}

/** True for the path of a value that is not compared. */
type IsIgnored = (path: string) => boolean;

/** The first difference of plain JSON; undefined when both are equal. */
export function findDifference(
  one: unknown,
  other: unknown,
  isIgnored: IsIgnored = () => false,
  path = "",
): Difference | undefined {
  if (Object.is(one, other) || isIgnored(path)) return undefined;
  if (
    typeof one !== "object" ||
    typeof other !== "object" ||
    one === null ||
    other === null ||
    Array.isArray(one) !== Array.isArray(other)
  ) {
    return { path, one, other };
  }
  const left = one as Record<string, unknown>;
  const right = other as Record<string, unknown>;
  for (const key of new Set([...Object.keys(left), ...Object.keys(right)])) {
    const found = findDifference(left[key], right[key], isIgnored, path ? `${path}.${key}` : key);
    if (found !== undefined) return found;
  }
  return undefined;
}

function show(value: unknown): string {
  const text = JSON.stringify(value) ?? "nothing";
  return text.length > 80 ? `${text.slice(0, 80)}…` : text;
}
