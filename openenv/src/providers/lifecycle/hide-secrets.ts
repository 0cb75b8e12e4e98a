/** More than is a secret for sure (isSecretName): a word too many that is hidden costs nothing, a key that is shown does. */
const MAY_BE_SECRET = /token|secret|passw|passphrase|credential|key|auth/i;
/** Shorter values (`1`, `true`) would take ordinary words out of a log. */
const LEAST_LENGTH = 6;

/** The text without the values of variables that are secrets by their name. */
export function hideSecrets(text: string, env: Readonly<Record<string, string>> = {}): string {
  let hidden = text;
  for (const [name, value] of Object.entries(env)) {
    if (MAY_BE_SECRET.test(name) && value.length >= LEAST_LENGTH) hidden = hidden.replaceAll(value, `<${name}>`);
  }
  return hidden;
}
