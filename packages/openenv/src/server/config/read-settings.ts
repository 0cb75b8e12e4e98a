import { readFileSync } from "node:fs";
import { ConfigError } from "../../errors.js";
import type { PluginSetting, PluginSettings, SettingValues } from "../plugins/plugin.js";
import type { ServeOptions } from "../types.js";
import type { Setting } from "./setting.js";
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

/** Reads the tokens as {@link readSettings} does, for a server that reads its files again. */
export function readTokens(options: ServeOptions, variables: Variables): Tokens {
  return {
    clientToken: readSetting("clientToken", options, variables),
    operatorToken: readSetting("operatorToken", options, variables),
    orchestratorToken: readSetting("orchestratorToken", options, variables),
    viewerToken: readSetting("viewerToken", options, variables),
  };
}

/**
 * Reads the settings of a plugin from the variables `OPENENV_<PLUGIN>_<SETTING>`, which a manifest cannot set.
 * @throws ConfigError for a value that is not allowed.
 */
export function readTable<S extends PluginSettings>(plugin: string, table: S, variables: Variables): SettingValues<S> {
  const read = ([name, row]: [string, PluginSetting]) => {
    const variable = `OPENENV_${plugin}_${name.replace(/[A-Z]/g, "_$&")}`.replaceAll("-", "_").toUpperCase();
    return [name, readRow(`${plugin}.${name}`, { fallback: undefined, ...row, variable } as Row, { variables })];
  };
  return Object.fromEntries(Object.entries(table).map(read)) as SettingValues<S>;
}

function readSetting<K extends keyof Settings>(name: K, options: ServeOptions, variables: Variables): Settings[K] {
  const option = (options as Record<string, unknown>)[name];
  return readRow(name, SETTINGS[name] as Row, { option, variables }) as Settings[K];
}

type Row = Setting<unknown, unknown>;

/** No message contains the value of a setting that may be a secret. */
function readRow(
  name: string,
  { kind, variable = name, fallback, mayBeFile }: Row,
  { option, variables }: { option?: unknown; variables: Variables },
): unknown {
  const check = (label: string, { parse, expects }: typeof kind, given: unknown): unknown => {
    const value = parse(given);
    if (value !== undefined) return value;
    if (mayBeFile) throw new ConfigError(`${name} (${variable}) must be a non-empty string.`);
    throw new ConfigError(`${label} must be ${expects}, not "${String(given)}".`);
  };
  if (option !== undefined) return check(kind.variable === undefined ? variable : name, kind, option);
  const text = mayBeFile ? readVariableOrFile(variable, variables) : variables[variable]?.trim() || undefined;
  return text === undefined ? fallback : check(variable, kind.variable ?? kind, text);
}

/** @throws ConfigError if the variable and its file are both set, or the file is empty or cannot be read. */
function readVariableOrFile(variable: string, variables: Variables): string | undefined {
  const value = variables[variable]?.trim() || undefined;
  const path = variables[`${variable}_FILE`]?.trim() || undefined;
  if (path === undefined) return value;
  if (value !== undefined) throw new ConfigError(`${variable} and ${variable}_FILE are both set: remove one of them.`);
  let secret: string;
  try {
    // Editors end a file with a newline, which is not part of the secret.
    secret = readFileSync(path, "utf8").trim();
  } catch (error) {
    const reason = (error as Error).message;
    throw new ConfigError(`${variable}_FILE must name a readable file: ${reason}`, { cause: error });
  }
  if (secret !== "") return secret;
  throw new ConfigError(`${variable}_FILE names the file "${path}", which is empty: write the value to it.`);
}

const OPTIONS = Object.keys(SETTINGS).filter((name) => !VARIABLES_ONLY.some((other) => other === name));
