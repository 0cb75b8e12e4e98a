/** Escapes control characters except tabs and line ends, with JSON's escapes: JSON keeps its value. */
export function escapeControls(text: string): string {
  return text.replace(
    /(?!\t|\r?\n)[\p{Cc}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}
