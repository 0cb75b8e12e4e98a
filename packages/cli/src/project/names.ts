import { ConfigError } from "openenv-ts/internal";

/** The spellings of one environment's name: `counter-game`, `counter_game`, `CounterGame`, `Counter Game`. */
export interface Names {
  /** Of folders, packages and images. */
  kebab: string;
  /** Of the contract, the Python package and the Space. */
  module: string;
  /** Of classes, before Env, Action and so on: `my-env` and `my` both give `My`. */
  prefix: string;
  title: string;
}

const NAME = /^[a-z][a-z0-9]*([-_][a-z0-9]+)*$/;
const MAX_LENGTH = 64;
const EXAMPLE = "my-env";
/** Names of Python's own and of the files beside the package, which would hide one another. */
const TAKEN = new Set(
  (
    "and as assert async await break case class continue def del elif else except finally for from global if import in " +
    "is lambda match nonlocal not null off on or pass raise return try type while with yield none true false yes no " +
    "abc array ast asyncio base64 builtins code collections copy dataclasses datetime email enum functools http io " +
    "json logging math os pathlib pydantic queue random re select server signal site socket statistics string struct " +
    "sys test tests threading time token tokenize typing types uuid " +
    "build client dist models node-modules openenv openenv-ts setuptools vendor zod"
  ).split(" "),
);

/** @throws ConfigError that suggests a name when this one cannot be had. */
export function parseName(text: string): Names {
  const problem = problemOf(text);
  if (problem === undefined) return spell(text);
  throw new ConfigError(`${JSON.stringify(text)} ${problem}; try ${suggestName(text)}.`);
}

/** The nearest name that can be had. */
export function suggestName(text: string): string {
  const words = text
    .normalize("NFKD")
    .replace(/([a-z0-9])([A-Z])/g, "$1-$2")
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^[-0-9]+/, "")
    .slice(0, MAX_LENGTH - 4)
    .replace(/-+$/, "");
  if (words === "") return EXAMPLE;
  return problemOf(words) === undefined ? words : `${words}-env`;
}

function problemOf(text: string): string | undefined {
  if (text.length > MAX_LENGTH) return `is longer than ${MAX_LENGTH} characters`;
  if (!NAME.test(text)) return "is no name: it must be words of small letters and digits, joined by - or _";
  if (TAKEN.has(text.replaceAll("_", "-"))) return "is the name of something else in Python or in the project";
  return undefined;
}

function spell(text: string): Names {
  const words = text.split(/[-_]/).map((word) => word.charAt(0).toUpperCase() + word.slice(1));
  const isEnv = words.length > 1 && words.at(-1) === "Env";
  return {
    kebab: text.replaceAll("_", "-"),
    module: text.replaceAll("-", "_"),
    prefix: (isEnv ? words.slice(0, -1) : words).join(""),
    title: words.join(" "),
  };
}
