/** Members that hold secrets, in JSON text: tests are cheap, and few requests have one. */
const SECRET = /(?:^|_|-)(?:api_?key|password|passwd|secret|authorization|access_?token|auth_?token|private_?key)$/i;
const MAY_HAVE_SECRET = /(?:key|passw(?:or)?d|secret|authorization|token)"\s*:/i;
/** It stands for the value of a secret. */
export const HIDDEN = "[not recorded]";

/** JSON of a value, without the values of members that are named like a secret. */
export function toSafeJson(value: unknown): string {
  const text = JSON.stringify(value);
  if (!MAY_HAVE_SECRET.test(text)) return text;
  return JSON.stringify(value, (name, inner: unknown) => (SECRET.test(name) && inner !== null ? HIDDEN : inner));
}
