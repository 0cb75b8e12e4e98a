/** A picture or a sound in a string: the URL for an `img` or `audio`, and its type. */
export interface PictureSource {
  src: string;
  type: string;
}

/** The first base64 characters of pictures that environments send without a type. */
const BEGINNINGS: Record<string, RegExp> = {
  "image/png": /^iVBORw0KGgo/,
  "image/jpeg": /^\/9j\//,
  "image/gif": /^R0lGOD/,
  // Audio and video are RIFF, too; the format follows the size.
  "image/webp": /^UklGR.{6}XRUJQ/,
};
/** Shorter strings are words; even a picture of one pixel is longer. */
const MIN_LENGTH = 40;

/** The picture in a string: a data URL, or base64 with the signature of a picture. Undefined for any other string. */
export function pictureOf(text: string): PictureSource | undefined {
  if (text.startsWith("data:image/")) {
    const type = /^data:(image\/[\w.+-]+)[;,]/.exec(text)?.[1];
    return type === undefined ? undefined : { src: text, type };
  }
  if (text.length < MIN_LENGTH) return undefined;
  const type = Object.entries(BEGINNINGS).find(([, beginning]) => beginning.test(text))?.[0];
  if (type === undefined || !/^[A-Za-z0-9+/]+={0,2}$/.test(text)) return undefined;
  return { src: `data:${type};base64,${text}`, type };
}

/** The sound in a string: a data URL. Undefined for any other string. */
export function soundOf(text: string): PictureSource | undefined {
  const type = text.startsWith("data:audio/") ? /^data:(audio\/[\w.+-]+)[;,]/.exec(text)?.[1] : undefined;
  return type === undefined ? undefined : { src: text, type };
}
