import { ConfigError } from "openenv-ts/internal";

/**
 * Reads `KEY=VALUE` pairs; later ones win.
 * @throws ConfigError that never shows a value, which may be a secret.
 */
export function parseSettings(option: string, pairs: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    pairs.map((pair, index) => {
      const at = pair.indexOf("=");
      const key = pair.slice(0, at);
      if (at > 0 && NAME.test(key)) return [key, pair.slice(at + 1)];
      const which = pairs.length > 1 ? `${option} number ${index + 1}` : option;
      throw new ConfigError(`${which} is no KEY=VALUE; a key has letters, digits and _ (${option} API_KEY=...).`);
    }),
  );
}

/**
 * Gives each bare `KEY` the value that the variable has, as docker does for a build.
 * @throws ConfigError that names a variable without one.
 */
export function fillIn(option: string, pairs: readonly string[], env: NodeJS.ProcessEnv): string[] {
  return pairs.map((pair) => {
    const value = NAME.test(pair) ? env[pair] : undefined;
    if (value) return `${pair}=${value}`;
    // What is not written as names are may be the secret itself.
    if (!/^[A-Z]+(_[A-Z0-9]+)+$/.test(pair)) return pair;
    throw new ConfigError(`${option} ${pair}: the variable ${pair} has no value; export one, or write ${pair}=VALUE.`);
  });
}

const NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;
