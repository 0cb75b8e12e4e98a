import { ConfigError } from "openenv-ts/internal";

/**
 * Parses `KEY=VALUE` pairs; later pairs override earlier ones.
 * @throws ConfigError without any value, because it may be a secret.
 */
export function parseSettings(option: string, pairs: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    pairs.map((pair, index) => {
      const at = pair.indexOf("=");
      const key = pair.slice(0, at);
      if (at > 0 && NAME.test(key)) return [key, pair.slice(at + 1)];
      const which = pairs.length > 1 ? `${option} number ${index + 1}` : option;
      throw new ConfigError(`${which} must be KEY=VALUE, with a key of letters, digits and _ (${option} API_KEY=...).`);
    }),
  );
}

/**
 * Adds to each bare `KEY` the value of the environment variable, as docker does for build arguments.
 * @throws ConfigError that names a variable without a value.
 */
export function fillIn(option: string, pairs: readonly string[], env: NodeJS.ProcessEnv): string[] {
  return pairs.map((pair) => {
    const value = NAME.test(pair) ? env[pair] : undefined;
    if (value) return `${pair}=${value}`;
    // Text that does not look like a variable name may be the secret itself.
    if (!/^[A-Z]+(_[A-Z0-9]+)+$/.test(pair)) return pair;
    throw new ConfigError(
      `${option} ${pair}: the environment variable ${pair} is not set; export it, or pass ${pair}=VALUE.`,
    );
  });
}

const NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;
