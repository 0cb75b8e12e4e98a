import { ConfigError } from "../../errors.js";
import type { ServeOptions } from "../types.js";
import { readVariableOrFile } from "./read-secret.js";
import { checkSetting, type Setting } from "./setting.js";
import { SETTINGS, type Settings, TOKENS, VARIABLES_ONLY } from "./settings.js";

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
  const entries = Object.entries<Setting<unknown, unknown>>(SETTINGS).map(([name, one]) => [
    name,
    readSetting(name, one, { option: (options as Record<string, unknown>)[name], variables }),
  ]);
  return Object.fromEntries(entries) as Settings;
}

function readSetting(
  name: string,
  { kind, variable = name, variableKind, fallback, mayBeFile }: Setting<unknown, unknown>,
  { option, variables }: { option: unknown; variables: Variables },
): unknown {
  if (option !== undefined) return checkSetting(variableKind === undefined ? variable : name, kind, option);
  const value = mayBeFile ? readVariableOrFile(variable, variables) : variables[variable]?.trim() || undefined;
  return value === undefined ? fallback : checkSetting(variable, variableKind ?? kind, value);
}

const OPTIONS = [...Object.keys(SETTINGS), ...Object.keys(TOKENS)].filter(
  (name) => !VARIABLES_ONLY.some((other) => other === name),
);
