import { ConfigError } from "../../errors.js";
import type { ServeOptions } from "../types.js";
import { readVariableOrFile } from "./read-secret.js";
import { checkSetting, type Setting } from "./setting.js";
import { SETTINGS, type Settings, type Tokens, VARIABLES_ONLY } from "./settings.js";

export type Variables = Readonly<Record<string, string | undefined>>;

/**
 * Reads the settings: the option, else the variable, else the default. An empty variable counts as unset.
 * @throws ConfigError for an unknown option, and for a value that is not allowed.
 */
export function readSettings(options: ServeOptions, variables: Variables): Settings {
  for (const name of Object.keys(options)) {
    if (OPTIONS.includes(name)) continue;
    throw new ConfigError(`serve() has no option "${name}". Its options are ${OPTIONS.join(", ")}.`);
  }
  const names = Object.keys(SETTINGS) as (keyof Settings)[];
  return Object.fromEntries(names.map((name) => [name, readSetting(name, options, variables)])) as unknown as Settings;
}

/** Reads the tokens as {@link readSettings} does, for a server that reads its files again. No message contains a token. */
export function readTokens(options: ServeOptions, variables: Variables): Tokens {
  const read = (name: keyof Tokens) => readSetting(name, options, variables) as string | undefined;
  return {
    clientToken: read("clientToken"),
    operatorToken: read("operatorToken"),
    orchestratorToken: read("orchestratorToken"),
  };
}

function readSetting(name: keyof Settings, options: ServeOptions, variables: Variables): unknown {
  const { kind, variable = name, fallback, mayBeFile }: Setting<unknown, unknown> = SETTINGS[name];
  const option = (options as Record<string, unknown>)[name];
  if (option !== undefined) {
    if (!mayBeFile) return checkSetting(kind.variable === undefined ? variable : name, kind, option);
    if (kind.parse(option) !== undefined) return option;
    throw new ConfigError(`${name} (${variable}) must be a non-empty string.`);
  }
  const value = mayBeFile ? readVariableOrFile(variable, variables) : variables[variable]?.trim() || undefined;
  return value === undefined ? fallback : checkSetting(variable, kind.variable ?? kind, value);
}

const OPTIONS = Object.keys(SETTINGS).filter((name) => !VARIABLES_ONLY.some((other) => other === name));
