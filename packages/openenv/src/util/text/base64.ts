/** Bytes as standard base64 with padding. */
export function encodeBase64(bytes: Uint8Array): string {
  if (native) return native.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("base64");
  let binary = "";
  // String.fromCharCode takes its arguments from the stack, which is limited.
  for (let at = 0; at < bytes.length; at += CHUNK) binary += String.fromCharCode(...bytes.subarray(at, at + CHUNK));
  return btoa(binary);
}

/** Bytes as base64url without padding: an HTTP token, and safe in a URL. */
export function encodeBase64Url(bytes: Uint8Array): string {
  return encodeBase64(bytes).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

/** Undefined unless the text is what {@link encodeBase64} writes: standard alphabet, padding, no stray bits. */
export function decodeBase64(text: string): Uint8Array<ArrayBuffer> | undefined {
  if (!isBase64(text)) return undefined;
  if (native) return new Uint8Array(native.from(text, "base64"));
  return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
}

/** True for standard base64 with padding and without stray bits. */
export function isBase64(text: string): boolean {
  if (text.length % 4 !== 0) return false;
  const padding = text.endsWith("==") ? 2 : text.endsWith("=") ? 1 : 0;
  const end = text.length - padding;
  const wrong = /[^A-Za-z0-9+/]/g;
  const found = wrong.exec(text);
  if (found ? found.index !== end || padding === 0 : padding > 0) return false;
  if (padding === 0) return true;
  // The unused bits of the last character before the padding must be zero.
  return (ALPHABET.indexOf(text.charAt(end - 1)) & (padding === 2 ? 15 : 3)) === 0;
}

/** Node's Buffer is many times faster; browsers have none. */
const native = (globalThis as { Buffer?: typeof Buffer }).Buffer;

const CHUNK = 0x2000;
const ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
