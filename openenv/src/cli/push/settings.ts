import { ConfigError } from "../../errors.js";

/**
 * Reads `KEY=VALUE` pairs; later ones win.
 * @throws ConfigError that never shows a value, which may be a secret.
 */
export function parseSettings(option: string, pairs: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    pairs.map((pair, index) => {
      const at = pair.indexOf("=");
      const key = pair.slice(0, at);
      if (at > 0 && /^[A-Za-z_][A-Za-z0-9_]*$/.test(key)) return [key, pair.slice(at + 1)];
      const which = pairs.length > 1 ? `${option} number ${index + 1}` : option;
      throw new ConfigError(`${which} is no KEY=VALUE; a key has letters, digits and _ (${option} API_KEY=...).`);
    }),
  );
}
