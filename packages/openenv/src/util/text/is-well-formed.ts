const native = (String.prototype as { isWellFormed?(this: string): boolean }).isWellFormed;
const LONE_SURROGATE = /\p{Surrogate}/u;

/** False if half of a surrogate pair is alone, which UTF-8 cannot encode. */
export function isWellFormed(text: string): boolean {
  return native ? native.call(text) : !LONE_SURROGATE.test(text);
}
