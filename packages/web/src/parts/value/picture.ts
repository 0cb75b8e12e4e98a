/** A picture in a text: where an `img` finds it, and its type. */
export interface PictureSource {
  src: string;
  type: string;
}

/** How the pictures begin that environments send as base64 without a word about them. */
const BEGINNINGS: Record<string, RegExp> = {
  "image/png": /^iVBORw0KGgo/,
  "image/jpeg": /^\/9j\//,
  "image/gif": /^R0lGOD/,
  // Sounds and films are RIFF too: what it holds is told after its size.
  "image/webp": /^UklGR.{6}XRUJQ/,
};
/** Shorter ones are words; a picture of one pixel has more. */
const LEAST_LENGTH = 40;

/** The picture that a text holds: a data URL, or base64 that begins as a picture does. Undefined for any other text. */
export function pictureOf(text: string): PictureSource | undefined {
  if (text.startsWith("data:image/")) {
    const type = /^data:(image\/[\w.+-]+)[;,]/.exec(text)?.[1];
    return type === undefined ? undefined : { src: text, type };
  }
  if (text.length < LEAST_LENGTH) return undefined;
  const type = Object.entries(BEGINNINGS).find(([, beginning]) => beginning.test(text))?.[0];
  if (type === undefined || !/^[A-Za-z0-9+/]+={0,2}$/.test(text)) return undefined;
  return { src: `data:${type};base64,${text}`, type };
}
