import { availableParallelism } from "node:os";
import { ConfigError } from "../../errors.js";

/** A kind of value: which values are allowed, given as text or as the value itself. */
export interface Kind<T> {
  /** Completes "must be …". */
  expects: string;
  /** The words that are allowed, of a kind that is a choice. */
  choices?: readonly string[];
  /** Undefined when the value is not allowed. May throw a ConfigError that says more than `expects`. */
  parse(given: unknown): T | undefined;
}

/** One setting of a server, with what its page in the docs and the help of the command line say about it. */
export interface Setting<T, Fallback = T> {
  kind: Kind<T>;
  fallback: Fallback;
  variable?: string;
  /** The variable with `_FILE` may name a file that has the value, which can contain a secret. */
  mayBeFile?: boolean;
  /** Kind of the variable, where its unit differs from the option's. */
  variableKind?: Kind<T>;
  /** What it is, without Markdown. */
  help: string;
  /** More about it, in Markdown, for the docs. */
  more?: string;
  /** The default as the docs show it, where `fallback` does not say it. */
  shown?: string;
  /** Placeholder of the value after its flag of `openenv serve`; without one there is no flag. */
  flag?: string;
}

/** Infers the types of one setting. */
export function setting<T, const Fallback>(parts: Setting<T, Fallback>): Setting<T, Fallback> {
  return parts;
}

/** The default as text; undefined where there is none. */
export function renderDefault({ shown, fallback, variableKind }: Setting<unknown, unknown>): string | undefined {
  if (shown !== undefined) return shown;
  if (fallback === undefined || fallback === null || Array.isArray(fallback)) return undefined;
  return variableKind === undefined ? String(fallback) : `${Number(fallback) / 1000} s`;
}

/** @throws ConfigError that names the setting, the allowed values and the one that was given. */
export function checkSetting<T>(name: string, kind: Kind<T>, given: unknown): T {
  const value = kind.parse(given);
  if (value !== undefined) return value;
  throw new ConfigError(`${name} must be ${kind.expects}, not "${String(given)}".`);
}

export const text: Kind<string> = {
  expects: "a string that is not empty",
  parse: (given) => (typeof given === "string" && given.trim() !== "" ? given : undefined),
};

export const flag: Kind<boolean> = {
  expects: "true or false",
  parse: (given) => (typeof given === "boolean" ? given : undefined),
};

export function number(min: number, max: number): Kind<number> {
  return { expects: `a number from ${min} to ${max}`, parse: (given) => readNumber(given, min, max) };
}

export function integer(min: number, max: number): Kind<number> {
  return {
    expects: `an integer from ${min} to ${max}`,
    parse: (given) => {
      const value = readNumber(given, min, max);
      return Number.isInteger(value) ? value : undefined;
    },
  };
}

/** One of some words, in upper or lower case. */
export function choice<const T extends string>(choices: readonly T[]): Kind<T> {
  return {
    choices,
    expects: `one of ${choices.join(", ")}`,
    parse: (given) => choices.find((value) => value === String(given).toLowerCase()),
  };
}

/** A list, or text with commas. `read` drops empty names. */
export function list(expects: string, read: (names: readonly string[]) => string[]): Kind<string[]> {
  return { expects, parse: (given) => read(Array.isArray(given) ? given : String(given).split(",")) };
}

export function seconds(min: number): Kind<number> {
  return {
    expects: `a number of seconds from ${min} to ${MAX_SECONDS}`,
    parse: (given) => readNumber(given, min, MAX_SECONDS),
  };
}

/** A time that is given in seconds and read as milliseconds. */
export function inSeconds(min: number): Kind<number> {
  const { expects, parse } = seconds(min);
  return {
    expects,
    parse: (given) => {
      const value = parse(given);
      return value === undefined ? undefined : value * 1000;
    },
  };
}

export const MAX_SECONDS = 2_000_000;

function readNumber(given: unknown, min: number, max: number): number | undefined {
  const isNumber = typeof given === "number" || (typeof given === "string" && given.trim() !== "");
  const value = isNumber ? Number(given) : Number.NaN;
  return value >= min && value <= max ? value : undefined;
}

export const MIN_SECONDS = 0.001;
export const timeout = seconds(MIN_SECONDS);

export const sessionTimeout: Kind<number | null> = {
  expects: `${timeout.expects}, or "none"`,
  parse: (given) => (given === null || given === "none" ? null : timeout.parse(given)),
};

export const workers: Kind<number> = {
  expects: 'an integer from 1 to 1024, or "auto"',
  parse: (given) => (given === "auto" ? availableParallelism() : integer(1, 1024).parse(given)),
};

/** The setting also takes the words of the Python package for true and false, and their opposites. */
export const webInterface: Kind<boolean | "auto"> = {
  expects: "one of auto, true, false",
  parse: (given) => WEB_INTERFACE.get(String(given).toLowerCase()),
};
const WEB_INTERFACE = new Map<string, boolean | "auto">([
  ["auto", "auto"],
  ...["true", "1", "yes"].map((word) => [word, true] as const),
  ...["false", "0", "no"].map((word) => [word, false] as const),
]);
