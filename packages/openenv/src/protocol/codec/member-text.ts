/**
 * The text of a member of a JSON object, as it was received; undefined if the object has no such member. Of several
 * members with the name the last one counts, as in `JSON.parse`. The text must be a valid JSON object.
 */
export function memberText(text: string, name: string): string | undefined {
  let found: string | undefined;
  let at = skipSpace(text, skipSpace(text, 0) + 1);
  while (text[at] === '"') {
    const keyEnd = endOfString(text, at);
    const key = text.slice(at + 1, keyEnd - 1);
    const start = skipSpace(text, skipSpace(text, keyEnd) + 1);
    const end = endOfValue(text, start);
    if ((key.includes("\\") ? JSON.parse(`"${key}"`) : key) === name) found = text.slice(start, end);
    at = skipSpace(text, end);
    if (text[at] === ",") at = skipSpace(text, at + 1);
  }
  return found;
}

function skipSpace(text: string, from: number): number {
  let at = from;
  while (isSpace(text.charCodeAt(at))) at++;
  return at;
}

function isSpace(code: number): boolean {
  return code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09;
}

/** The position after the string that starts here. */
function endOfString(text: string, start: number): number {
  let at = start;
  for (;;) {
    at = text.indexOf('"', at + 1);
    let backslashes = 0;
    while (text[at - 1 - backslashes] === "\\") backslashes++;
    if (backslashes % 2 === 0) return at + 1;
  }
}

/** The position after the value that starts here. */
function endOfValue(text: string, start: number): number {
  let depth = 0;
  let at = start;
  do {
    const first = text[at];
    if (first === '"') at = endOfString(text, at);
    else {
      if (first === "{" || first === "[") depth++;
      else if (first === "}" || first === "]") depth--;
      at++;
    }
  } while (at < text.length && (depth > 0 || isInsideScalar(text, at)));
  return at;
}

/** The characters before this one are the start of a number or a name such as `true`. */
function isInsideScalar(text: string, at: number): boolean {
  return /[\w.+-]/.test(text[at - 1] as string) && /[\w.+-]/.test(text[at] as string);
}
