import { isSecretName } from "../util/secret-name.js";

/** Shorter values (`1`, `true`) would take ordinary words out of a log. */
const LEAST_LENGTH = 6;

/** The text without the values of variables that are secrets by their name. */
export function hideSecrets(text: string, env: Readonly<Record<string, string>> = {}): string {
  let hidden = text;
  for (const [name, value] of Object.entries(env)) {
    if (isSecretName(name) && value.length >= LEAST_LENGTH) hidden = hidden.replaceAll(value, `<${name}>`);
  }
  return hidden;
}
