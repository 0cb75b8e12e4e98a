import { RubricError } from "../../errors.js";
import { isObject } from "../../util/is-object.js";

/** A node with named children of the same type. */
interface Parent<T> {
  namedChildren(): Named<T>[];
}

export type Named<T> = [name: string, item: T];

/** The saved state of each rubric of a tree, by path; the root has the path "". */
export type RubricState = Record<string, Record<string, unknown>>;

/** The root at "" and all its descendants, parents first. Cycles are skipped. */
export function walk<T extends Parent<T>>(root: T): Named<T>[] {
  const found: Named<T>[] = [["", root]];
  descend(root, "", [root], found);
  return found;
}

function descend<T extends Parent<T>>(item: T, path: string, trail: T[], found: Named<T>[]): void {
  for (const [name, child] of item.namedChildren()) {
    if (trail.includes(child)) continue;
    const place = path === "" ? name : `${path}.${name}`;
    found.push([place, child]);
    trail.push(child);
    descend(child, place, trail, found);
    trail.pop();
  }
}

/** The items of {@link walk} without the paths, which only errors need. */
export function members<T extends Parent<T>>(root: T): T[] {
  const found = [root];
  gather(root, [root], found);
  return found;
}

function gather<T extends Parent<T>>(item: T, trail: T[], found: T[]): void {
  const children = item.namedChildren();
  if (children.length === 0) return;
  for (const [, child] of children) {
    if (trail.includes(child)) continue;
    found.push(child);
    trail.push(child);
    gather(child, trail, found);
    trail.pop();
  }
}

export function writeState<T>(all: readonly Named<T>[], save: (item: T) => unknown): RubricState {
  // A path can be any string, also `__proto__`.
  const entries = all.map(([path, item]) => [path, JSON.parse(JSON.stringify(save(item) ?? {}))]);
  return Object.fromEntries(entries) as RubricState;
}

/** Each item with a copy of its part of the state. @throws RubricError when the paths do not match the tree. */
export function readState<T>(all: readonly Named<T>[], state: unknown): [item: T, part: Record<string, unknown>][] {
  if (!isObject(state))
    throw new RubricError(ROOT, "cannot load the state: a state must be an object from stateDict()");
  const paths = new Set(all.map(([path]) => path));
  const missing = [...paths].filter((path) => !isObject(Object.hasOwn(state, path) ? state[path] : undefined));
  const unknown = Object.keys(state).filter((path) => !paths.has(path));
  if (missing.length + unknown.length > 0) {
    const problems = [...missing.map((path) => `missing "${path}"`), ...unknown.map((path) => `unknown "${path}"`)];
    throw new RubricError(ROOT, `cannot load the state of a different tree: ${problems.slice(0, SHOWN).join(", ")}`);
  }
  return all.map(([path, item]) => [item, JSON.parse(JSON.stringify(state[path]))]);
}

const ROOT = "at the root";
const SHOWN = 5;
