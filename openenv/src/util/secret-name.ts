/** Whether a variable is a secret by its name: `HF_TOKEN`, `PRIVATE_KEY`, `PGPASSWORD`; not `MAX_TOKENS`. */
export function isSecretName(name: string): boolean {
  return SECRET.test(name);
}

const SECRET =
  /(?:^|_)(?:[a-z]*(?:token|secrets?|passwords?|passwd|passphrase|credentials?)|(?:api|access|private|secret)?keys?)\d*(?:$|_)/i;
