/** The word as a POSIX shell reads it: unchanged where nothing in it is special, else between single quotes. */
export function quoteShell(word: string): string {
  return /^[\w./:@+-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}
