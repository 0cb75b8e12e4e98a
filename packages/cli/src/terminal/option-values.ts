import { InvalidArgumentError } from "commander";
import { isObject } from "openenv-ts/internal";
import type { JsonObject } from "openenv-ts/protocol";

/** Readers of option values; each throws InvalidArgumentError that says what to give. */

export function wholeNumber(least: number, most = Number.MAX_SAFE_INTEGER): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (/^\d+$/.test(text) && value >= least && value <= most) return value;
    const range = most === Number.MAX_SAFE_INTEGER ? `from ${least} on` : `from ${least} to ${most}`;
    throw new InvalidArgumentError(`Give a whole number ${range}.`);
  };
}

/** A number of seconds within both bounds. */
export function secondsBetween(least: number, most: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (text.trim() !== "" && value >= least && value <= most) return value;
    throw new InvalidArgumentError(`Give a number of seconds from ${least} to ${most}.`);
  };
}

export function secondsAboveZero(text: string): number {
  const value = Number(text);
  if (text.trim() !== "" && Number.isFinite(value) && value > 0) return value;
  throw new InvalidArgumentError("Give a number of seconds above 0.");
}

export function jsonObject(text: string): JsonObject {
  try {
    const value: unknown = JSON.parse(text);
    if (isObject(value)) return value;
  } catch {
    // Said below.
  }
  throw new InvalidArgumentError("Give a JSON object.");
}

/** Gathers the values of an option that may be given several times; its default is an empty list. */
export function repeatable(value: string, before: string[]): string[] {
  return [...before, value];
}
