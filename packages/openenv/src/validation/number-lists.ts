import type { AnySchema, KnownSchema } from "../contract/zod-tree.js";

/** A field with a list of numbers, or nested lists of numbers, without further constraints. */
interface NumberList {
  key: string;
  /** True for a value that the schema accepts unchanged. False is undecided: parse with the schema. */
  accepts(value: unknown): boolean;
}

/**
 * Finds the fields that a simple loop can check. zod would copy such a list item by item into a holey array, which
 * JSON.stringify serialises half as fast.
 */
export function numberLists(shape: Readonly<Record<string, AnySchema>>): NumberList[] {
  return Object.entries(shape).flatMap(([key, field]) => {
    const accepts = listTest(field);
    return accepts === undefined ? [] : [{ key, accepts }];
  });
}

type Test = (list: readonly unknown[]) => boolean;

function listTest(schema: AnySchema): NumberList["accepts"] | undefined {
  const { def } = (schema as KnownSchema)._zod;
  if (def.type !== "array" || hasChecks(def)) return undefined;
  const test = itemsTest(def.element as KnownSchema);
  return test && ((value) => isPlainList(value) && test(value));
}

function itemsTest(item: KnownSchema): Test | undefined {
  const { def } = item._zod;
  if (def.type === "number") {
    if (hasChecks(def) || def.coerce === true) return undefined;
    if (!("format" in def) || def.format === undefined) return areFinite;
    return def.format === "safeint" ? areSafeIntegers : undefined;
  }
  const inner = listTest(item);
  return inner && ((list) => everyItem(list, inner));
}

function hasChecks({ checks }: { checks?: readonly unknown[] | undefined }): boolean {
  return checks !== undefined && checks.length > 0;
}

/** False for arrays with `toJSON` and for subclasses, which JSON may serialise differently. */
function isPlainList(value: unknown): value is unknown[] {
  return Array.isArray(value) && Object.getPrototypeOf(value) === Array.prototype && !("toJSON" in value);
}

// The loop counts: `every` skips holes, and `for of` is ten times slower. A hole reads as undefined and fails.
function everyItem(list: readonly unknown[], accepts: NumberList["accepts"]): boolean {
  for (let i = 0; i < list.length; i++) if (!accepts(list[i])) return false;
  return true;
}

function areFinite(list: readonly unknown[]): boolean {
  for (let i = 0; i < list.length; i++) if (!Number.isFinite(list[i])) return false;
  return true;
}

function areSafeIntegers(list: readonly unknown[]): boolean {
  for (let i = 0; i < list.length; i++) {
    const item = list[i];
    // The comparison is enough for 32-bit integers, and twice as fast.
    if (typeof item !== "number" || ((item | 0) !== item && !Number.isSafeInteger(item))) return false;
  }
  return true;
}
