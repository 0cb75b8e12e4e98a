import { Bytes } from "../contract/fields.js";
import { OpenEnvError, type ValidationIssue } from "../errors.js";
import { MAX_OUTPUT_DEPTH } from "../protocol/codec/json.js";

/** An environment returned a value that does not fit its contract or has no JSON form. */
export class InvalidOutputError extends OpenEnvError {
  readonly issues: readonly ValidationIssue[];

  constructor(message: string, issues: readonly ValidationIssue[] = []) {
    super("EXECUTION_ERROR", message);
    this.issues = issues;
  }
}

export interface JsonSafe<T = unknown> {
  value: T;
  /** The number of NaN and infinities that became null. */
  nonFinite: number;
}

/**
 * Converts a value to plain JSON. NaN and infinities become null in a copy; objects with `toJSON` become its result.
 * The caller's value is never changed.
 * @throws InvalidOutputError naming the path of a value without a JSON form.
 */
export function toJsonSafe(value: unknown, path: string): JsonSafe {
  const walk: Walk = { nonFinite: 0, root: value };
  return { value: safeValue(value, { path, parent: undefined, depth: 0, walk }), nonFinite: walk.nonFinite };
}

interface Walk {
  nonFinite: number;
  root: unknown;
}

/** The current position. Paths are only rendered for an error. */
interface Place {
  path: string | number;
  parent: Place | undefined;
  depth: number;
  walk: Walk;
}

function safeValue(value: unknown, place: Place): unknown {
  switch (typeof value) {
    case "string":
    case "boolean":
      return value;
    case "number":
      if (Number.isFinite(value)) return value;
      place.walk.nonFinite++;
      return null;
    case "object":
      return value === null ? null : safeObject(value, place);
    default:
      throw reject(place, `${value === undefined ? "undefined" : `a ${typeof value}`} has no JSON form`);
  }
}

function safeObject(value: object, place: Place): unknown {
  if (place.depth >= MAX_OUTPUT_DEPTH) {
    throw rejectDeep(place);
  }
  if (Array.isArray(value)) return safeArray(value, place);
  // The encoder calls its `toJSON`, unless it can send bytes directly.
  if (value instanceof Bytes) return value;
  if (!isPlainObject(value)) return safeValue(jsonForm(value, place), { ...place, depth: place.depth + 1 });
  let copy: Record<string, unknown> | undefined;
  for (const key of Object.keys(value)) {
    const member = (value as Record<string, unknown>)[key];
    // JSON omits undefined members.
    if (member === undefined || typeof member === "string") continue;
    const checked = safeValue(member, { path: key, parent: place, depth: place.depth + 1, walk: place.walk });
    if (checked !== member) setOwn((copy ??= { ...value }), key, checked);
  }
  return copy ?? value;
}

function safeArray(value: unknown[], place: Place): unknown[] {
  let copy: unknown[] | undefined;
  for (let i = 0; i < value.length; i++) {
    const item = value[i];
    if (typeof item === "string" || (typeof item === "number" && Number.isFinite(item))) continue;
    const checked = safeValue(item, { path: i, parent: place, depth: place.depth + 1, walk: place.walk });
    if (checked !== item) (copy ??= value.slice())[i] = checked;
  }
  return copy ?? value;
}

function jsonForm(value: object, place: Place): unknown {
  const { toJSON } = value as { toJSON?: unknown };
  const isBuffer = value.constructor?.name === "Buffer" && ArrayBuffer.isView(value);
  if (typeof toJSON === "function" && !isBuffer) return toJSON.call(value, String(place.path));
  const kind = value.constructor?.name ?? "an object with a custom prototype";
  throw reject(place, `${kind} has no JSON form${ArrayBuffer.isView(value) ? "; declare the field as bytes()" : ""}`);
}

/** True for object literals, also from another realm, and for objects without a prototype. */
function isPlainObject(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null || Object.getPrototypeOf(prototype) === null;
}

/** Sets an own member, also one named `__proto__`. */
export function setOwn(target: object, key: PropertyKey, value: unknown): void {
  Object.defineProperty(target, key, { value, writable: true, enumerable: true, configurable: true });
}

function reject(place: Place, reason: string): InvalidOutputError {
  const [root, ...steps] = stepsTo(place);
  return new InvalidOutputError(`${joinPath(String(root), steps)}: ${reason}`);
}

/** Names the first place at which a value contains itself. */
function rejectDeep(place: Place): InvalidOutputError {
  const [root, ...steps] = stepsTo(place);
  const parents: unknown[] = [place.walk.root];
  for (const [i, step] of steps.entries()) {
    const next: unknown = (parents[i] as Record<PropertyKey, unknown> | undefined)?.[step];
    const same = parents.indexOf(next);
    if (same >= 0 && typeof next === "object") {
      const [at, is] = [i + 1, same].map((length) => joinPath(String(root), steps.slice(0, length)));
      return new InvalidOutputError(`${at}: contains itself: it is the same object as ${is}`);
    }
    parents.push(next);
  }
  return reject(place, `nested deeper than ${MAX_OUTPUT_DEPTH} levels`);
}

/** The path of a place, beginning with the name of the root. */
function stepsTo(place: Place): (string | number)[] {
  const steps: (string | number)[] = [];
  for (let at: Place | undefined = place; at !== undefined; at = at.parent) steps.unshift(at.path);
  return steps;
}

/** `observation`, `["items", 3, "name"]` → `observation.items[3].name`. */
export function joinPath(root: string, steps: readonly PropertyKey[]): string {
  let path = root;
  for (const step of steps) path += typeof step === "number" ? `[${step}]` : `.${String(step)}`;
  return path.length > 300 ? `${path.slice(0, 300)}…` : path;
}
