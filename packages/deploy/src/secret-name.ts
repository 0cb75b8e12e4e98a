/** True when the name of a variable suggests a secret: `HF_TOKEN`, `PRIVATE_KEY`, `PGPASSWORD`; not `MAX_TOKENS`. */
export function isSecretName(name: string): boolean {
  return SECRET.test(name) && !HARMLESS.test(name);
}

const SECRET =
  /(?:^|_)(?:[a-z]*(?:tokens?|secrets?|passwords?|passwd|passphrase|credentials?|apikeys?|accesskeys?)|(?:encryption|master|private|secret|signing|ssh)?keys?)\d*(?:$|_)/i;
/** Counts of a model's tokens, and keys that are not secret. */
const HARMLESS =
  /(?:^|_)(?:(?:max|min|num|n|total)_(?:[a-z]+_)*tokens(?:$|_)|(?:foreign|primary|public|sort)_?keys?$)/i;

/** True when a value is a URL with a password: `redis://:secret@host`. */
export function hasPassword(value: string): boolean {
  return /^[a-z][a-z0-9+.-]*:\/\/[^/?#\s@]*:[^/?#\s]+@/i.test(value.trim());
}
