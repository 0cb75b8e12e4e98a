import { InvalidArgumentError } from "commander";
import { isObject } from "openenv-ts/internal";
import type { JsonObject } from "openenv-ts/protocol";

/** Parsers of option values. Each throws an InvalidArgumentError that describes the accepted values. */

export function wholeNumber(min: number, max = Number.MAX_SAFE_INTEGER): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (/^\d+$/.test(text) && value >= min && value <= max) return value;
    const range = max === Number.MAX_SAFE_INTEGER ? `of at least ${min}` : `from ${min} to ${max}`;
    throw new InvalidArgumentError(`Must be an integer ${range}.`);
  };
}

/** A number of seconds from `min` to `max`, both included. */
export function secondsBetween(min: number, max: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (text.trim() !== "" && value >= min && value <= max) return value;
    throw new InvalidArgumentError(`Must be a number of seconds from ${min} to ${max}.`);
  };
}

export function secondsAboveZero(text: string): number {
  const value = Number(text);
  if (text.trim() !== "" && Number.isFinite(value) && value > 0) return value;
  throw new InvalidArgumentError("Must be a positive number of seconds.");
}

export function jsonObject(text: string): JsonObject {
  try {
    const value: unknown = JSON.parse(text);
    if (isObject(value)) return value;
  } catch {
    // Reported below.
  }
  throw new InvalidArgumentError("Must be a JSON object.");
}

/** Collects the values of a repeatable option, whose default is an empty list. */
export function repeatable(value: string, previous: string[]): string[] {
  return [...previous, value];
}
