/** A lone surrogate, which Python cannot encode. */
const LONE = /\p{Surrogate}/gu;

/** The start of foreign text, safe to send: at most `max` characters, without lone surrogates. */
export function clip(text: string, max: number): string {
  return text.slice(0, max).replace(LONE, "\ufffd");
}
