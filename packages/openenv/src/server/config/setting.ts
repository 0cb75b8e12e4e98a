import { availableParallelism } from "node:os";

/** A kind of value: which values are allowed, given as text or as the value itself. `Option` is the type in `serve()`. */
export interface Kind<T, Option = T> {
  /** Completes "must be …". */
  expects: string;
  /** The words that are allowed, of a kind that is a choice. */
  choices?: readonly string[];
  /** The kind of the variable, where its unit differs from that of the option. */
  variable?: Kind<T>;
  /** Undefined when the value is not allowed. May throw a ConfigError that says more than `expects`. */
  parse(given: Option | string): T | undefined;
  /** A default in the docs, where it is not the plain value. */
  show?(value: T): string;
}

/** What a few settings say. */
interface Extras {
  /** Placeholder and help of its flag of `openenv serve`; undefined for a setting without a flag. */
  flag?: string;
  /** The default as the docs show it, where the value does not say it. */
  shown?: string;
  /** Link to the page of the docs that says more. */
  see?: string;
  /** A manifest, which may come from a stranger, may set it: it only decides about size or behavior. */
  inManifest?: boolean;
  /** The variable with `_FILE` may name a file that has the value, which can contain a secret. */
  mayBeFile?: boolean;
}

/** One setting of a server. */
export interface Setting<T, Fallback = T, Option = T> extends Extras {
  variable: string | undefined;
  kind: Kind<T, Option>;
  fallback: Fallback;
}

export function setting<T, const Fallback, Option>(
  variable: string | undefined,
  kind: Kind<T, Option>,
  fallback: Fallback,
  extras: Extras = {},
): Setting<T, Fallback, Option> {
  return { variable, kind, fallback, ...extras };
}

/** The default as text; undefined where there is none. */
export function renderDefault({ shown, fallback, kind }: Setting<unknown, unknown>): string | undefined {
  if (shown !== undefined) return shown;
  if (fallback === undefined || fallback === null || Array.isArray(fallback)) return undefined;
  return kind.show?.(fallback) ?? String(fallback);
}

/** A string that is not empty. */
export const text: Kind<string> = {
  expects: "a string that is not empty",
  parse: (given) => (typeof given === "string" && given.trim() !== "" ? given : undefined),
};

export const flag: Kind<boolean> = {
  expects: "true or false",
  parse: (given) => [true, false].find((value) => String(value) === String(given).toLowerCase()),
};

function number(min: number, max: number): Kind<number> {
  return { expects: `a number from ${min} to ${max}`, parse: (given) => readNumber(given, min, max) };
}

/** An integer from `min` to `max`. */
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

/** A size of at least 1 KiB. */
export function bytes(max: number): Kind<number> {
  return { ...integer(1024, max), show: (value) => `${value / 1024 ** 2} MiB` };
}

/** A list, or text with commas. `read` drops empty names. */
export function list(expects: string, read: (names: readonly string[]) => string[]): Kind<string[], readonly string[]> {
  return { expects, parse: (given) => read(Array.isArray(given) ? given : String(given).split(",")) };
}

function seconds(min: number): Kind<number> {
  return {
    expects: `a number of seconds from ${min} to ${MAX_SECONDS}`,
    parse: (given) => readNumber(given, min, MAX_SECONDS),
  };
}

/** A time in milliseconds, whose variable is in seconds. */
export function milliseconds(min: number, minSeconds = MIN_SECONDS): Kind<number> {
  const { expects, parse } = seconds(minSeconds);
  const toMs = (value: number | undefined) => (value === undefined ? undefined : value * 1000);
  return {
    ...number(min, MAX_SECONDS * 1000),
    variable: { expects, parse: (given) => toMs(parse(given)) },
    show: (value) => `${value / 1000} s`,
  };
}

const MAX_SECONDS = 2_000_000;

function readNumber(given: unknown, min: number, max: number): number | undefined {
  const isNumber = typeof given === "number" || (typeof given === "string" && given.trim() !== "");
  const value = isNumber ? Number(given) : Number.NaN;
  return value >= min && value <= max ? value : undefined;
}

const MIN_SECONDS = 0.001;
export const timeout = seconds(MIN_SECONDS);

export const sessionTimeout: Kind<number | null> = {
  expects: `${timeout.expects}, or "none"`,
  parse: (given) => (given === null || given === "none" ? null : timeout.parse(given)),
};

export const workers: Kind<number, number | "auto"> = {
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
