/** Escapes what a terminal obeys, but for tabs and line ends. The escapes are those of JSON, so that JSON stays the same value. */
export function escapeControls(text: string): string {
  return text.replace(
    /(?!\t|\r?\n)[\p{Cc}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}
