import type { IncomingHttpHeaders } from "node:http";

/** The value of the cookie of this name; undefined when the request has none, or an empty one. */
export function readCookie({ cookie }: IncomingHttpHeaders, name: string): string | undefined {
  if (cookie === undefined) return undefined;
  const start = `${name}=`;
  const found = cookie.split(";").find((part) => part.trimStart().startsWith(start));
  return found?.trim().slice(start.length) || undefined;
}
