import { ConfigError } from "openenv-ts/internal";

/** The spellings of one environment's name: `counter-game`, `counter_game`, `CounterGame`, `Counter Game`. */
export interface Names {
  /** The name of folders, packages and images. */
  kebab: string;
  /** The name of the contract, the Python package and the Space. */
  module: string;
  /** The name of classes before Env, Action and so on: `my-env` and `my` both give `My`. */
  prefix: string;
  title: string;
}

const NAME = /^[a-z][a-z0-9]*([-_][a-z0-9]+)*$/;
const MAX_LENGTH = 64;
const EXAMPLE = "my-env";
/** Python keywords and modules, and names of files next to the package: a package with such a name would shadow them. */
const RESERVED = new Set(
  (
    "and as assert async await break case class continue def del elif else except finally for from global if import in " +
    "is lambda match nonlocal not null off on or pass raise return try type while with yield none true false yes no " +
    "abc array ast asyncio base64 builtins code collections copy dataclasses datetime email enum functools http io " +
    "json logging math os pathlib pydantic queue random re select server signal site socket statistics string struct " +
    "sys test tests threading time token tokenize typing types uuid " +
    "build client dist models node-modules openenv openenv-ts setuptools vendor zod"
  ).split(" "),
);

/** @throws ConfigError that suggests another name when this one is not valid. */
export function parseName(text: string): Names {
  const problem = problemOf(text);
  if (problem === undefined) return spell(text);
  throw new ConfigError(`${JSON.stringify(text)} ${problem}; try ${suggestName(text)}.`);
}

/** The nearest valid name. */
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
  if (!NAME.test(text)) return "is not a valid name: use words of lowercase letters and digits, joined by - or _";
  if (RESERVED.has(text.replaceAll("_", "-"))) return "is reserved by Python or by the files of the project";
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
