/** A lone surrogate, which Python cannot encode. */
const LONE = /\p{Surrogate}/gu;

/** The start of foreign text, safe to send: at most `max` characters, without lone surrogates. */
export function clip(text: string, max: number): string {
  return text.slice(0, max).replace(LONE, "\ufffd");
}

/** The bytes that a close frame has for its reason. */
const MAX_REASON = 123;

/** The reason in a close frame, for foreign text. A character that is cut becomes U+FFFD, which has three bytes. */
export function clipReason(text: string): string {
  const bytes = new TextEncoder().encode(text);
  return bytes.length > MAX_REASON ? new TextDecoder().decode(bytes.subarray(0, MAX_REASON - 3)) : text;
}
