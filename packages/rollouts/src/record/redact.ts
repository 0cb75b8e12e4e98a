/** Members that hold secrets. In JSON text they are rare, and finding their last character first is fast. */
const SECRET = /(?:^|_|-)(?:api_?key|password|passwd|secret|authorization|access_?token|auth_?token|private_?key)$/i;
const MAY_HAVE_SECRET = /[ydtn]":(?<=(?:key|passw(?:or)?d|secret|authorization|token)":)/i;
/** It stands for the value of a secret. */
export const HIDDEN = "[not recorded]";

/** Lines of JSON without the values of members that are named like a secret. */
export function redact(lines: string): string {
  if (!MAY_HAVE_SECRET.test(lines)) return lines;
  const hide = (name: string, inner: unknown): unknown => (SECRET.test(name) && inner !== null ? HIDDEN : inner);
  return lines.replace(/[^\n]+/g, (line) => JSON.stringify(JSON.parse(line), hide));
}
