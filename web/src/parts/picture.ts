/** A picture in a text: where an `img` finds it, and its type. */
export interface PictureSource {
  src: string;
  type: string;
}

/** How the pictures begin that environments send as base64 without a word about them. */
const BEGINNINGS: Record<string, string> = {
  iVBORw0KGgo: "image/png",
  "/9j/": "image/jpeg",
  R0lGOD: "image/gif",
  UklGR: "image/webp",
};
/** Shorter ones are words. */
const LEAST_LENGTH = 64;

/** The picture that a text holds: a data URL, or base64 that begins as a picture does. Undefined for any other text. */
export function pictureOf(text: string): PictureSource | undefined {
  if (text.startsWith("data:image/")) {
    const type = /^data:(image\/[\w.+-]+)[;,]/.exec(text)?.[1];
    return type === undefined ? undefined : { src: text, type };
  }
  if (text.length < LEAST_LENGTH) return undefined;
  const type = Object.entries(BEGINNINGS).find(([beginning]) => text.startsWith(beginning))?.[1];
  if (type === undefined || !/^[A-Za-z0-9+/]+={0,2}$/.test(text)) return undefined;
  return { src: `data:${type};base64,${text}`, type };
}
