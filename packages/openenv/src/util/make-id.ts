/** A random id. V8 keeps the text of `randomUUID()` in 20 pieces, six times its size, until a character is read. */
export function makeId(prefix = ""): string {
  const id = prefix + crypto.randomUUID();
  id.charCodeAt(0);
  return id;
}
