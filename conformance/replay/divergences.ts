import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";
import type { Recording } from "./load.js";

/** A deliberate difference from the reference. */
export interface Divergence {
  id: string;
  source: string;
  reference: string;
  ours: string;
  why: string;
  /** Recorded cases with a different answer, and our answer as values by path, see {@link applyPatch}. */
  cases?: string[];
  expect?: Record<string, unknown>;
  /** Tests of a difference without a recorded case. */
  proof?: string[];
}

/** Marks a field that our answer does not have. */
const ABSENT = "<absent>";
/** `{ "<prepend>": [...] }` adds items before the recorded list. */
const PREPEND = "<prepend>";
/** Sent data stays as recorded, unless a path names it. */
const SENT = new Set(["send", "send_all", "body", "headers"]);

export function loadDivergences(): Divergence[] {
  return parse(readFileSync(join(import.meta.dirname, "../divergences.yaml"), "utf8")) as Divergence[];
}

/** The divergences of a case, in the order of the file. */
export function divergencesOf(all: readonly Divergence[], name: string): Divergence[] {
  return all.filter((divergence) => divergence.cases?.includes(name));
}

/** The recording with our answers instead of the reference's. */
export function diverge(recording: Recording, divergences: readonly Divergence[]): Recording {
  const row = structuredClone(recording);
  for (const { expect = {} } of divergences) applyPatch(row, expect);
  return row;
}

/**
 * Sets values by path: `recv.0.data.code`. A path that begins with `**.` is set wherever the key occurs in an answer;
 * `<absent>` removes a value, `{ "<prepend>": [...] }` adds items before those of a list.
 */
function applyPatch(row: Recording, patch: Readonly<Record<string, unknown>>): void {
  for (const [path, value] of Object.entries(patch)) {
    if (path.startsWith("**.")) setEverywhere(row, path.slice(3), value);
    else setAt(row, path.split("."), value);
  }
}

function setAt(target: unknown, [key = "", ...rest]: string[], value: unknown): void {
  const owner = target as Record<string, unknown>;
  if (rest.length === 0) set(owner, key, value);
  else if (value !== ABSENT || owner[key] !== undefined) setAt((owner[key] ??= {}), rest, value);
}

function setEverywhere(target: unknown, key: string, value: unknown): void {
  if (typeof target !== "object" || target === null) return;
  for (const [name, member] of Object.entries(target)) {
    if (SENT.has(name)) continue;
    if (name === key) set(target as Record<string, unknown>, key, value);
    else setEverywhere(member, key, value);
  }
}

function set(owner: Record<string, unknown>, key: string, value: unknown): void {
  if (value === ABSENT) delete owner[key];
  else if (typeof value === "object" && value !== null && PREPEND in value) {
    owner[key] = [...(value[PREPEND] as unknown[]), ...(owner[key] as unknown[])];
  } else owner[key] = structuredClone(value);
}
