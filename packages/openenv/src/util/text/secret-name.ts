/** Whether a variable is a secret by its name: `HF_TOKEN`, `PRIVATE_KEY`, `PGPASSWORD`; not `MAX_TOKENS`. */
export function isSecretName(name: string): boolean {
  return SECRET.test(name) && !HARMLESS.test(name);
}

const SECRET =
  /(?:^|_)(?:[a-z]*(?:tokens?|secrets?|passwords?|passwd|passphrase|credentials?|apikeys?|accesskeys?)|(?:encryption|master|private|secret|signing|ssh)?keys?)\d*(?:$|_)/i;
/** Counts of a model's tokens, and keys that lock nothing. */
const HARMLESS =
  /(?:^|_)(?:(?:max|min|num|n|total)_(?:[a-z]+_)*tokens(?:$|_)|(?:foreign|primary|public|sort)_?keys?$)/i;
